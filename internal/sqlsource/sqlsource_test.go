package sqlsource_test

import (
	"errors"
	"io"
	"slices"
	"strings"
	"testing"

	"culvert/internal/sqlsource"
	"culvert/source"
)

func TestChoose(t *testing.T) {
	columns := sqlsource.Columns([]string{"id", "ID", "title", "sum"})
	columns[3].Generated = true
	for _, test := range []struct {
		names []string
		same  func(a, b string) bool
		want  []string // nil if a name is unknown
	}{
		{nil, nil, []string{"id", "ID", "title"}},
		{[]string{"sum", "id"}, nil, []string{"sum", "id"}},
		{[]string{"ID", "id"}, strings.EqualFold, []string{"ID", "id"}}, // exact names come first
		{[]string{"Title", "iD"}, strings.EqualFold, []string{"title", "id"}},
		{[]string{"Title"}, nil, nil},
		{[]string{"id", ""}, strings.EqualFold, nil},
	} {
		chosen, err := sqlsource.Choose("table", columns, test.names, test.same)
		var got []string
		for _, c := range chosen {
			got = append(got, c.Name)
		}
		if !slices.Equal(got, test.want) {
			t.Errorf("%q: got %q, want %q", test.names, got, test.want)
		}
		unknown, ok := errors.AsType[*source.UnknownError](err)
		if ok != (test.want == nil) || ok && !slices.Equal(unknown.Known, []string{"id", "ID", "title", "sum"}) {
			t.Errorf("%q: %v", test.names, err)
		}
	}
	for _, names := range [][]string{{"id", "id"}, {"title", "Title"}} {
		if _, err := sqlsource.Choose("table", columns, names, strings.EqualFold); err == nil {
			t.Errorf("%q are accepted", names)
		}
	}
}

func TestUnavailable(t *testing.T) {
	err := sqlsource.Unavailable("gone", io.ErrUnexpectedEOF)
	if err.Error() != "gone" || !errors.Is(err, source.ErrUnavailable) || !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("got %q, which wraps %v", err, errors.Unwrap(err))
	}
}

// TestKindOf has types of several systems by their first words.
func TestKindOf(t *testing.T) {
	for name, want := range map[string]source.Kind{
		"": source.Null, "VARBINARY(16)": source.Bytes, "vector(3)": source.Bytes, "point SRID 4326": source.Bytes,
		"double precision": source.Number, "int[]": source.Text, "jsonb": source.JSON, "varchar(3)": source.Text,
	} {
		if got := sqlsource.KindOf(name); got != want {
			t.Errorf("%q has values of the kind %v, want %v", name, got, want)
		}
	}
}
