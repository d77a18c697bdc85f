package load_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"culvert/internal/testkit"
	"culvert/load"
	"culvert/sink"
)

// computing are tables that compute some of their columns, in words of all systems.
const computing = "CREATE TABLE made (id int PRIMARY KEY, twice int GENERATED ALWAYS AS (id * 2) STORED, " +
	"name varchar(20), more int GENERATED ALWAYS AS (id + 1) STORED);" +
	"CREATE TABLE half (id int PRIMARY KEY, twice int, name varchar(20), " +
	"more int GENERATED ALWAYS AS (id + 1) STORED)"

// newComputing makes them in a new database of each system, with rows in the first one.
func newComputing(t *testing.T, statements ...string) map[string]side {
	t.Helper()
	sides := map[string]side{"PostgreSQL": postgresSide(t), "MariaDB": mariaDBSide(t), "SQLite": sqliteSide(t)}
	for name, s := range sides {
		for _, sql := range append(strings.Split(computing, ";"), statements...) {
			if err := s.try(sql); err != nil {
				t.Fatal(name, err)
			}
		}
	}
	return sides
}

// TestCopyGenerated copies tables that compute some of their columns into tables that are there, and compute them too,
// of each system. Values that the other table takes are copied.
func TestCopyGenerated(t *testing.T) {
	tables := []load.Names{{From: "made", To: "made"}, {From: "half", To: "half"}}
	for from, was := range newComputing(t, "INSERT INTO made (id, name) VALUES (1, 'a'), (2, NULL), (7, 'x,\"y')",
		"INSERT INTO half (id, twice, name) VALUES (1, 5, 'a'), (2, NULL, NULL)") {
		for to, is := range newComputing(t) {
			t.Run(from+" to "+to, func(t *testing.T) {
				for _, plan := range []load.Plan{
					{},
					{ReadBack: true, Loaders: 3, Filling: sink.Filling{Existing: sink.Truncate}},
				} {
					if plan.Loaders == 0 && from != to && !testkit.Soak() {
						continue
					}
					planned, err := plan.PreviewTables(t.Context(), is.dst, was.open(), tables)
					if err != nil {
						t.Errorf("%+v, %v", planned, err)
					}
					all, err := plan.CopyTables(t.Context(), is.dst, was.open(), tables)
					if err != nil || all[0].Rows != 3 || all[1].Rows != 2 {
						t.Fatalf("%v, %+v", err, all)
					}
				}
				plan := load.Plan{ReadBack: true, Filling: sink.Filling{Existing: sink.Truncate}}
				if _, err := plan.PreviewCopy(t.Context(), is.dst, was.open(), "made", "made"); err != nil {
					t.Error(err)
				}
				if stats, err := plan.Copy(t.Context(), is.dst, was.open(), "made", "made"); err != nil {
					t.Errorf("%+v, %v", stats, err)
				}
				isAll := from == "SQLite" && to == from // the others return no values of such columns
				for _, table := range []string{"made", "half"} {
					want, got := csvOf(t, was.open(), table), csvOf(t, is.open(), table)
					if isAll && !slices.Equal(want, got) {
						t.Errorf("%s: %q became %q", table, want, got)
					}
					if !strings.Contains(strings.Join(got, ""), "1,") {
						t.Errorf("%s: there is %q", table, got)
					}
				}
				const rightSQL = "SELECT count(*) FROM made WHERE twice = id * 2 AND more = id + 1"
				if got := fieldsOf(t, is.open(), rightSQL); got[0] != "3" {
					t.Errorf("%q rows are computed", got)
				}
			})
		}
	}
}

// TestCopyGeneratedRefused has values for columns that the table computes, and that the source has not computed, masks,
// or converts, or that somebody names: they may be other values.
func TestCopyGeneratedRefused(t *testing.T) {
	was := newComputing(t, "INSERT INTO made (id) VALUES (1)", "INSERT INTO half (id, twice) VALUES (1, 5)")
	for to, is := range newComputing(t) {
		for name, test := range map[string]struct {
			plan load.Plan
			from string
		}{
			"kept":   {load.Plan{}, "half"},
			"named":  {load.Plan{Columns: []string{"id", "twice"}}, "made"},
			"masked": {load.Plan{Masks: maskRules(t, map[string]string{"made.twice": "fixed 7"})}, "made"},
		} {
			for _, from := range []string{"MariaDB", "SQLite"} {
				if name == "masked" && from == "MariaDB" {
					continue // where the column is not read
				}
				stats, err := test.plan.Copy(t.Context(), is.dst, was[from].open(), test.from, "made")
				if computed, is := errors.AsType[*sink.ComputedError](err); !is || computed.Columns[0] != "twice" {
					t.Errorf("%s, from %s to %s: %v, %+v", name, from, to, err, stats)
				}
			}
		}
	}
}
