package source_test

import (
	"context"
	"slices"
	"strings"
	"testing"

	"culvert/source"
)

// leaving leaves out as many views in each schema, with such a name.
type leaving struct {
	source.Source
	views int
	name  string
}

func (l leaving) Omitted(context.Context, string) ([]string, error) {
	return slices.Repeat([]string{l.name}, l.views), nil
}

// TestOmitted names at most so many in all schemas, and bytes, and says how much more there is.
func TestOmitted(t *testing.T) {
	long := strings.Repeat("v", source.MaxOmittedSize/8)
	for _, test := range []struct {
		leaving
		schemas []string
		named   int
		more    string
	}{
		{leaving{views: source.MaxOmitted, name: "v"}, []string{""}, source.MaxOmitted, ""},
		{leaving{views: source.MaxOmitted + 2, name: "v"}, []string{""}, source.MaxOmitted, "2 more"},
		{leaving{views: source.MaxOmitted, name: "v"}, []string{"a", "b", "c"}, source.MaxOmitted, "2000 more"},
		{leaving{views: 5, name: long}, []string{"a", "b"}, 8, "2 more"},
		{leaving{views: 5, name: "v"}, nil, 0, ""},
	} {
		omitted, err := source.Omitted(t.Context(), test.leaving, test.schemas...)
		more := ""
		if len(omitted) > test.named {
			more = omitted[test.named]
		}
		if err != nil || len(omitted) < test.named || more != test.more {
			t.Errorf("%d views of %q: %d are named, then %q, %v", test.views, test.schemas, len(omitted), more, err)
		}
	}
}
