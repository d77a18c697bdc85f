package load_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"culvert/export"
	"culvert/internal/testkit"
	"culvert/load"
	"culvert/postgres"
	"culvert/sink"
	"culvert/source"
)

// smallTables are tables of some rows, which one transaction can fill.
var smallTables = []string{"t0", "t1", "t2", "t3", "t4", "t5"}

// forEach joins SQL in which % stands for a table.
func forEach(sql string) string {
	var all []string
	for _, table := range smallTables {
		all = append(all, strings.ReplaceAll(sql, "%", table))
	}
	return strings.Join(all, ";")
}

// emptySchema begins statements that make other tables of the same names.
const emptySchema = "DROP SCHEMA public CASCADE; CREATE SCHEMA public; GRANT ALL ON SCHEMA public TO PUBLIC; "

const makeSmallSQL = "CREATE TABLE % (id integer, note text)"

// transactionsSQL counts the transactions that have filled the tables, and their rows.
func transactionsSQL() string {
	var all []string
	for _, table := range smallTables {
		all = append(all, "SELECT xmin::text AS filled FROM "+table)
	}
	return "SELECT count(DISTINCT filled), count(*) FROM (" + strings.Join(all, " UNION ALL ") + ") AS rows"
}

// bothWays loads the small tables from files, or copies them.
func bothWays(t *testing.T, do func(t *testing.T, fill func(load.Plan, sink.Sink) ([]load.Stats, error))) {
	from, _ := newPostgres(t, forEach(makeSmallSQL+"; INSERT INTO % SELECT i, '%' FROM generate_series(1, 3) i"))
	src := func() source.Source { return openPostgres(t, from) }
	backup := newBackupOf(t, src(), export.Plan{}, 0, smallTables...)
	for _, way := range []string{"Directory", "CopyTables"} {
		t.Run(way, func(t *testing.T) {
			do(t, func(plan load.Plan, dst sink.Sink) ([]load.Stats, error) {
				_, stats, err := fourWays(t, plan, dst, src, backup, smallTables...)[way]()
				return stats, err
			})
		})
	}
}

// TestSmallTablesShareTransactions fills small tables over one connection, and over several, all of which have some.
func TestSmallTablesShareTransactions(t *testing.T) {
	t.Parallel()
	bothWays(t, func(t *testing.T, fill func(load.Plan, sink.Sink) ([]load.Stats, error)) {
		to, dst := newPostgres(t, "SELECT 1")
		for _, loaders := range []int{1, 2} {
			for _, existing := range []sink.Existing{sink.Refuse, sink.Append, sink.Truncate} {
				to.Exec(t, emptySchema+forEach(makeSmallSQL))
				plan := load.Plan{Loaders: loaders, Analyze: true, Progress: new(load.Progress)}
				plan.Filling.Existing = existing
				stats, err := fill(plan, dst)
				if err != nil {
					t.Fatalf("%+v, %v", stats, err)
				}
				want := []string{fmt.Sprint(loaders), "18"}
				if got := to.Query(t, transactionsSQL())[0]; !slices.Equal(got, want) {
					t.Errorf("%v transactions and rows, want %v", got, want)
				}
				for i, one := range stats {
					if one.Name != smallTables[i] || one.Rows != 3 || one.Loaders != 1 || one.Alone != "" {
						t.Errorf("%+v", one)
					}
				}
				if rows, done := plan.Progress.Rows.Load(), plan.Progress.Tables.Load(); rows != 18 || done != 6 {
					t.Errorf("the progress counts %d rows and %d tables", rows, done)
				}
			}
		}
	})
}

// TestSmallTableFails has one of the tables fail. The others are filled, and the error is that of the table alone.
func TestSmallTableFails(t *testing.T) {
	t.Parallel()
	const leavesOut = `CREATE FUNCTION leave_out() RETURNS trigger LANGUAGE plpgsql AS
		'BEGIN IF NEW.id = 2 THEN RETURN NULL; END IF; RETURN NEW; END'; CREATE TRIGGER leaves_out BEFORE INSERT ON t3
		FOR EACH ROW EXECUTE FUNCTION leave_out()`
	const ruled = "CREATE RULE nothing AS ON INSERT TO t3 DO INSTEAD NOTHING; ALTER TABLE t3 ADD CHECK (id > 1)"
	faults := map[string]string{
		"a check":          "ALTER TABLE t3 ADD CONSTRAINT small CHECK (id < 3)",
		"a trigger":        leavesOut,
		"a deferred check": "ALTER TABLE t3 ADD UNIQUE (note) DEFERRABLE INITIALLY DEFERRED",
		"a rule":           ruled,
		"rows":             "INSERT INTO t3 VALUES (1)",
		"no table":         "DROP TABLE t3",
		"no column":        "ALTER TABLE t3 DROP note",
		"no right":         "ALTER TABLE t3 ENABLE ROW LEVEL SECURITY; ALTER TABLE t3 FORCE ROW LEVEL SECURITY",
	}
	bothWays(t, func(t *testing.T, fill func(load.Plan, sink.Sink) ([]load.Stats, error)) {
		to, _ := newPostgres(t, "SELECT 1")
		role := to.NewRole(t, "loads_small", "")
		for name, sql := range faults {
			to.Exec(t, emptySchema+forEach(makeSmallSQL)+";"+sql+"; GRANT ALL ON ALL TABLES IN SCHEMA public TO PUBLIC")
			var errs [2]string
			for i, gathers := range []bool{false, true} {
				dst, err := postgres.OpenSink(t.Context(), to.ConnStringAs(role))
				if err != nil {
					t.Fatal(err)
				}
				defer closing(t, dst)
				var db sink.Sink = dst
				if !gathers {
					db = alone{dst}
				}
				plan := load.Plan{Loaders: 2, Progress: new(load.Progress)}
				stats, err := fill(plan, db)
				partial, is := errors.AsType[*load.PartialError](err)
				if !is || *partial != (load.PartialError{Failed: 1, Tables: 6}) || len(stats) != 6 {
					t.Fatalf("%s: got %v, %+v", name, err, stats)
				}
				for _, one := range stats {
					if one.Name == "t3" {
						errs[i] = fmt.Sprint(one.Err)
					} else if one.Err != nil || one.Rows != 3 {
						t.Errorf("%s: %+v", name, one)
					}
				}
				if rows := plan.Progress.Rows.Load(); rows != 15 {
					t.Errorf("%s: the progress counts %d rows", name, rows)
				}
				to.Exec(t, "TRUNCATE t0, t1, t2, t4, t5")
			}
			if errs[0] != errs[1] {
				t.Errorf("%s: the error is %s, and for a table that is filled alone %s", name, errs[1], errs[0])
			}
		}
	})
}

// alone is a sink that fills one table after the other.
type alone struct{ sink.Sink }

func (a alone) Clone(ctx context.Context) (sink.Sink, error) {
	clone, err := a.Sink.(sink.Cloner).Clone(ctx)
	return alone{clone}, err
}

// TestSmallTablesAreCutOff has the session of a transaction end. What others have committed stays, and the same load
// goes on.
func TestSmallTablesAreCutOff(t *testing.T) {
	const ends = `CREATE FUNCTION ends() RETURNS trigger LANGUAGE plpgsql AS
		'BEGIN PERFORM pg_terminate_backend(pg_backend_pid()); PERFORM pg_sleep(10); RETURN NEW; END';
		CREATE TRIGGER ends BEFORE INSERT ON t5 FOR EACH ROW EXECUTE FUNCTION ends()`
	from, _ := newPostgres(t, forEach(makeSmallSQL+"; INSERT INTO % SELECT i, '%' FROM generate_series(1, 3) i"))
	backup := newBackupOf(t, openPostgres(t, from), export.Plan{}, 0, smallTables...)
	to, dst := newPostgres(t, forEach(makeSmallSQL)+";"+ends)
	plan := load.Plan{Loaders: 2}
	plan.Filling.Ledger, plan.Filling.EachPart = &sink.Ledger{Table: "ledger", Load: "small"}, true
	if _, err := plan.Directory(t.Context(), dst, backup.Directory, nil); !errors.Is(err, source.ErrUnavailable) {
		t.Fatalf("got %v, want a lost connection", err)
	}
	to.Exec(t, "DROP TRIGGER ends ON t5")
	again, err := postgres.OpenSink(t.Context(), to.ConnString())
	if err != nil {
		t.Fatal(err)
	}
	defer closing(t, again)
	if stats, err := plan.Directory(t.Context(), again, backup.Directory, nil); err != nil {
		t.Fatalf("%+v, %v", stats, err)
	}
	if got := to.Query(t, transactionsSQL())[0][1]; got != "18" {
		t.Errorf("there are %s rows, want 18", got)
	}
}

// TestSmallTablesNeedLocks has tables with more partitions together than the lock table has room for.
func TestSmallTablesNeedLocks(t *testing.T) {
	t.Parallel()
	server := testkit.NewPostgres(t, testkit.PostgresConfig{
		Settings: []string{"max_locks_per_transaction = 10", "max_connections = 20"},
	})
	to := server.NewDatabase(t)
	from, _ := newPostgres(t, "SELECT 1")
	const partitions = 200
	var names []string
	for i := range 4 {
		name := fmt.Sprintf("p%d", i)
		names = append(names, name)
		from.Exec(t, "CREATE TABLE "+name+" (id integer); INSERT INTO "+name+" VALUES (7)")
		to.Exec(t, "CREATE TABLE "+name+" (id integer) PARTITION BY RANGE (id)")
		for first := 0; first < partitions; first += 50 {
			to.Exec(t, fmt.Sprintf(`DO $$ BEGIN FOR i IN %d..%d LOOP EXECUTE format(
				'CREATE TABLE %s_%%s PARTITION OF %s FOR VALUES FROM (%%s) TO (%%s)', i, i, i + 1); END LOOP; END $$`,
				first, first+49, name, name))
		}
	}
	dst, err := postgres.OpenSink(t.Context(), to.ConnString())
	if err != nil {
		t.Fatal(err)
	}
	defer closing(t, dst)
	backup := newBackupOf(t, openPostgres(t, from), export.Plan{}, 0, names...)
	stats, err := new(load.Plan).Directory(t.Context(), dst, backup.Directory, nil)
	if err != nil || len(stats) != len(names) {
		t.Fatalf("%+v, %v", stats, err)
	}
	for _, name := range names {
		if got := to.Query(t, "SELECT count(*) FROM "+name+" WHERE id = 7")[0][0]; got != "1" { // locks one partition
			t.Errorf("%s has %s rows", name, got)
		}
	}
}
