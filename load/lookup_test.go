package load_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"culvert/export"
	"culvert/internal/testkit"
	"culvert/load"
	"culvert/mysql"
	"culvert/sink"
	"culvert/source"
)

// The four ways to do something with several tables.
func fourWays(
	t *testing.T, plan load.Plan, dst sink.Sink, src func() source.Source, backup *backup, names ...string,
) map[string]func() ([]load.Planned, []load.Stats, error) {
	var tables []load.Names
	for _, name := range names {
		tables = append(tables, load.Names{From: name, To: name})
	}
	return map[string]func() ([]load.Planned, []load.Stats, error){
		"Preview": func() ([]load.Planned, []load.Stats, error) {
			planned, err := plan.Preview(t.Context(), dst, backup.Directory, nil)
			return planned, nil, err
		},
		"PreviewTables": func() ([]load.Planned, []load.Stats, error) {
			planned, err := plan.PreviewTables(t.Context(), dst, src(), tables)
			return planned, nil, err
		},
		"Directory": func() ([]load.Planned, []load.Stats, error) {
			stats, err := plan.Directory(t.Context(), dst, backup.Directory, nil)
			return nil, stats, err
		},
		"CopyTables": func() ([]load.Planned, []load.Stats, error) {
			stats, err := plan.CopyTables(t.Context(), dst, src(), tables)
			return nil, stats, err
		},
	}
}

// TestOthersGoOn has tables that cannot be made, or filled, not keep others from their rows. All of them are reported.
func TestOthersGoOn(t *testing.T) {
	from, _ := newPostgres(t, `CREATE TABLE a (i int); INSERT INTO a VALUES (1); CREATE TABLE b (tags text[]);
		CREATE TABLE c (i int); CREATE TABLE d (i int); INSERT INTO d VALUES (4); CREATE TABLE e (at point);
		INSERT INTO e VALUES ('(1,2)')`)
	names := []string{"a", "b", "c", "d", "e"}
	src := func() source.Source { return openPostgres(t, from) }
	backup := newBackupOf(t, src(), export.Plan{}, 0, names...)
	for _, way := range []string{"Preview", "PreviewTables", "Directory", "CopyTables"} {
		t.Run(way, func(t *testing.T) {
			to := testkit.MariaDB(t).NewDatabase(t)
			to.Exec(t, "CREATE TABLE c (i int); INSERT INTO c VALUES (7); CREATE TABLE e (at varchar(20))")
			dst, err := mysql.OpenSink(t.Context(), to.URL())
			if err != nil {
				t.Fatal(err)
			}
			defer closing(t, dst)
			planned, stats, err := fourWays(t, load.Plan{Create: true}, dst, src, backup, names...)[way]()
			partial, is := errors.AsType[*load.PartialError](err)
			if !is || *partial != (load.PartialError{Failed: 2, Tables: 5}) {
				t.Fatalf("%+v, %+v, %v", planned, stats, err)
			}
			var failed []string
			for _, one := range planned {
				if one.Err != nil {
					failed = append(failed, one.Name)
				}
			}
			for _, one := range stats {
				if one.Err != nil {
					failed = append(failed, one.Name)
				}
				if one.Existed != (one.Name == "e") {
					t.Errorf("%s existed: %v", one.Name, one.Existed)
				}
			}
			if !slices.Equal(failed, []string{"b", "c"}) {
				t.Errorf("%q have failed", failed)
			}
			want := []string{"c", "e"}
			if stats != nil {
				want = []string{"a", "c", "d", "e"}
				rows := to.Query(t, "SELECT a.i, c.i, d.i, e.at FROM a, c, d, e")
				if strings.Join(rows[0], " ") != "1 7 4 (1,2)" {
					t.Errorf("the rows are %q", rows)
				}
			}
			var made []string
			for _, row := range to.Query(t, "SHOW TABLES") {
				made = append(made, row[0])
			}
			if !slices.Equal(made, want) {
				t.Errorf("there are the tables %q", made)
			}
		})
	}
}

// TestReferenced replaces the rows of tables to which a table refers that keeps its rows: nothing is changed.
func TestReferenced(t *testing.T) {
	const tablesSQL = `CREATE TABLE child (i int); CREATE TABLE other (i int); CREATE TABLE parent (i int PRIMARY KEY);
		INSERT INTO parent VALUES (1); INSERT INTO child VALUES (1); INSERT INTO other VALUES (1)`
	names := []string{"child", "other", "parent"}
	from, _ := newPostgres(t, tablesSQL)
	src := func() source.Source { return openPostgres(t, from) }
	backup := newBackupOf(t, src(), export.Plan{}, 0, names...)
	to, dst := newPostgres(t, tablesSQL+"; ALTER TABLE child ADD FOREIGN KEY (i) REFERENCES parent; "+
		"CREATE TABLE outside (i int REFERENCES parent); INSERT INTO outside VALUES (1);"+
		"INSERT INTO parent VALUES (2); INSERT INTO child VALUES (2); INSERT INTO other VALUES (2)")
	for way, do := range fourWays(t, load.Plan{Filling: sink.Filling{Existing: sink.Truncate}}, dst, src, backup,
		names...) {
		planned, stats, err := do()
		partial, is := errors.AsType[*load.PartialError](err)
		if !is || *partial != (load.PartialError{Failed: 3, Tables: 3}) {
			t.Fatalf("%s: %+v, %+v, %v", way, planned, stats, err)
		}
		failures := map[string]error{}
		for _, one := range planned {
			failures[one.Name] = one.Err
		}
		for _, one := range stats {
			failures[one.Name] = one.Err
		}
		_, isReferenced := errors.AsType[*sink.ReferencedError](failures["parent"])
		together, isTogether := errors.AsType[*load.TogetherError](failures["child"])
		if !isReferenced || !isTogether || together.Failed != "parent" || failures["other"] != nil {
			t.Errorf("%s: %v", way, failures)
		}
		if rows := to.Query(t, "SELECT count(*) FROM child, other, parent")[0][0]; rows != "8" {
			t.Errorf("%s: rows were changed: %s", way, rows)
		}
	}
}
