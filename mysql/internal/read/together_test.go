package read_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"
	"time"

	"culvert/internal/testkit"
	"culvert/mysql/internal/read"
	"culvert/source"
)

// answers asks all connections of a database a question, which returns one value.
func answers(t *testing.T, db *read.DB, n int, sql string) (all []string) {
	t.Helper()
	beside, fewer := db.Beside(n)
	if len(beside) != n || fewer != nil {
		t.Fatalf("there are %d others, and %v", len(beside), fewer)
	}
	for _, src := range append([]source.Source{db}, beside...) {
		rows, err := src.Query(t.Context(), sql)
		if err != nil {
			t.Fatal(err)
		}
		var b source.Batch
		if err := rows.Next(&b); err != nil {
			t.Fatal(err)
		}
		_, text := b.Value(0, 0)
		all = append(all, string(text))
		if err := rows.Close(); err != nil {
			t.Error(err)
		}
	}
	for _, src := range beside {
		if err := src.Close(); err != nil {
			t.Error(err)
		}
	}
	return all
}

// TestMoment compares what connections show that have begun while others commit as fast as they can.
func TestMoment(t *testing.T) {
	for name, prepare := range map[string]func(*testing.T){
		"Stages": func(*testing.T) {}, "ReadLock": func(t *testing.T) { read.WithoutStages(t) },
	} {
		t.Run(name, func(t *testing.T) {
			prepare(t)
			server := testkit.NewMariaDB(t, testkit.MariaDBConfig{Options: []string{"--log-bin=log", "--server-id=1"}})
			database := server.NewDatabase(t)
			database.Exec(t, "CREATE TABLE t (id int PRIMARY KEY, n bigint) ENGINE InnoDB; "+
				"INSERT INTO t VALUES (1, 0), (2, 0), (3, 0), (4, 0)")
			stop := make(chan struct{})
			var writing sync.WaitGroup
			for i := range 4 {
				writing.Go(func() {
					for {
						select {
						case <-stop:
							return
						default:
						}
						if err := database.Try(strings.Repeat(fmt.Sprintf(addOne, i+1), 50)); err != nil {
							t.Error(err)
							return
						}
					}
				})
			}
			defer writing.Wait()
			defer close(stop)
			for range 8 {
				compareMoment(t, openTogether(t, database.URL(), 4), database)
			}
		})
	}
}

const addOne = "UPDATE t SET n = n + 1 WHERE id = %d; "

// compareMoment compares what the connections of a database show, and closes it.
func compareMoment(t *testing.T, db *read.DB, database *testkit.MariaDBDatabase) {
	t.Helper()
	all := answers(t, db, 3, "SELECT CONCAT_WS(' ', MIN(n), MAX(n), SUM(n)) FROM t")
	for _, one := range all {
		if one != all[0] {
			t.Errorf("connections that have begun together show %v", all)
			break
		}
	}
	description, err := db.Describe(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if testkit.MySQL() != "" { // which has no GTID without a setting, and does not say which is where
		if description.Position == "" {
			t.Error("there is no position")
		}
		if err := db.Close(); err != nil {
			t.Error(err)
		}
		return
	}
	place, gtid, is := strings.Cut(description.Position, " GTID ")
	file, offset, isPlace := strings.Cut(place, ":")
	if !is || !isPlace {
		t.Fatalf("the position is %q", description.Position)
	}
	if found := database.Query(t, "SELECT BINLOG_GTID_POS('"+file+"', "+offset+")"); found[0][0] != gtid {
		t.Errorf("the position is %q, and the log has %q there", description.Position, found[0][0])
	}
	if err := db.Close(); err != nil {
		t.Error(err)
	}
}

// expectAlone opens a database with several connections, of which there is only one, and checks the reason.
func expectAlone(t *testing.T, config read.Config, address, reason string) *read.DB {
	t.Helper()
	db, err := config.Open(t.Context(), address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	beside, fewer := db.Beside(1)
	if len(beside) != 0 || fewer == nil || !strings.Contains(fewer.Reason, reason) {
		t.Errorf("there are %d others, and the reason is %v, want %q", len(beside), fewer, reason)
	}
	if moment := db.Moment(); moment.Connections != 1 {
		t.Errorf("several connections: %+v", moment)
	}
	return db
}

// hold keeps a connection open that has run a statement.
func hold(t *testing.T, database *testkit.MariaDBDatabase, statement string) (release func()) {
	t.Helper()
	pool, err := sql.Open("mysql", "root@unix("+database.Server.SocketPath()+")/"+database.Name)
	if err != nil {
		t.Fatal(err)
	}
	conn, err := pool.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, one := range []string{"SET autocommit = 0", statement} {
		if _, err := conn.ExecContext(t.Context(), one); err != nil {
			t.Fatal(err)
		}
	}
	release = sync.OnceFunc(func() {
		if err := errors.Join(conn.Close(), pool.Close()); err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(release)
	return release
}

// TestLockNotGranted keeps the lock away, and checks that one connection reads, that nobody else waits for what has not
// been had, and that statements which only run do not matter.
func TestLockNotGranted(t *testing.T) {
	server := testkit.NewMariaDB(t, testkit.MariaDBConfig{})
	database := server.NewDatabase(t)
	database.Exec(t, "CREATE TABLE t (i int PRIMARY KEY) ENGINE InnoDB; INSERT INTO t VALUES (1)")
	impatient := read.Config{Connections: 3, LockWait: 50 * time.Millisecond}
	for name, test := range map[string]struct {
		held    string
		without bool // stages
	}{
		"Backup":    {held: "BACKUP STAGE START"},
		"TableLock": {held: "LOCK TABLES t WRITE", without: true},
	} {
		t.Run(name, func(t *testing.T) {
			if test.without {
				read.WithoutStages(t)
			} else {
				testkit.NeedsMariaDB(t, test.held)
			}
			release := hold(t, database, test.held)
			db := expectAlone(t, impatient, database.URL(), "was not to be had within 50ms")
			release()
			database.Exec(t, "INSERT INTO t SELECT MAX(i) + 1 FROM t")
			expectRows(t, query(t, db, "SELECT 1"), 1)
		})
	}
	t.Run("Busy", func(t *testing.T) {
		read.WithoutStages(t)
		ended := make(chan error)
		go func() { ended <- database.Try("SELECT SLEEP(3600) FROM t LIMIT 1") }()
		testkit.WaitFor(t, "a statement to run for a second", func() bool {
			return database.Query(t, "SELECT COUNT(*) FROM information_schema.PROCESSLIST"+
				" WHERE INFO LIKE 'SELECT SLEEP%' AND TIME > 0")[0][0] != "0"
		})
		db := expectAlone(t, impatient, database.URL(), "a statement has been running for ")
		expectRows(t, query(t, db, "SELECT 1 FROM t LIMIT 1"), 1)
		for _, row := range database.Query(t, "SELECT ID FROM information_schema.PROCESSLIST"+
			" WHERE INFO LIKE 'SELECT SLEEP%'") {
			database.Exec(t, "KILL QUERY "+row[0])
		}
		if err := <-ended; err != nil {
			t.Log(err) // it may have slept less, or not
		}
	})
	t.Run("Open", func(t *testing.T) {
		release := hold(t, database, "UPDATE t SET i = i + 100")
		defer release()
		db := openTogether(t, database.URL(), 3)
		if beside, fewer := db.Beside(2); len(beside) != 2 {
			t.Error("a transaction that is not committed keeps the lock away:", fewer)
		} else {
			closeSources(t, beside)
		}
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
}

func closeSources(t *testing.T, all []source.Source) {
	t.Helper()
	for _, src := range all {
		if err := src.Close(); err != nil {
			t.Error(err)
		}
	}
}

// TestLockKilled kills the connection that holds the lock, so that another transaction comes between.
func TestLockKilled(t *testing.T) {
	server := testkit.NewMariaDB(t, testkit.MariaDBConfig{})
	database := server.NewDatabase(t)
	database.Exec(t, "CREATE TABLE t (i int PRIMARY KEY) ENGINE InnoDB")
	read.UnderLock(t, func(_ context.Context, connection int64) {
		database.Exec(t, fmt.Sprintf("KILL %d", connection))
		// Both wait until the server has taken the lock back.
		database.Exec(t, "INSERT INTO t VALUES (1); ALTER TABLE t ADD COLUMN c int")
	})
	db := expectAlone(t, read.Config{Connections: 3, LockWait: patience}, database.URL(), "not to be had")
	expectRows(t, query(t, db, "SELECT * FROM t"), 1)
	expectIdle(t, database, 1)
}

// TestLockHeldTooLong has the time end while the lock is held.
func TestLockHeldTooLong(t *testing.T) {
	server := testkit.NewMariaDB(t, testkit.MariaDBConfig{})
	database := server.NewDatabase(t)
	database.Exec(t, "CREATE TABLE t (i int PRIMARY KEY) ENGINE InnoDB")
	config := read.Config{Connections: 3, LockWait: time.Second}
	read.UnderLock(t, func(ctx context.Context, _ int64) { <-ctx.Done() })
	db := expectAlone(t, config, database.URL(), "was not to be had within 1s")
	database.Exec(t, "INSERT INTO t VALUES (1)")
	expectRows(t, query(t, db, "SELECT * FROM t"), 0)
	expectIdle(t, database, 1)
}

// TestLockCanceled ends the context while the lock is waited for.
func TestLockCanceled(t *testing.T) {
	testkit.NeedsMariaDB(t, "BACKUP STAGE")
	server := testkit.NewMariaDB(t, testkit.MariaDBConfig{})
	database := server.NewDatabase(t)
	release := hold(t, database, "BACKUP STAGE START")
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		testkit.WaitFor(t, "the lock to be waited for", func() bool {
			return database.Query(t, "SELECT COUNT(*) FROM information_schema.PROCESSLIST"+
				" WHERE INFO LIKE 'BACKUP STAGE%'")[0][0] != "0"
		})
		cancel()
	}()
	_, err := read.Config{Connections: 2, LockWait: patience}.Open(ctx, database.URL())
	if !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	expectIdle(t, database, 1)
	release()
}

// TestLockPrivilege opens a database as a user who may only read it.
func TestLockPrivilege(t *testing.T) {
	database := testkit.MariaDB(t).NewDatabase(t)
	reader := "reader_" + database.Name
	database.Exec(t, "CREATE TABLE t (i int PRIMARY KEY); INSERT INTO t VALUES (1); CREATE USER "+reader+
		"; GRANT SELECT ON "+database.Name+".* TO "+reader)
	t.Cleanup(func() { database.Exec(t, "DROP USER "+reader) })
	address := strings.Replace(database.URL(), "root@", reader+"@", 1)
	several := read.Config{Connections: 2, LockWait: patience}
	db := expectAlone(t, several, address, "GRANT RELOAD ON *.* TO `"+reader+"`@`%`")
	expectRows(t, table(t, db, "t"), 1)
	database.Exec(t, "GRANT RELOAD ON *.* TO "+reader)
	granted, err := several.Open(t.Context(), address)
	if err != nil {
		t.Fatal(err)
	}
	if moment := granted.Moment(); moment.Connections != 2 {
		t.Errorf("with the right to it: %+v", moment)
	}
	if err := granted.Close(); err != nil {
		t.Error(err)
	}
}

// TestTooManyConnections opens a database whose server takes one more connection, which is not enough for the lock.
func TestTooManyConnections(t *testing.T) {
	server := testkit.NewMariaDB(t, testkit.MariaDBConfig{Options: []string{"--max-connections=10"}})
	database := server.NewDatabase(t)
	database.Exec(t, "CREATE TABLE t (i int PRIMARY KEY)")
	var all []*read.DB
	for range 9 { // root may have one connection more than others
		all = append(all, openAgain(t, database.URL()))
	}
	db := expectAlone(t, read.Config{Connections: 16, LockWait: patience}, database.URL(), "no more connections")
	expectRows(t, table(t, db, "t"), 0)
	closeNow(t, all...)
}

func closeNow(t *testing.T, all ...*read.DB) {
	t.Helper()
	for _, db := range all {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	}
}

// TestDivideLocked divides a table that another session waits to change, as long as the first one reads.
func TestDivideLocked(t *testing.T) {
	read.SetBesideTimeout(t, 1)
	database := testkit.MariaDB(t).NewDatabase(t)
	database.Exec(t, "CREATE TABLE t (i int PRIMARY KEY, fill text) AS SELECT seq AS i, REPEAT('x', 100) AS fill"+
		" FROM seq_1_to_60000; ANALYZE TABLE t")
	db := openTogether(t, database.URL(), 3)
	rows := table(t, db, "t")
	altered := make(chan error)
	go func() { altered <- database.Try("ALTER TABLE t ADD COLUMN c int") }()
	testkit.WaitFor(t, "the change to wait", func() bool {
		return database.Query(t, "SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE DB = DATABASE()"+
			" AND STATE LIKE 'Waiting for table%'")[0][0] != "0"
	})
	all, err := rows.(source.Divider).Divide(3)
	fewer, is := errors.AsType[*source.IndivisibleError](err)
	if !is || len(all) != 0 || !errors.Is(err, source.ErrLocked) || !strings.Contains(fewer.Reason, "locked it") {
		t.Fatalf("%d readers, %v", len(all), err)
	}
	beside, _ := db.Beside(1)
	if one, err := beside[0].Table(t.Context(), "t"); !errors.Is(err, source.ErrLocked) {
		t.Errorf("beside the first: %v, %v", one, err)
	}
	closeSources(t, beside)
	expectRows(t, rows, 60_000)
	closeNow(t, db)
	if err := <-altered; err != nil {
		t.Error(err)
	}
}

// TestDivideAltered reads a table that was changed after the snapshot.
func TestDivideAltered(t *testing.T) {
	database := testkit.MariaDB(t).NewDatabase(t)
	database.Exec(t, "CREATE TABLE t (i int PRIMARY KEY, fill text) AS SELECT seq AS i, REPEAT('x', 100) AS fill"+
		" FROM seq_1_to_60000")
	db := openTogether(t, database.URL(), 2)
	database.Exec(t, "ALTER TABLE t DROP PRIMARY KEY, ADD PRIMARY KEY (i), ALGORITHM = COPY; ANALYZE TABLE t")
	rows, err := db.Table(t.Context(), "t")
	if err == nil {
		all, divideErr := rows.(source.Divider).Divide(2)
		if divideErr != nil {
			all = []source.Rows{rows}
		}
		for _, one := range all {
			if _, err = drain(one); err != io.EOF {
				break
			}
		}
	}
	if err == nil || err == io.EOF || !strings.Contains(err.Error(), "Table definition has changed") {
		t.Error("a table that was rewritten after the snapshot:", err)
	}
	closeNow(t, db)
}
