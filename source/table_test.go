package source_test

import (
	"context"
	"slices"
	"testing"

	"culvert/source"
)

// leaving leaves out as many views.
type leaving struct {
	source.Source
	views int
}

func (l leaving) Omitted(context.Context, string) ([]string, error) {
	return slices.Repeat([]string{`the view "v"`}, l.views), nil
}

// TestOmitted names at most so many, and says how much more there is.
func TestOmitted(t *testing.T) {
	for views, last := range map[int]string{source.MaxOmitted: `the view "v"`, source.MaxOmitted + 2: "2 more"} {
		omitted, err := source.Omitted(t.Context(), leaving{views: views}, "")
		if err != nil || omitted[min(views, source.MaxOmitted+1)-1] != last {
			t.Errorf("of %d views: the last is %q, %v", views, omitted[len(omitted)-1], err)
		}
	}
}
