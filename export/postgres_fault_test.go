package export_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"

	"go.uber.org/goleak"

	"culvert/export"
	"culvert/format"
	"culvert/internal/testkit"
	"culvert/postgres"
	"culvert/source"
)

// faultRows is how many rows there are in the table t of faultTable, which four connections read.
const (
	faultRows  = 30_000
	faultTable = "CREATE TABLE t AS SELECT i, repeat('x', 400) AS fill FROM generate_series(1, 30000) AS i"
)

// ours are the connections of exports to a database.
const ours = "FROM pg_stat_activity WHERE application_name = 'culvert' AND datname = current_database()"

// fault is an export that something happens to.
type fault struct {
	t        *testing.T
	server   *testkit.PostgresServer
	database *testkit.PostgresDatabase
	readers  int
	progress *export.Progress

	before func(*fault)       // is called before the table is asked for, if not nil
	during func(*fault) error // is called while the first write waits, if not nil
	end    func()             // ends the context

	wanted func(error) bool // nil if the export must succeed
	after  []func()         // is called when the database is closed
}

// run exports the table t. Whatever happens, nothing may be left of it in the end, here and on the server.
func (f *fault) run() {
	f.t.Helper()
	leaks := goleak.IgnoreCurrent()
	ctx, cancel := context.WithCancel(f.t.Context())
	defer cancel()
	f.end = cancel
	db, err := postgres.OpenSource(ctx, f.database.ConnString())
	if err != nil {
		f.t.Fatal(err)
	}
	if f.before != nil {
		f.before(f)
	}
	stats, err := f.export(ctx, db)
	switch {
	case f.wanted == nil && (err != nil || stats.Rows != faultRows || stats.Readers != f.readers):
		f.t.Errorf("%+v, error %v", stats, err)
	case f.wanted != nil && (err == nil || !f.wanted(err) || strings.Contains(err.Error(), "\n")):
		f.t.Errorf("%+v, error %v", stats, err)
	}
	if err := db.Close(); err != nil {
		f.t.Error(err)
	}
	for _, after := range f.after {
		after()
	}
	testkit.WaitFor(f.t, "the server to see that nobody is left", func() bool {
		return len(f.database.Query(f.t, "SELECT "+ours)) == 0
	})
	goleak.VerifyNone(f.t, leaks)
}

// export exports the table, and lets the fault happen in the goroutine of the test, which it may end.
func (f *fault) export(ctx context.Context, db *postgres.Source) (export.Stats, error) {
	var (
		stats         export.Stats
		err, writeErr error
	)
	writing, happened, ended := make(chan struct{}), make(chan struct{}), make(chan struct{})
	first := sync.OnceFunc(func() {
		close(writing)
		<-happened
	})
	go func() {
		defer close(ended)
		plan := export.Plan{
			Format: format.JSONL{}, Compression: export.None, Unencrypted: true, Jobs: 4, Ordered: f.readers == 1,
			Progress: f.progress,
		}
		stats, err = plan.Table(ctx, writerFunc(func(p []byte) (int, error) {
			if first(); writeErr != nil {
				return 0, writeErr
			}
			return len(p), nil
		}), db, "t")
	}()
	goOn := sync.OnceFunc(func() { close(happened) })
	defer goOn()
	select {
	case <-writing:
		if f.during != nil {
			writeErr = f.during(f)
		}
	case <-ended:
	}
	goOn()
	<-ended
	return stats, err
}

// runFaults runs each fault with one reader and with four, in a database of its own.
func runFaults(t *testing.T, server *testkit.PostgresServer, faults map[string]fault) {
	for name, f := range faults {
		for _, f.readers = range []int{1, 4} {
			t.Run(fmt.Sprintf("%s/readers=%d", name, f.readers), func(t *testing.T) {
				f := fault{
					t: t, server: server, database: server.NewDatabase(t), readers: f.readers,
					progress: new(export.Progress), before: f.before, during: f.during, wanted: f.wanted,
				}
				f.database.Exec(t, faultTable)
				f.run()
			})
		}
	}
}

func is(want error) func(error) bool { return func(err error) bool { return errors.Is(err, want) } }

func says(text string) func(error) bool {
	return func(err error) bool { return strings.Contains(err.Error(), text) }
}

// TestPostgresFaults has the sink, the context or a connection end an export.
func TestPostgresFaults(t *testing.T) {
	runFaults(t, testkit.Postgres(t), map[string]fault{
		"none": {},
		"killed": {
			during: func(f *fault) error {
				// Any of those that are at work. The others are told to stop.
				f.database.Query(f.t, "SELECT pg_terminate_backend(pid) "+ours+" AND state = 'active' LIMIT 1")
				return nil
			},
			wanted: is(source.ErrUnavailable),
		},
		"canceled": {
			during: func(f *fault) error { f.end(); return nil },
			wanted: is(context.Canceled),
		},
		"full disk": {
			during: func(*fault) error { return errFull },
			wanted: is(errFull),
		},
		"slow disk": {during: slowDisk},
	})
}

// slowDisk holds the first write up until all connections wait for us to read, so that what lies between them and the
// sink is full. On a busy machine some of them may have filled it before the others have been asked for anything; then
// none must be at work for a while.
func slowDisk(f *fault) error {
	const waiting = "SELECT count(*) FILTER (WHERE wait_event = 'ClientWrite'), " +
		"count(*) FILTER (WHERE wait_event IS DISTINCT FROM 'ClientWrite') " + ours + " AND state = 'active'"
	all, quiet := fmt.Sprint(f.readers), 0
	testkit.WaitFor(f.t, "the connections to wait", func() bool {
		row := f.database.Query(f.t, waiting)[0]
		if quiet++; row[0] == "0" || row[1] != "0" {
			quiet = 0
		}
		return row[0] == all || quiet == 100
	})
	if out := f.progress.Out.Load(); out != 0 {
		f.t.Errorf("%d bytes were written meanwhile", out)
	}
	return nil
}

// change runs a statement on the table, by another connection.
func change(sql string) func(*fault) {
	return func(f *fault) { f.database.Exec(f.t, sql) }
}

// changeWaits runs a statement on the table that has to wait until the export is over.
func changeWaits(sql string) func(*fault) error {
	return func(f *fault) error {
		changed := make(chan struct{})
		go func() {
			defer close(changed)
			f.database.Exec(f.t, sql)
		}()
		const waiting = "SELECT FROM pg_locks WHERE NOT granted AND relation = 't'::regclass"
		testkit.WaitFor(f.t, sql+" to wait", func() bool { return len(f.database.Query(f.t, waiting)) == 1 })
		f.after = append(f.after, func() { <-changed })
		return nil
	}
}

// TestPostgresChanges changes the table that is exported. Either the change waits, or what the table held when the
// database was opened cannot be given any more.
func TestPostgresChanges(t *testing.T) {
	runFaults(t, testkit.Postgres(t), map[string]fault{
		"dropped":      {during: changeWaits("DROP TABLE t")},
		"truncated":    {during: changeWaits("TRUNCATE t")},
		"column added": {during: changeWaits("ALTER TABLE t ADD late int")},

		"dropped before":        {before: change("DROP TABLE t"), wanted: says("does not exist")},
		"truncated before":      {before: change("TRUNCATE t"), wanted: says("after the transaction began")},
		"column added before":   {before: change("ALTER TABLE t ADD late int")},
		"column dropped before": {before: change("ALTER TABLE t DROP fill"), wanted: says("does not exist")},
		"rows changed before":   {before: change("DELETE FROM t WHERE i % 2 = 0; INSERT INTO t VALUES (0)")},
		"rewritten before": {
			before: change("ALTER TABLE t ADD late float DEFAULT random()"),
			wanted: says("after the transaction began"),
		},
	})
}

// TestPostgresRestarted has the server stop and start again while it is read, as an administrator does.
func TestPostgresRestarted(t *testing.T) {
	runFaults(t, testkit.NewPostgres(t, testkit.PostgresConfig{}), map[string]fault{
		"restarted": {
			during: func(f *fault) error {
				f.server.Stop(f.t)
				f.server.Start(f.t)
				return nil
			},
			wanted: is(source.ErrUnavailable),
		},
		"restarted before": {
			before: func(f *fault) {
				f.server.Stop(f.t)
				f.server.Start(f.t)
			},
			wanted: is(source.ErrUnavailable),
		},
		"crashed": {
			during: func(f *fault) error {
				f.server.Kill(f.t)
				f.server.Start(f.t)
				return nil
			},
			wanted: is(source.ErrUnavailable),
		},
	})
}

// TestPostgresExpired lets the server throw away what the transaction would still see, as PostgreSQL up to 16 can be
// told to. Several connections, which might not notice, must not read then. That takes five seconds, whatever the
// setting, for which reason other long tests run meanwhile.
func TestPostgresExpired(t *testing.T) {
	t.Parallel()
	const known = "SELECT FROM pg_settings WHERE name = 'old_snapshot_threshold'"
	if len(testkit.Postgres(t).NewDatabase(t).Query(t, known)) == 0 {
		return // since PostgreSQL 17 no server can
	}
	server := testkit.NewPostgres(t, testkit.PostgresConfig{Settings: []string{"old_snapshot_threshold = 0"}})
	database := server.NewDatabase(t)
	database.Exec(t, faultTable)
	db, err := postgres.OpenSource(t.Context(), database.ConnString())
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	plan := export.Plan{Unencrypted: true, Jobs: 4}
	stats, err := plan.Table(t.Context(), io.Discard, db, "t")
	if err != nil || stats.Indivisible == nil || stats.Rows != faultRows {
		t.Errorf("at first: %+v, error %v", stats, err)
	}
	database.Exec(t, "DELETE FROM t WHERE i % 2 = 0")
	testkit.WaitFor(t, "the snapshot to be too old", func() bool {
		database.Exec(t, "VACUUM t")
		stats, err = plan.Table(t.Context(), io.Discard, db, "t")
		return err != nil || stats.Rows != faultRows
	})
	if err == nil || !strings.Contains(err.Error(), "snapshot too old") {
		t.Errorf("in the end: %+v, error %v", stats, err)
	}
}
