package load_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"culvert/export"
	"culvert/format"
	"culvert/load"
	"culvert/postgres"
	"culvert/sink"
	"culvert/source"
)

// lost is a database that is lost when a table is to be filled.
type lost struct {
	*postgres.Sink
	at string
}

func (l *lost) Table(ctx context.Context, name string, f sink.Filling) (sink.Table, error) {
	if strings.HasSuffix(name, l.at) {
		return nil, fmt.Errorf("lost: %w", source.ErrUnavailable)
	}
	return l.Sink.Table(ctx, name, f)
}

// Group has each table be filled alone.
func (l *lost) Group(context.Context, []sink.Member) (sink.Group, error) {
	return nil, errors.ErrUnsupported
}

// Clone is that of the database, which is there for the others.
func (l *lost) Clone(ctx context.Context) (sink.Sink, error) { return l.Sink.Clone(ctx) }

// chainSQL makes tables that refer to each other, in an order that is not that of their names.
const chainSQL = `
CREATE TABLE a3 (id int PRIMARY KEY); CREATE TABLE a2 (id int PRIMARY KEY CONSTRAINT "to a3" REFERENCES a3);
CREATE TABLE a1 (id int PRIMARY KEY CONSTRAINT "to a2" REFERENCES a2); CREATE TABLE a4 (id int PRIMARY KEY);
`

const chainRowsSQL = `
INSERT INTO a3 SELECT generate_series(1, 2000); INSERT INTO a2 SELECT generate_series(1, 1500);
INSERT INTO a1 SELECT generate_series(1, 1200); INSERT INTO a4 SELECT 1`

var chain = []string{"a1", "a2", "a3", "a4"}

// TestUnfinished does not take tables without their foreign keys for complete, and completes them by the ledger.
func TestUnfinished(t *testing.T) {
	from, _ := newPostgres(t, chainSQL+chainRowsSQL)
	to, dst := newPostgres(t, "CREATE TABLE unrelated (id int)")
	missing := func(all []load.Stats) (names []string) {
		for _, stats := range all {
			if e, is := errors.AsType[*load.UnfinishedError](stats.Err); is {
				names = append(names, stats.Name+" "+strings.Join(e.Missing, ", "))
			}
		}
		return names
	}
	want := []string{"a1 to a2", "a2 to a3"}

	ledger := &sink.Ledger{Table: "ledger", Load: "x"}
	backup := newBackupOf(t, openPostgres(t, from), export.Plan{}, 0, chain...)
	plan := load.Plan{Create: true, Filling: sink.Filling{Ledger: ledger}}
	all, err := plan.Directory(t.Context(), &lost{dst.(*postgres.Sink), "a4"}, backup.Directory, nil)
	if !errors.Is(err, source.ErrUnavailable) || !slices.Equal(missing(all), want) {
		t.Errorf("%v, without %q", err, missing(all))
	}
	all, err = plan.Directory(t.Context(), dst, backup.Directory, nil)
	if err != nil || len(all) != 4 {
		t.Errorf("%d tables, %v", len(all), err)
	}
	const keysSQL = "SELECT count(*) FROM pg_constraint WHERE contype = 'f'"
	if keys := to.Query(t, keysSQL)[0][0]; keys != "2" {
		t.Errorf("there are %s foreign keys", keys)
	}

	_, dst = newPostgres(t, "CREATE TABLE unrelated (id int)")
	plan = load.Plan{Create: true}
	var tables []load.Names
	for _, name := range chain {
		tables = append(tables, load.Names{From: name, To: name})
	}
	all, err = plan.CopyTables(t.Context(), &lost{dst.(*postgres.Sink), "a4"}, openPostgres(t, from), tables)
	if !errors.Is(err, source.ErrUnavailable) || !slices.Equal(missing(all), want) {
		t.Errorf("%v, without %q", err, missing(all))
	}
}

// TestReferences fills tables that refer to others, by any number of connections.
func TestReferences(t *testing.T) {
	t.Parallel()
	from, _ := newPostgres(t, chainSQL+chainRowsSQL)
	src := openPostgres(t, from)
	backup := newBackupOf(t, src, export.Plan{}, 0, chain...)
	var tables []load.Names
	for _, name := range chain {
		tables = append(tables, load.Names{From: name, To: name})
	}
	to, dst := newPostgres(t, "")
	for _, loaders := range []int{1, 2, 4} {
		plan := load.Plan{Loaders: loaders, ReadBack: true}
		for name, fill := range map[string]func(sink.Sink) ([]load.Stats, error){
			"directory": func(dst sink.Sink) ([]load.Stats, error) {
				return plan.Directory(t.Context(), dst, backup.Directory, nil)
			},
			"copy": func(dst sink.Sink) ([]load.Stats, error) {
				return plan.CopyTables(t.Context(), dst, openPostgres(t, from), tables)
			},
		} {
			t.Run(fmt.Sprint(name, loaders), func(t *testing.T) {
				to.Exec(t, emptySchema+chainSQL)
				all, err := fill(dst)
				if err != nil || len(all) != 4 || all[0].Name != "a1" || all[0].Rows != 1200 {
					t.Errorf("%+v, %v", all, err)
				}
				if rows := to.Query(t, "SELECT count(*) FROM a1")[0][0]; rows != "1200" {
					t.Errorf("there are %s rows", rows)
				}

				to.Exec(t, emptySchema+chainSQL+"; ALTER TABLE a3 ADD CHECK (id < 5)")
				all, err = fill(dst)
				partial, is := errors.AsType[*load.PartialError](err)
				if !is || partial.Failed != 3 || all[0].Err == nil || all[3].Err != nil {
					t.Errorf("without the rows that others refer to: %+v, %v", all, err)
				}
			})
		}
	}
}

// TestReadBackGenerated compares what is loaded of tables that compute some of their columns.
func TestReadBackGenerated(t *testing.T) {
	lite := newLite(t,
		"CREATE TABLE t (id INTEGER PRIMARY KEY, twice INT AS (id * 2), name TEXT, r REAL AS (id / 8.0) STORED)",
		`WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 5000)
		INSERT INTO t SELECT i, CASE i % 3 WHEN 0 THEN NULL ELSE 'a "quoted", ' || i END FROM n`)
	database, _ := newPostgres(t, `CREATE TABLE t (id int, twice int GENERATED ALWAYS AS (id * 2) STORED, b bytea,
		done bool, n numeric, at timestamptz); INSERT INTO t (id, b, done, n, at)
		SELECT i, '\x00ff', i % 2 = 0, i / 7.0, now() FROM generate_series(1, 5000) i`)
	postgres := openPostgres(t, database)
	to, dst := newPostgres(t, "")
	for _, of := range []struct {
		src source.Source
		dst func() sink.Sink
	}{
		{lite, func() sink.Sink { _, dst := newSQLite(t); return dst }},
		{postgres, func() sink.Sink { to.Exec(t, emptySchema+"CREATE TABLE unrelated ()"); return dst }},
	} {
		for _, text := range []format.Format{format.CSV{}, format.JSONL{}} {
			for _, ledger := range []*sink.Ledger{nil, {Table: "ledger", Load: "x"}} {
				backup := newBackupOf(t, of.src, export.Plan{Format: text}, 0, "t")
				plan := load.Plan{Create: true, ReadBack: true, Filling: sink.Filling{Ledger: ledger}}
				dst := of.dst()
				all, err := plan.Directory(t.Context(), dst, backup.Directory, nil)
				if err != nil || all[0].Rows != 5000 {
					t.Errorf("%+v, %v", all, err)
				}
			}
		}
	}
}

// TestGeneratedThere loads an export that has values of computed columns into tables that are there: one that computes
// them too, and one that keeps them.
func TestGeneratedThere(t *testing.T) {
	const columns = "id INTEGER PRIMARY KEY, twice INT AS (id * 2), name TEXT, r REAL AS (id / 8.0) STORED"
	backup := newBackupOf(t, newLite(t, "CREATE TABLE t ("+columns+")", "INSERT INTO t VALUES (1, 'a'), (2, NULL)"),
		export.Plan{Format: format.CSV{}}, 0, "t")
	for as, want := range map[string]int{columns: 2, "id INT, twice INT, name TEXT, r REAL": 4} {
		there := randomSQLite(t)
		there.exec("CREATE TABLE t (" + as + ")")
		dst, err := there.sink()
		if err != nil {
			t.Fatal(err)
		}
		defer closing(t, dst)
		for _, existing := range []sink.Existing{sink.Refuse, sink.Truncate} {
			plan := load.Plan{ReadBack: true, Filling: sink.Filling{Existing: existing}}
			all, err := plan.Directory(t.Context(), dst, backup.Directory, nil)
			if err != nil || all[0].Rows != 2 {
				t.Errorf("%s: %+v, %v", as, all, err)
			}
		}
		plan, err := dst.Plan(t.Context(), "t", sink.Filling{Existing: sink.Append})
		if err != nil || len(plan.Columns) != want {
			t.Errorf("%s: it takes %+v, %v", as, plan.Columns, err)
		}
	}
}

// unanalyzed is a database whose statistics cannot be updated.
type unanalyzed struct{ *postgres.Sink }

func (u unanalyzed) Analyze(context.Context, string, sink.Filling) error {
	return fmt.Errorf("lost: %w", sink.ErrLocked)
}

// Clone is as this one.
func (u unanalyzed) Clone(ctx context.Context) (sink.Sink, error) {
	clone, err := u.Sink.Clone(ctx)
	if err != nil {
		return nil, err
	}
	return unanalyzed{clone.(*postgres.Sink)}, nil
}

// TestAnalyzeFails adds foreign keys to tables whose statistics could not be updated, and loads them once.
func TestAnalyzeFails(t *testing.T) {
	from, _ := newPostgres(t, chainSQL+chainRowsSQL)
	for _, loaders := range []int{1, 4} {
		to, dst := newPostgres(t, "CREATE TABLE unrelated (id int)")
		backup := newBackupOf(t, openPostgres(t, from), export.Plan{}, 0, chain...)
		plan := load.Plan{Create: true, Analyze: true, Loaders: loaders}
		all, err := plan.Directory(t.Context(), unanalyzed{dst.(*postgres.Sink)}, backup.Directory, nil)
		if partial, is := errors.AsType[*load.PartialError](err); !is || partial.Failed != 4 {
			t.Errorf("%+v, %v", all, err)
		}
		for _, stats := range all {
			if stats.Rows == 0 || !errors.Is(stats.Err, sink.ErrLocked) {
				t.Errorf("%s: %d rows, %v", stats.Name, stats.Rows, stats.Err)
			}
		}
		const keysSQL = "SELECT count(*) FROM pg_constraint WHERE contype = 'f'"
		if keys := to.Query(t, keysSQL)[0][0]; keys != "2" {
			t.Errorf("there are %s foreign keys", keys)
		}
	}
}

// TestOneTarget refuses to fill one table with two.
func TestOneTarget(t *testing.T) {
	src := newShop(t)
	backup := newBackup(t, src, export.Plan{}, 0)
	to, dst := newPostgres(t, "CREATE TABLE target (id int PRIMARY KEY, title text, price float, data bytea)")
	names := map[string]string{"large": "target", "empty": "public.target"}
	plan := load.Plan{Filling: sink.Filling{Existing: sink.Truncate}}
	all, err := plan.Directory(t.Context(), dst, backup.Directory, names)
	if err == nil || len(all) > 0 {
		t.Errorf("%+v, %v", all, err)
	}
	_, err = plan.Preview(t.Context(), dst, backup.Directory, names)
	if err == nil {
		t.Error("a preview of two tables that become one")
	}
	all, err = plan.CopyTables(t.Context(), dst, src,
		[]load.Names{{From: "large", To: "target"}, {From: "empty", To: "public.target"}})
	if partial, is := errors.AsType[*load.PartialError](err); !is || partial.Failed != 1 || all[0].Err != nil {
		t.Errorf("%+v, %v", all, err)
	}
	if rows := to.Query(t, "SELECT count(*) FROM target")[0][0]; rows != "3" {
		t.Errorf("%s rows", rows)
	}
}

// TestLockedByParent loads a table again that has waited too long for a transaction of the same load.
func TestLockedByParent(t *testing.T) {
	backup := newBackup(t, newShop(t), export.Plan{}, 0)
	for _, loaders := range []int{1, 2} {
		db := newMemory(shopTables...)
		var refused atomic.Bool
		db.refuse = func(line string) error {
			if strings.HasPrefix(line, "3,\"\",2") && refused.CompareAndSwap(false, true) {
				return sink.ErrLocked
			}
			return nil
		}
		plan := load.Plan{Loaders: loaders}
		_, err := plan.Directory(t.Context(), cloning{db}, backup.Directory, nil)
		if (err == nil) != (loaders > 1) || !refused.Load() {
			t.Errorf("%d loaders: %v", loaders, err)
		}
		if rows := len(db.sorted("large")); (rows == 3) != (loaders > 1) {
			t.Errorf("%d loaders: %d rows", loaders, rows)
		}
	}
}
