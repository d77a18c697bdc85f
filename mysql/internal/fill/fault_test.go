package fill_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"culvert/internal/testkit"
	"culvert/mysql/internal/fill"
	"culvert/sink"
	"culvert/source"
)

// TestServerEnds has the server, or the connection, end while a table is filled.
func TestServerEnds(t *testing.T) {
	server := testkit.NewMariaDB(t, testkit.MariaDBConfig{})
	database := server.NewDatabase(t)
	database.Exec(t, "CREATE TABLE t (a int, b longtext) ENGINE=InnoDB")
	leaks := goleak.IgnoreCurrent()
	for name, end := range map[string]func(testing.TB){
		"Kill": server.Kill,
		"Stop": server.Stop,
		"KILL": func(tb testing.TB) {
			database.KillOthers(tb)
		},
	} {
		t.Run(name, func(t *testing.T) {
			db, err := fill.Open(context.Background(), database.URL())
			if err != nil {
				t.Fatal(err)
			}
			table, loader := begin(t, db, sink.Filling{})
			rows := texts("1 "+strings.Repeat("x", 3<<20), "2 "+strings.Repeat("y", 3<<20))
			if err := loader.Load(rows); err != nil {
				t.Fatal(err)
			}
			end(t)
			if err = loader.Load(rows); err == nil {
				_, err = loader.Close()
			}
			if !errors.Is(err, source.ErrUnavailable) || strings.Contains(err.Error(), "\n") {
				t.Errorf("the error is %v", err)
			}
			if err := errors.Join(table.Discard(), table.Discard()); err != nil {
				t.Error(err)
			}
			if _, err := db.Table(context.Background(), "t", sink.Filling{}); !errors.Is(err, source.ErrUnavailable) {
				t.Errorf("Table afterwards: %v", err)
			}
			if err := errors.Join(db.Close(), db.Close()); err != nil {
				t.Error(err)
			}
			if name != "KILL" {
				server.Start(t)
			}
			expect(t, database, "SELECT COUNT(*) FROM t", "0")
		})
	}
	goleak.VerifyNone(t, leaks)
}

// TestCanceledStatement ends the context while the server waits for a lock. The statement ends on the server too.
func TestCanceledStatement(t *testing.T) {
	database := testkit.MariaDB(t).NewDatabase(t)
	database.Exec(t, "CREATE TABLE u (a int PRIMARY KEY) ENGINE=InnoDB; INSERT INTO u VALUES (1)")
	locker := newWriter(t, database, "UPDATE u SET a = 5")
	defer locker.end(t)
	db := open(t, database)
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() {
		_, err := db.Table(ctx, "u", sink.Filling{Existing: sink.Truncate, LockTimeout: time.Hour})
		ended <- err
	}()
	const running = "SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE DB = DATABASE() AND INFO LIKE 'DELETE%'"
	testkit.WaitFor(t, "the statement", func() bool { return database.Query(t, running)[0][0] == "1" })
	cancel()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("Table: %v", err)
	}
	testkit.WaitFor(t, "the end of the statement", func() bool { return database.Query(t, running)[0][0] == "0" })
}

// writer is another client that has written into a table, and not committed.
type writer struct {
	cancel func()
	ended  chan struct{}
}

// newWriter runs a statement in a transaction of the database, which holds its locks until end is called.
func newWriter(t *testing.T, database *testkit.MariaDBDatabase, sql string) *writer {
	t.Helper()
	name := fmt.Sprintf("held%d", time.Now().UnixNano())
	w := &writer{ended: make(chan struct{})}
	w.cancel = func() {
		database.Exec(t, "KILL QUERY "+database.Query(t, `SELECT ID FROM information_schema.PROCESSLIST
			WHERE INFO LIKE 'DO SLEEP(3600) /* `+name+` */'`)[0][0])
	}
	go func() {
		defer close(w.ended)
		database.Client(t, "--execute", "BEGIN; "+sql+"; DO SLEEP(3600) /* "+name+" */", "--force", "--comments")
	}()
	testkit.WaitFor(t, "the other client", func() bool {
		return len(database.Query(t, `SELECT 1 FROM information_schema.PROCESSLIST
			WHERE INFO LIKE 'DO SLEEP(3600) /* `+name+` */'`)) == 1
	})
	return w
}

func (w *writer) end(t *testing.T) {
	t.Helper()
	w.cancel()
	<-w.ended
}

// TestLocked fills tables that others have locked.
func TestLocked(t *testing.T) {
	bothWays(t, func(t *testing.T, database *testkit.MariaDBDatabase) {
		database.Exec(t, "CREATE TABLE t (a int PRIMARY KEY) ENGINE=InnoDB")
		db := open(t, database)
		other := newWriter(t, database, "INSERT INTO t VALUES (1)")
		_, err := db.Table(context.Background(), "t", sink.Filling{LockTimeout: 1})
		if !errors.Is(err, sink.ErrLocked) {
			t.Errorf("a table into which another client writes: %v", err)
		}
		filling := sink.Filling{Existing: sink.Append, LockTimeout: 1}
		if err := fillRows(t, db, filling, "2", "1"); !errors.Is(err, sink.ErrLocked) {
			t.Errorf("a key that another client adds: %v", err)
		}
		if err := fillRows(t, db, filling, "2", "3"); err != nil {
			t.Errorf("other keys: %v", err)
		}
		other.end(t)
		expect(t, database, "SELECT * FROM t", "2", "3")

		other = newWriter(t, database, "LOCK TABLES t WRITE")
		if _, err := db.Table(context.Background(), "t", filling); !errors.Is(err, sink.ErrLocked) {
			t.Errorf("a table that is locked: %v", err)
		}
		other.end(t)
	})
}

// TestEmptyStaysEmpty has another client write into a table that must be empty. It waits.
func TestEmptyStaysEmpty(t *testing.T) {
	testkit.NeedsMariaDB(t, "blocks outside of procedures")
	database := testkit.MariaDB(t).NewDatabase(t)
	database.Exec(t, "CREATE TABLE t (a int PRIMARY KEY) ENGINE=InnoDB")
	table, loader := begin(t, open(t, database), sink.Filling{})
	const refused = "SET innodb_lock_wait_timeout = 0; BEGIN NOT ATOMIC DECLARE CONTINUE HANDLER FOR 1205 " +
		"SELECT 'locked'; INSERT INTO t VALUES (7); END"
	for _, row := range []string{"1", "9"} {
		output := database.Client(t, "--skip-column-names", "--delimiter=//", "--execute", refused)
		if !bytes.Contains(output, []byte("locked")) {
			t.Errorf("another client writes: %q", output)
		}
		if err := loader.Load(texts(row)); err != nil {
			t.Fatal(err)
		}
		if _, err := loader.Flush(); err != nil {
			t.Fatal(err)
		}
	}
	if rows, sum, err := loader.Sum(); err != nil || rows != 2 {
		t.Errorf("Sum: %d rows, %v, %v", rows, sum, err)
	}
	if _, err := loader.Close(); err != nil {
		t.Fatal(err)
	}
	if err := table.Commit(); err != nil {
		t.Fatal(err)
	}
	expect(t, database, "SELECT * FROM t", "1", "9")
}

// TestLedgerOfSeveral fills two tables at once with one ledger, one of them anew.
func TestLedgerOfSeveral(t *testing.T) {
	database := testkit.MariaDB(t).NewDatabase(t)
	database.Exec(t, "CREATE TABLE t (a int) ENGINE=InnoDB; CREATE TABLE u (a int) ENGINE=InnoDB")
	ledger := &sink.Ledger{Table: database.Name + "_l.loads", Load: "one"}
	filling := sink.Filling{Existing: sink.Truncate, Ledger: ledger}
	t.Cleanup(func() { database.Exec(t, "DROP DATABASE "+database.Name+"_l") })
	db := open(t, database)
	clone, err := db.Clone(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		var tables []sink.Table
		for name, db := range map[string]sink.Sink{"t": db, "u": clone} {
			table, err := db.Table(context.Background(), name, filling)
			if err != nil {
				t.Fatal(err)
			}
			loader := table.Loaders()[0]
			err = errors.Join(loader.Load(texts("1")), loader.EndPart(sink.Part{Name: "p", Rows: 1, Sum: "s"}))
			if _, closeErr := loader.Close(); err != nil || closeErr != nil {
				t.Fatal(err, closeErr)
			}
			tables = append(tables, table)
		}
		for _, table := range tables {
			if err := table.Commit(); err != nil {
				t.Fatal(err)
			}
		}
		filling.Ledger.Load = "two" // removes what the ledger has of the first
	}
	if err := clone.Close(); err != nil {
		t.Fatal(err)
	}
	expect(t, database, "SELECT table_name, part, `load`, row_count FROM "+filling.Ledger.Table+" ORDER BY 1",
		database.Name+".t p two 1", database.Name+".u p two 1")
	expect(t, database, "SELECT COUNT(*) FROM t", "1")
}

// TestLedgerWithoutTransactions has a ledger whose rows would stay when those of the table are undone.
func TestLedgerWithoutTransactions(t *testing.T) {
	database := testkit.MariaDB(t).NewDatabase(t)
	database.Exec(t, "CREATE TABLE t (a int) ENGINE=InnoDB")
	db := open(t, database)
	for _, name := range []string{"loads", database.Name + ".loads"} {
		filling := sink.Filling{Ledger: &sink.Ledger{Table: name, Load: "one"}}
		database.Exec(t, "CREATE OR REPLACE TABLE loads (`load` varchar(99), table_name varchar(99), part varchar(99),"+
			" row_count bigint, row_sum varchar(64), loaded_at timestamp) ENGINE=MyISAM")
		_, err := db.Table(context.Background(), "t", filling)
		if err == nil || !strings.Contains(err.Error(), "MyISAM") {
			t.Errorf("the ledger %s without transactions: %v", name, err)
		}
	}
}

// TestTruncateGoesOn repeats a load that removes rows. What it has committed stays, and another load removes that.
func TestTruncateGoesOn(t *testing.T) {
	database := testkit.MariaDB(t).NewDatabase(t)
	database.Exec(t, "CREATE TABLE t (a int) ENGINE=InnoDB; INSERT INTO t VALUES (9)")
	db := open(t, database)
	for _, test := range []struct {
		load, row string
		loaded    int
		want      []string
	}{
		{"one", "1", 0, []string{"1"}}, {"one", "2", 1, []string{"1", "2"}}, {"two", "3", 0, []string{"3"}},
	} {
		table, loader := begin(t, db, sink.Filling{
			Existing: sink.Truncate, Ledger: &sink.Ledger{Table: "ledger", Load: test.load},
		})
		if got := len(table.Loaded()); got != test.loaded {
			t.Errorf("load %s: %d parts are loaded, want %d", test.load, got, test.loaded)
		}
		err := errors.Join(loader.Load(texts(test.row)), loader.EndPart(sink.Part{Name: test.row, Rows: 1}))
		if _, closeErr := loader.Close(); err != nil || closeErr != nil {
			t.Fatal(err, closeErr)
		}
		if err := table.Commit(); err != nil {
			t.Fatal(err)
		}
		expect(t, database, "SELECT a FROM t ORDER BY a", test.want...)
	}
}

// TestRowsOfAllSizes sends rows around the size of a piece, and one that the server does not accept in a statement.
func TestRowsOfAllSizes(t *testing.T) {
	for way, config := range ways {
		t.Run(way, func(t *testing.T) {
			config.Options = append(config.Options, "--max-allowed-packet=2M")
			database := testkit.NewMariaDB(t, config).NewDatabase(t)
			database.Exec(t, "CREATE TABLE t (a int, b longtext) ENGINE=InnoDB")
			var rows []string
			for i, size := range []int{1, 1 << 20, 1<<20 - 50, 1 << 19, 1 << 19, 100, 1<<20 + 1<<19, 1, 3} {
				rows = append(rows, fmt.Sprintf("%d %s", i, strings.Repeat("x", size)))
			}
			db := open(t, database)
			if err := fillRows(t, db, sink.Filling{}, rows...); err != nil {
				t.Fatal(err)
			}
			expect(t, database, "SELECT COUNT(*), SUM(LENGTH(b)) FROM t", "9 4718647")
			err := fillRows(t, db, sink.Filling{Existing: sink.Append}, "1 x", "2 "+strings.Repeat("x", 3<<20))
			refused, ok := errors.AsType[*sink.RowError](err)
			if way == "INSERT" && (!ok || refused.Row != 2 || !strings.Contains(err.Error(), "max_allowed_packet")) {
				t.Errorf("a row that is too large: %v", err)
			}
			if way != "INSERT" && err != nil {
				t.Errorf("a row that is larger than a statement: %v", err)
			}
		})
	}
}

// TestSessionIsStrict loads into a server whose settings would change values, or refuse statements.
func TestSessionIsStrict(t *testing.T) {
	testkit.NeedsMariaDB(t, "these SQL modes")
	database := testkit.NewMariaDB(t, testkit.MariaDBConfig{Options: []string{
		"--sql-mode=ANSI,NO_BACKSLASH_ESCAPES,NO_ZERO_DATE,EMPTY_STRING_IS_NULL", "--default-time-zone=+05:30",
		"--completion-type=CHAIN", "--max-error-count=0", "--autocommit=0",
		"--lc-messages=de_DE", "--transaction-isolation=READ-UNCOMMITTED", "--default-storage-engine=MyISAM",
		"--character-set-server=latin1", "--lower-case-table-names=1",
	}}).NewDatabase(t)
	database.Exec(t, `CREATE TABLE t (a int PRIMARY KEY AUTO_INCREMENT, b varchar(9) CHARACTER SET utf8mb4,
		c timestamp NULL, d date) ENGINE=InnoDB; COMMIT`)
	db := open(t, database)
	const rows = "0,a\\'b,1970-01-02 00:00:00,0000-00-00\n"
	filling := sink.Filling{Ledger: &sink.Ledger{Table: "LEDGER", Load: "x"}}
	table, err := db.Table(context.Background(), "T", filling)
	if err != nil {
		t.Fatal(err)
	}
	loader := table.Loaders()[0]
	if err := loader.Load(texts(`0 a\'b 1970-01-02T00:00:00Z 0000-00-00`)); err != nil {
		t.Fatal(err)
	}
	_, _, want := sumOf(rows)
	if n, sum, err := loader.Sum(); n != 1 || sum != want || err != nil {
		t.Errorf("Sum: %d rows, %v, %v, want %v", n, sum, err, want)
	}
	if err := loader.EndPart(sink.Part{Name: "p", Rows: 1}); err != nil {
		t.Fatal(err)
	}
	if _, err := loader.Close(); err != nil {
		t.Fatal(err)
	}
	if err := table.Commit(); err != nil {
		t.Fatal(err)
	}
	if text, _ := export(t, database, "t"); string(text) != rows {
		t.Errorf("the table has %q", text)
	}
	if err := fillRows(t, db, sink.Filling{Existing: sink.Append}, "5 toolongtoolong - -"); err == nil {
		t.Error("a value that is too long is accepted")
	}
	again, err := db.Table(context.Background(), "t", filling) // with a ledger that is named in other letters
	if err != nil {
		t.Fatal(err)
	}
	if err := again.Discard(); err != nil {
		t.Error(err)
	}
	if err := db.Analyze(context.Background(), "t", sink.Filling{}); err != nil {
		t.Error(err)
	}
}
