package load_test

import (
	"errors"
	"slices"
	"testing"

	"culvert/export"
	"culvert/internal/testkit"
	"culvert/load"
	"culvert/sink"
	"culvert/source"
)

// TestHeirs fills tables of which one inherits from the other. What is read of the parent has the rows of the child, so
// none of them may be there twice.
func TestHeirs(t *testing.T) {
	t.Parallel()
	const tablesSQL = `CREATE TABLE parent (i int); CREATE TABLE middle () INHERITS (parent);
		CREATE TABLE young (j int) INHERITS (middle);
		INSERT INTO parent VALUES (1); INSERT INTO young VALUES (2, 3)`
	names := []string{"parent", "young"}
	from, _ := newPostgres(t, tablesSQL)
	src := func() source.Source { return openPostgres(t, from) }
	to, dst := newPostgres(t, tablesSQL)
	for _, c := range []struct {
		what     string
		existing sink.Existing
		names    []string
		failed   int
		rows     string // of the parent in the end
	}{
		{"TRUNCATE parent, young", sink.Refuse, names, 1, "1"},
		{"TRUNCATE parent, young", sink.Append, names, 1, "1"},
		{"", sink.Truncate, names, 1, "2"},
		{"", sink.Truncate, names[:1], 1, "2"},
		{"TRUNCATE young", sink.Truncate, names[:1], 0, "2"},
		{"TRUNCATE young", sink.Truncate, names[1:], 0, "2"},
		{"DROP TABLE middle CASCADE; CREATE TABLE young (i int, j int)", sink.Truncate, names, 0, "2"},
	} {
		plan := load.Plan{Filling: sink.Filling{Existing: c.existing}}
		backup := newBackupOf(t, src(), export.Plan{}, 0, c.names...)
		for way, do := range fourWays(t, plan, dst, src, backup, c.names...) {
			to.Exec(t, "DROP TABLE parent CASCADE; DROP TABLE IF EXISTS young; "+tablesSQL+"; "+c.what)
			planned, stats, err := do()
			failed := 0
			for _, one := range planned {
				failed += failedByHeirs(t, one.Name, one.Err)
			}
			for _, one := range stats {
				failed += failedByHeirs(t, one.Name, one.Err)
			}
			if _, alone := errors.AsType[*load.HeirsError](err); alone {
				failed++
			}
			if failed != c.failed || (err != nil) != (failed > 0) {
				t.Errorf("%s of %q with %q: %d failed: %v", way, c.names, c.what, failed, err)
			}
			if rows := to.Query(t, "SELECT count(*) FROM parent")[0][0]; stats != nil && rows != c.rows {
				t.Errorf("%s of %q with %q: the parent has %s rows", way, c.names, c.what, rows)
			}
		}
	}
}

// TestOwnRowsOfHeirs loads the rows of an export with its schema into tables that are there, of which one inherits from
// the other.
func TestOwnRowsOfHeirs(t *testing.T) {
	const tablesSQL = "CREATE TABLE parent (i int); CREATE TABLE child () INHERITS (parent)"
	database := testkit.Postgres(t).NewDatabase(t)
	database.Exec(t, tablesSQL+"; INSERT INTO parent VALUES (1); INSERT INTO child VALUES (2), (3)")
	from := exportDatabase(t, database, 0)
	to, _ := newPostgres(t, tablesSQL)
	for _, c := range []struct {
		what     string
		existing sink.Existing
		tables   map[string]string
	}{
		{"", sink.Refuse, nil},
		{"", sink.Truncate, nil},
		{"", sink.Truncate, map[string]string{"public.parent": ""}},
		{"TRUNCATE ONLY parent", sink.Append, map[string]string{"public.parent": ""}},
		{"TRUNCATE ONLY parent", sink.Refuse, map[string]string{"public.parent": ""}},
	} {
		to.Exec(t, c.what)
		plan := load.Plan{Filling: sink.Filling{Existing: c.existing}, ReadBack: true}
		if _, err := plan.Directory(t.Context(), newSink(t, to), from, c.tables); err != nil {
			t.Errorf("%+v: %v", c, err)
		}
		rows := to.Query(t, "SELECT count(*), (SELECT count(*) FROM ONLY parent) FROM parent")[0]
		if !slices.Equal(rows, []string{"3", "1"}) {
			t.Errorf("%+v: the parent has %s rows", c, rows)
		}
	}
}

func failedByHeirs(t *testing.T, name string, err error) int {
	t.Helper()
	if err == nil {
		return 0
	}
	if _, is := errors.AsType[*load.HeirsError](err); !is || name != "parent" {
		t.Errorf("%s: %v", name, err)
	}
	return 1
}
