package load_test

import (
	"slices"
	"strings"
	"testing"

	"culvert/format"
	"culvert/load"
)

// TestCasts casts values as other programs write them to types of each database, which prints them as its own.
// The row that cannot be cast is rejected.
func TestCasts(t *testing.T) {
	const text = "id,n,price,paid,at\n+01, 007 ,+.5,YES,31.01.2026 10:00\n" +
		"2,-3.00,-0,off,2026-01-31T10:00:00.5+02:00\n3,,,,\n4,1,1,maybe,2026-01-31\n"
	for name, test := range map[string]struct {
		columns string
		want    []string
	}{
		"PostgreSQL": {
			"n int, price numeric, paid boolean, at timestamp(3)",
			[]string{"1,7,0.5,t,2026-01-31 10:00:00\n", "2,-3,0,f,2026-01-31 08:00:00.5\n", "3,,,,\n"},
		},
		"MariaDB": {
			"n int, price decimal(4,1), paid boolean, at datetime(3)",
			[]string{"1,7,0.5,1,2026-01-31 10:00:00.000\n", "2,-3,0.0,0,2026-01-31 08:00:00.500\n", "3,,,,\n"},
		},
		"SQLite": {
			"n INTEGER, price NUMERIC, paid INTEGER, at TEXT",
			[]string{"1,7,0.5,1,2026-01-31 10:00:00\n", "2,-3,0,0,2026-01-31 08:00:00.5\n", "3,,,,\n"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := sides[name](t)
			if err := s.try("CREATE TABLE casts (id int PRIMARY KEY, " + test.columns + ")"); err != nil {
				t.Fatal(err)
			}
			plan := load.Plan{
				Rejects: rejectsIn(t, t.TempDir()),
				Conversions: conversions(t, "id=cast integer", "n=cast integer", "price=cast decimal",
					"paid=cast boolean", "at=cast timestamp"),
			}
			stats, err := plan.Text(t.Context(), s.dst, strings.NewReader(text), "casts.csv", format.CSV{}, "casts")
			if err != nil || stats.Rejected != 1 {
				t.Fatalf("%+v, %v", stats, err)
			}
			if got := csvOf(t, s.open(), "casts"); !slices.Equal(got, test.want) {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}
