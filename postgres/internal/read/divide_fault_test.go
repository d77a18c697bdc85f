package read_test

import (
	"context"
	"errors"
	"io"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"

	"culvert/internal/testkit"
	"culvert/postgres/internal/read"
	"culvert/source"
)

// TestDividedKilled ends the connection of one reader. It alone has an error; that the others end is the part of their
// context.
func TestDividedKilled(t *testing.T) {
	testkit.SincePostgres(t, 14, "ranges of pages")
	read.ShrinkRanges(t)
	database := testkit.Postgres(t).NewDatabase(t)
	database.Exec(t, manyRows)
	for victim := range 3 {
		db := open(t, database.ConnString())
		all := divide(t, db, "t", 3)
		// The first one reads alone until it is known which connection it has.
		var b source.Batch
		if err := all[victim].Next(&b); err != nil {
			t.Fatal(err)
		}
		if n := database.EndSessions(t, "state = 'active' AND application_name = 'culvert'"); n != 1 {
			t.Fatalf("%d connections are at work", n)
		}
		errs := make([]error, len(all))
		var reading sync.WaitGroup
		for i, rows := range all {
			reading.Go(func() { _, errs[i] = drain(rows) })
		}
		reading.Wait()
		for i, err := range errs {
			if i == victim && !errors.Is(err, source.ErrUnavailable) || i != victim && err != io.EOF {
				t.Errorf("reader %d of which %d was killed: %v", i, victim, err)
			}
		}
		// Those that are left are used again.
		if err := all[0].Close(); err != nil {
			t.Error(err)
		}
		if victim > 0 {
			if n, err := drainAll(divide(t, db, "t", 3)); n != 300_000 || err != nil {
				t.Errorf("a second look: %d rows, %v", n, err)
			}
		}
		if err := db.Close(); err != nil {
			t.Error(err)
		}
		expectGone(t, database)
	}
}

func drop(p []byte) (int, error) { return len(p), nil }

// TestDividedCanceled ends all readers by their context, in both ways to read.
func TestDividedCanceled(t *testing.T) {
	testkit.SincePostgres(t, 14, "ranges of pages")
	read.ShrinkRanges(t)
	db, database := openNew(t, manyRows+"; CREATE TABLE few AS SELECT * FROM t WHERE i <= 5000")
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	all := divideContext(ctx, t, db, "t", 4)
	errs := make([]error, len(all))
	var reading sync.WaitGroup
	for i, rows := range all {
		reading.Go(func() { errs[i] = readCSV(rows, i%2 == 0, cancel, drop) })
	}
	reading.Wait()
	for i, err := range errs {
		if !errors.Is(err, context.Canceled) || errors.Is(err, source.ErrUnavailable) {
			t.Errorf("reader %d: %v, want context.Canceled", i, err)
		}
	}
	if err := all[0].Close(); err != nil {
		t.Error(err)
	}
	const running = "SELECT FROM pg_stat_activity WHERE state = 'active' AND application_name = 'culvert' " +
		"AND datname = current_database()"
	if n := len(database.Query(t, running)); n != 0 {
		t.Errorf("%d queries are running afterwards", n)
	}
	if n, err := drainAll(divide(t, db, "t", 4)); n != 300_000 || err != nil {
		t.Errorf("afterwards: %d rows, %v", n, err)
	}
	got, err := together(divide(t, db, "few", 4), func() {})
	if err != nil {
		t.Error(err)
	}
	expectLines(t, "another table afterwards", got, linesOf(t, database, "TABLE few"))
}

// TestDivideCanceled cancels while connections are opened.
func TestDivideCanceled(t *testing.T) {
	testkit.SincePostgres(t, 14, "ranges of pages")
	read.ShrinkRanges(t)
	_, database := openNew(t, "CREATE TABLE t AS SELECT generate_series(1, 5000) AS id")
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	var mu sync.Mutex
	begun := 0
	edit := func(m message) ([]byte, error) {
		mu.Lock()
		defer mu.Unlock()
		if m.kind() == 'R' { // what the server begins with
			if begun++; begun == 2 {
				cancel()
			}
		}
		return m, nil
	}
	db := openAgain(t, newProxy(t, database.Server, edit).connString(database.Name))
	rows, err := db.Table(ctx, "t")
	if err != nil {
		t.Fatal(err)
	}
	_, err = rows.(source.Divider).Divide(3)
	if _, alone := errors.AsType[*source.IndivisibleError](err); alone || !errors.Is(err, context.Canceled) {
		t.Errorf("Divide: %v, want context.Canceled", err)
	}
}

// TestDivideExporterKilled ends the first connection once it has exported its snapshot, before others come with it.
func TestDivideExporterKilled(t *testing.T) {
	testkit.SincePostgres(t, 14, "ranges of pages")
	read.ShrinkRanges(t)
	database := testkit.Postgres(t).NewDatabase(t)
	database.Exec(t, "CREATE TABLE t AS SELECT generate_series(1, 5000) AS id")
	const first = "pid = (SELECT pid FROM pg_stat_activity WHERE application_name = 'culvert' " +
		"AND datname = current_database() ORDER BY backend_start LIMIT 1)"
	rolledBack := false
	edit := func(m message) ([]byte, error) {
		// The second connection, which rehearsed the export, is about to begin again.
		if m.kind() == 'C' && m.body() == "ROLLBACK\x00" && !rolledBack {
			rolledBack = true
			database.EndSessions(t, first)
		}
		return m, nil
	}
	db := open(t, newProxy(t, database.Server, edit).connString(database.Name))
	rows := table(t, db, "t")
	var b source.Batch
	_, err := rows.(source.Divider).Divide(3)
	if err == nil || !rolledBack {
		t.Error("Divide did not fail")
	}
	if _, alone := errors.AsType[*source.IndivisibleError](err); alone {
		err = rows.Next(&b)
	}
	if !errors.Is(err, source.ErrUnavailable) {
		t.Errorf("error %v", err)
	}
	if err := db.Close(); err != nil {
		t.Error(err)
	}
	expectGone(t, database)
}

// TestDivideWaitsInVain is given no second connection, as by a pooler that has none left.
func TestDivideWaitsInVain(t *testing.T) {
	testkit.SincePostgres(t, 14, "ranges of pages")
	read.ShrinkRanges(t)
	read.ShortenPatience(t)
	_, database := openNew(t, "CREATE TABLE t AS SELECT generate_series(1, 5000) AS id")
	release := make(chan struct{})
	var mu sync.Mutex
	begun := 0
	edit := func(m message) ([]byte, error) {
		if m.kind() == 'R' { // what the server begins with
			mu.Lock()
			begun++
			late := begun > 1
			mu.Unlock()
			if late {
				<-release
			}
		}
		return m, nil
	}
	db := openAgain(t, newProxy(t, database.Server, edit).connString(database.Name))
	defer close(release)
	rows := table(t, db, "t")
	expectIndivisible(t, rows, "no second connection")
	if n, err := drain(rows); n != 5000 || err != io.EOF {
		t.Errorf("then one connection has %d rows and the error %v", n, err)
	}
}

// TestDivideSilentHelpers has the connections of before fall silent between two tables. Neither to find that out nor to
// close them may take for ever.
func TestDivideSilentHelpers(t *testing.T) {
	testkit.SincePostgres(t, 14, "ranges of pages")
	read.ShrinkRanges(t)
	database := testkit.Postgres(t).NewDatabase(t)
	database.Exec(t, "CREATE TABLE t AS SELECT generate_series(1, 5000) AS id")
	release := make(chan struct{})
	var again, locked, silent atomic.Bool
	edit := func(m message) ([]byte, error) {
		if silent.Load() {
			<-release
		}
		// Once the first has its locks, what follows is from the others.
		if again.Load() && m.kind() == 'C' && strings.HasPrefix(m.body(), "RELEASE") {
			locked.Store(true)
		} else if locked.Load() && m.kind() == 'Z' {
			silent.Store(true)
		}
		return m, nil
	}
	db := open(t, newProxy(t, database.Server, edit).connString(database.Name))
	defer close(release)
	if _, err := together(divide(t, db, "t", 4), func() {}); err != nil {
		t.Fatal(err)
	}
	read.ShortenPatience(t)
	read.ShortenGrace(t)
	rows := table(t, db, "t")
	again.Store(true)
	expectIndivisible(t, rows, "a connection was lost")
	again.Store(false)
	locked.Store(false)
	silent.Store(false)
	if n, err := drain(rows); n != 5000 || err != io.EOF {
		t.Errorf("then one connection has %d rows and the error %v", n, err)
	}
	if err := db.Close(); err != nil {
		t.Error(err)
	}
}

// TestDividedChanged changes a table after it was divided. The change has to wait, as all connections have locked the
// table and its children; only the name of a schema is never locked.
func TestDividedChanged(t *testing.T) {
	testkit.SincePostgres(t, 14, "ranges of pages")
	read.ShrinkRanges(t)
	const tables = `
		CREATE TABLE plain AS SELECT generate_series(1, 5000) AS id;
		CREATE TABLE t (id int) PARTITION BY LIST (id); CREATE TABLE one PARTITION OF t DEFAULT;
		INSERT INTO t TABLE plain;
		CREATE TABLE parent AS TABLE plain; CREATE TABLE child () INHERITS (parent); INSERT INTO child TABLE plain;
		CREATE SCHEMA here; CREATE TABLE here.t AS TABLE plain`
	for _, test := range []struct {
		change, table string
		waits         bool
	}{
		{"TRUNCATE plain", "plain", true},
		{"DROP TABLE plain", "plain", true},
		{"ALTER TABLE plain ADD late int", "plain", true},
		{"TRUNCATE one", "t", true},
		{"DROP TABLE one", "t", true},
		{"TRUNCATE child", "parent", true},
		{"DROP TABLE child", "parent", true},
		{"ALTER TABLE plain RENAME TO gone; CREATE TABLE plain AS TABLE gone", "plain", true},
		{
			"ALTER SCHEMA here RENAME TO there; CREATE SCHEMA here; CREATE TABLE here.t AS TABLE there.t", "here.t",
			false,
		},
	} {
		db, database := openNew(t, tables)
		want := linesOf(t, database, "SELECT * FROM "+test.table)
		all := divide(t, db, test.table, 3)
		change := `DO $do$ BEGIN SET LOCAL lock_timeout = '1ms'; ` + test.change + `;
			EXCEPTION WHEN lock_not_available THEN NULL; END $do$`
		database.Exec(t, change)
		got, err := together(all, sync.OnceFunc(func() {
			if test.waits {
				database.Exec(t, change)
			}
		}))
		switch {
		case test.waits && err != nil:
			t.Errorf("%s: %v", test.change, err)
		case test.waits:
			expectLines(t, test.change, got, want)
		case err == nil || !strings.Contains(err.Error(), "after the transaction began"):
			t.Errorf("%s: then %s has %d lines and the error %v", test.change, test.table, len(got), err)
		}
	}
}

// TestDivideBehindChange has a change of the table wait for the first connection when the others ask for their locks.
// The first reads alone, and then it is the turn of the change.
func TestDivideBehindChange(t *testing.T) {
	testkit.SincePostgres(t, 14, "ranges of pages")
	read.ShrinkRanges(t)
	read.ShortenLockTimeouts(t)
	for _, change := range []string{"ALTER TABLE t ADD late int", "BEGIN; LOCK TABLE t", "DROP TABLE t"} {
		db, database := openNew(t, "CREATE TABLE t AS SELECT generate_series(1, 5000) AS id")
		rows := table(t, db, "t")
		changed := behind(t, database, "t", change)
		expectIndivisible(t, rows, "waits to change it")
		if n, err := drain(rows); n != 5000 || err != io.EOF {
			t.Errorf("behind %s, one connection has %d rows and the error %v", change, n, err)
		}
		if err := db.Close(); err != nil {
			t.Error(err)
		}
		<-changed
	}
}

// behind runs statements of which the last one has to wait for a lock on a table, and returns when it does. The result
// is closed once they have ended.
func behind(t *testing.T, database *testkit.PostgresDatabase, table, sql string) (ended <-chan struct{}) {
	t.Helper()
	done := make(chan struct{})
	go func() {
		defer close(done)
		database.Exec(t, sql)
	}()
	testkit.WaitFor(t, sql+" to wait", func() bool {
		waiting := "SELECT FROM pg_locks WHERE NOT granted AND relation = '" + table + "'::regclass"
		return len(database.Query(t, waiting)) == 1
	})
	return done
}

// TestDividedNewChild gives a table that was divided one more child, which someone keeps locked. Reading must come to
// an end.
func TestDividedNewChild(t *testing.T) {
	testkit.SincePostgres(t, 14, "ranges of pages")
	read.ShrinkRanges(t)
	read.ShortenLockTimeouts(t)
	db, database := openNew(t, "CREATE TABLE t AS SELECT generate_series(1, 5000) AS id;"+
		"CREATE TABLE first () INHERITS (t)")
	all := divide(t, db, "t", 3)
	database.Exec(t, "CREATE TABLE child () INHERITS (t)")
	other, err := pgconn.Connect(t.Context(), database.ConnString())
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close(context.WithoutCancel(t.Context()))
	if err := other.Exec(t.Context(), "BEGIN; LOCK TABLE child IN ACCESS EXCLUSIVE MODE").Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := together(all, func() {}); err == nil || !strings.Contains(err.Error(), "lock timeout") {
		t.Errorf("behind a lock that stays: %v", err)
	}
	if err := all[0].Close(); err != nil {
		t.Error(err)
	}
	if got := encoded(t, query(t, db, "SHOW lock_timeout")); got != "lock_timeout\n0\n" {
		t.Errorf("what follows has the %s", got)
	}
}

// TestDividedWrongCount has a proxy change the number of rows that the server confirms for one range.
func TestDividedWrongCount(t *testing.T) {
	testkit.SincePostgres(t, 14, "ranges of pages")
	read.ShrinkRanges(t)
	_, database := openNew(t, "CREATE TABLE t AS SELECT generate_series(1, 5000) AS id")
	var once sync.Once
	edit := func(m message) ([]byte, error) {
		if m.kind() == 'C' && strings.HasPrefix(m.body(), "SELECT 226") {
			once.Do(func() { m = newMessage('C', "SELECT 225\x00") })
		}
		return m, nil
	}
	db := openAgain(t, newProxy(t, database.Server, edit).connString(database.Name))
	all := divide(t, db, "t", 3)
	errs := make(chan error, len(all))
	for _, rows := range all {
		go func() { errs <- readCSV(rows, false, func() {}, drop) }()
	}
	failed := 0
	for range all {
		if err := <-errs; err != nil {
			failed++
			count, ok := errors.AsType[*source.CountError](err)
			if want := (source.CountError{Received: 226, Confirmed: 225}); !ok || *count != want {
				t.Errorf("a range with a row too many: %v", err)
			}
		}
	}
	if failed != 1 {
		t.Errorf("%d readers have failed", failed)
	}
}
