package load_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"culvert/export"
	"culvert/internal/testkit"
	"culvert/load"
	"culvert/postgres"
	"culvert/sink"
)

// TestCopyTables copies tables at the same time, in the snapshot that the source has, although they change.
func TestCopyTables(t *testing.T) {
	t.Parallel()
	server := testkit.Postgres(t)
	from, to := server.NewDatabase(t), server.NewDatabase(t)
	var tables []load.Names
	for i := range 4 {
		name := fmt.Sprint("t", i)
		from.Exec(t, "CREATE TABLE "+name+" AS SELECT i FROM generate_series(1, 5000) i")
		to.Exec(t, "CREATE TABLE "+name+"_copy (i int)")
		tables = append(tables, load.Names{From: name, To: name + "_copy"})
	}
	to.Exec(t, "ALTER TABLE t2_copy ADD CHECK (i < 5000)")
	dst, err := postgres.OpenSink(t.Context(), to.ConnString())
	if err != nil {
		t.Fatal(err)
	}
	defer closing(t, dst)
	for _, loaders := range []int{1, 3, 8} {
		src, err := postgres.OpenSource(t.Context(), from.ConnString())
		if err != nil {
			t.Fatal(err)
		}
		defer closing(t, src)
		plan := load.Plan{Loaders: loaders, ReadBack: true, Filling: sink.Filling{Existing: sink.Swap}}
		if _, err := plan.PreviewCopy(t.Context(), dst, src, "t0", "t0_copy"); err != nil {
			t.Fatal(err)
		}
		from.Exec(t, "INSERT INTO t0 VALUES (0); INSERT INTO t1 VALUES (0); INSERT INTO t2 VALUES (0); DELETE FROM t3")
		stats, err := plan.CopyTables(t.Context(), dst, src, tables)
		partial, is := errors.AsType[*load.PartialError](err)
		if !is || *partial != (load.PartialError{Failed: 1, Tables: 4}) || len(stats) != 4 {
			t.Fatalf("%v, %d tables", err, len(stats))
		}
		for i, s := range stats {
			_, refused := errors.AsType[*sink.RowError](s.Err)
			want := "5000"
			if i == 2 {
				want = "0"
			}
			found := to.Query(t, "SELECT count(*) FROM "+tables[i].To)[0][0]
			if refused != (i == 2) || found != want || s.Name != tables[i].From || s.Table != tables[i].To {
				t.Errorf("%d loaders: %+v, and %s rows", loaders, s, found)
			}
		}
		from.Exec(t, "DELETE FROM t0 WHERE i = 0; DELETE FROM t1 WHERE i = 0; DELETE FROM t2 WHERE i = 0; "+
			"INSERT INTO t3 SELECT generate_series(1, 5000)")
	}
}

// TestFewConnections fills tables of a server that accepts fewer connections than are wanted, and reads them from one.
func TestFewConnections(t *testing.T) {
	from, _ := newPostgres(t, fourSQL)
	backup := newBackupOf(t, openPostgres(t, from), export.Plan{}, 0, "t0", "t1", "t2", "t3")
	var tables []load.Names
	for i := range 4 {
		tables = append(tables, load.Names{From: fmt.Sprint("t", i), To: fmt.Sprint("t", i)})
	}
	plan := load.Plan{Loaders: 4}
	for name, fill := range map[string]func(few, all *testkit.PostgresDatabase, role string) ([]load.Stats, error){
		"directory": func(_, to *testkit.PostgresDatabase, role string) ([]load.Stats, error) {
			return plan.Directory(t.Context(), openSink(t, to, role), backup.Directory, nil)
		},
		"copy to": func(from, to *testkit.PostgresDatabase, role string) ([]load.Stats, error) {
			return plan.CopyTables(t.Context(), openSink(t, to, role), openPostgres(t, from), tables)
		},
		"copy from": func(from, to *testkit.PostgresDatabase, role string) ([]load.Stats, error) {
			src, err := postgres.OpenSource(t.Context(), from.ConnStringAs(role))
			if err != nil {
				t.Fatal(err)
			}
			defer closing(t, src)
			return plan.CopyTables(t.Context(), openSink(t, to, "postgres"), src, tables)
		},
	} {
		t.Run(name, func(t *testing.T) {
			to, _ := newPostgres(t, "CREATE TABLE t0 (i int); CREATE TABLE t1 (i int); CREATE TABLE t2 (i int); "+
				"CREATE TABLE t3 (i int)")
			role := to.NewRole(t, "few", "CONNECTION LIMIT 2")
			to.Exec(t, "GRANT pg_read_all_data, pg_write_all_data TO "+role)
			all, err := fill(from, to, role)
			if err != nil || len(all) != 4 {
				t.Fatalf("%d tables, %v", len(all), err)
			}
			for _, s := range all {
				if !strings.Contains(s.Alone, "too many connections") {
					t.Errorf("%s has the reason %q", s.Name, s.Alone)
				}
				if rows := to.Query(t, "SELECT count(*) FROM "+s.Table)[0][0]; rows != "5000" {
					t.Errorf("%s has %s rows", s.Table, rows)
				}
			}
		})
	}
}

const fourSQL = `
CREATE TABLE t0 AS SELECT i FROM generate_series(1, 5000) i; CREATE TABLE t1 AS TABLE t0; CREATE TABLE t2 AS TABLE t0;
CREATE TABLE t3 AS TABLE t0`

func openSink(t *testing.T, database *testkit.PostgresDatabase, user string) sink.Sink {
	t.Helper()
	dst, err := postgres.OpenSink(t.Context(), database.ConnStringAs(user))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { closing(t, dst) })
	return dst
}
