package fill_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"culvert/internal/testkit"
	"culvert/mysql/internal/fill"
	"culvert/sink"
	"culvert/source"
)

// several begins to fill table t by several connections.
func several(t *testing.T, db *fill.DB, f sink.Filling, n int) (sink.Table, []sink.Loader) {
	t.Helper()
	f.Loaders = n
	table, err := db.Table(context.Background(), "t", f)
	if err != nil {
		t.Fatal(err)
	}
	if got := len(table.Loaders()); got != n {
		t.Fatalf("there are %d loaders because %q", got, table.(sink.Limited).Alone())
	}
	return table, table.Loaders()
}

// loadEach loads a row by each loader.
func loadEach(t *testing.T, loaders []sink.Loader) {
	t.Helper()
	for i, loader := range loaders {
		err := loader.Load(texts(fmt.Sprint(i + 1)))
		if err == nil {
			_, err = loader.Close()
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// TestSeveralAlone plans and begins fillings that one connection must do, and compares the reasons.
func TestSeveralAlone(t *testing.T) {
	database := testkit.MariaDB(t).NewDatabase(t)
	for _, test := range []struct {
		name, table, reason string
		filling             sink.Filling
	}{
		{"append", "a int", "one transaction", sink.Filling{Existing: sink.Append}},
		{
			"conflict", "a int PRIMARY KEY", "one transaction",
			sink.Filling{Existing: sink.Append, Conflict: sink.Ignore},
		},
		{
			"truncate", "a int PRIMARY KEY); INSERT INTO t VALUES (1", "one transaction",
			sink.Filling{Existing: sink.Truncate},
		},
		{"itself", "a int PRIMARY KEY, b int REFERENCES t (a)", "refer to each other", sink.Filling{}},
		{"numbered", "a int AUTO_INCREMENT PRIMARY KEY", "innodb_autoinc_lock_mode", sink.Filling{}},
		{"no key", "a int UNIQUE", "no primary key", sink.Filling{}},
		{"spatial", "a int PRIMARY KEY, b point NOT NULL, SPATIAL KEY (b)", "spatial", sink.Filling{}},
		{
			"triggers", "a int PRIMARY KEY); CREATE TRIGGER r BEFORE INSERT ON t FOR EACH ROW SET @a = (1",
			"triggers",
			sink.Filling{},
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			if test.name == "numbered" {
				testkit.NeedsMariaDB(t, "such a default of innodb_autoinc_lock_mode")
			}
			database.Exec(t, "DROP TABLE IF EXISTS t; CREATE TABLE t ("+test.table+")")
			db := open(t, database)
			test.filling.Loaders = 3
			plan, err := db.Plan(context.Background(), "t", test.filling)
			if err != nil || plan.Loaders != 1 || !strings.Contains(plan.Alone, test.reason) {
				t.Errorf("the plan has %d loaders because %q: %v", plan.Loaders, plan.Alone, err)
			}
			table, _ := begin(t, db, test.filling)
			if alone := table.(sink.Limited).Alone(); len(table.Loaders()) != 1 || alone != plan.Alone {
				t.Errorf("there are %d loaders because %q", len(table.Loaders()), alone)
			}
		})
	}
}

// TestSeveralFew fills a table by as many connections as the server accepts of a user.
func TestSeveralFew(t *testing.T) {
	database := testkit.MariaDB(t).NewDatabase(t)
	database.Exec(t, "CREATE TABLE t (a int PRIMARY KEY) ENGINE=InnoDB")
	user := database.Name + "_few"
	database.Exec(t, "CREATE USER "+user+" WITH MAX_USER_CONNECTIONS 2; GRANT ALL ON "+database.Name+".* TO "+user)
	t.Cleanup(func() { database.Exec(t, "DROP USER "+user) })
	db := openURL(t, strings.Replace(database.URL(), "root@", user+"@", 1))
	table, err := db.Table(context.Background(), "t", sink.Filling{Loaders: 4})
	if err != nil {
		t.Fatal(err)
	}
	alone := table.(sink.Limited).Alone()
	if len(table.Loaders()) != 2 || !strings.Contains(alone, "no more connections") {
		t.Errorf("there are %d loaders because %q", len(table.Loaders()), alone)
	}
	loadEach(t, table.Loaders())
	if err := table.Commit(); err != nil {
		t.Fatal(err)
	}
	expect(t, database, "SELECT COUNT(*) FROM t", "2")
}

// TestSeveralCommitLost loses a connection while it commits. If the commit has not arrived, the rows that others have
// committed are deleted again, with what the ledger has of them; otherwise the error says what remains, unless the
// ledger tells that all is well.
func TestSeveralCommitLost(t *testing.T) {
	fill.ShortenGrace(t)
	server := testkit.MariaDB(t)
	ledger := &sink.Ledger{Table: "ledger", Load: "x"}
	for name, test := range map[string]struct {
		due     int32 // the commit
		passOn  bool
		filling sink.Filling
		rows    string // that remain
		want    error
	}{
		"second":       {2, false, sink.Filling{}, "0", source.ErrUnavailable},
		"first, there": {1, true, sink.Filling{}, "1", sink.ErrUnconfirmed},
		"last, there":  {3, true, sink.Filling{}, "3", sink.ErrUnconfirmed},
		"ledger":       {2, false, sink.Filling{Ledger: ledger}, "0", source.ErrUnavailable},
		"ledger knows": {3, true, sink.Filling{Ledger: ledger}, "3", nil},
		"cleared":      {3, false, sink.Filling{Existing: sink.Truncate}, "0", source.ErrUnavailable},
	} {
		t.Run(name, func(t *testing.T) {
			database := server.NewDatabase(t)
			database.Exec(t, "CREATE TABLE t (a int PRIMARY KEY) ENGINE=InnoDB")
			c := newCutter(t, server)
			c.PassOn = test.passOn
			db := openURL(t, cutURL(c, database))
			table, loaders := several(t, db, test.filling, 3)
			for i, loader := range loaders {
				err := loader.Load(texts(fmt.Sprint(i)))
				if err == nil {
					err = loader.EndPart(sink.Part{Name: fmt.Sprint(i), Rows: 1})
				}
				if err == nil {
					_, err = loader.Close()
				}
				if err != nil {
					t.Fatal(err)
				}
			}
			c.Due.Store(test.due)
			err := table.Commit()
			if !errors.Is(err, test.want) || (err == nil) != (test.want == nil) ||
				errors.Is(err, sink.ErrUnconfirmed) != (test.want == sink.ErrUnconfirmed) {
				t.Errorf("the commit: %v, want %v", err, test.want)
			}
			expect(t, database, "SELECT COUNT(*) FROM t", test.rows)
			if test.filling.Ledger != nil {
				expect(t, database, "SELECT COUNT(*) FROM ledger", test.rows)
			}
		})
	}
}

// TestSeveralOthers has somebody else add a row while the connections of a load commit, one of which is lost. That row
// is not deleted, and the error says that some remain.
func TestSeveralOthers(t *testing.T) {
	fill.ShortenGrace(t)
	server := testkit.MariaDB(t)
	database := server.NewDatabase(t)
	database.Exec(t, "CREATE TABLE t (a int PRIMARY KEY) ENGINE=InnoDB")
	c := newCutter(t, server)
	table, loaders := several(t, openURL(t, cutURL(c, database)), sink.Filling{}, 2)
	loadEach(t, loaders)
	database.Exec(t, "INSERT INTO t VALUES (77)")
	c.Due.Store(2)
	if err := table.Commit(); err == nil || !strings.Contains(err.Error(), "which cannot be deleted") {
		t.Errorf("the commit: %v", err)
	}
	expect(t, database, "SELECT COUNT(*) FROM t WHERE a = 77", "1")
}

// TestSeveralParts loads parts by two connections, of which the server ends one. The same load goes on with what is
// missing.
func TestSeveralParts(t *testing.T) {
	database := testkit.MariaDB(t).NewDatabase(t)
	database.Exec(t, "CREATE TABLE t (a int PRIMARY KEY) ENGINE=InnoDB; INSERT INTO t VALUES (9)")
	filling := sink.Filling{
		Ledger: &sink.Ledger{Table: "ledger", Load: "x"}, EachPart: true, Existing: sink.Truncate,
	}
	table, loaders := several(t, open(t, database), filling, 2)
	if err := loaders[1].Load(texts("2")); err != nil {
		t.Fatal(err)
	}
	if err := loaders[1].EndPart(sink.Part{Name: "b", Rows: 1}); err != nil {
		t.Fatal(err)
	}
	expect(t, database, "SELECT a FROM t", "2") // at once, and what was there is gone
	if err := loaders[0].Load(texts("1")); err != nil {
		t.Fatal(err)
	}
	database.KillOthers(t)
	if err := loaders[0].EndPart(sink.Part{Name: "a", Rows: 1}); !errors.Is(err, source.ErrUnavailable) {
		t.Errorf("the end of a part: %v", err)
	}
	if err := table.Discard(); err != nil {
		t.Error(err)
	}

	table, loaders = several(t, open(t, database), filling, 2)
	if loaded := table.Loaded(); len(loaded) != 1 || loaded[0].Name != "b" {
		t.Fatalf("the ledger has %v", loaded)
	}
	if err := loaders[1].Load(texts("1")); err != nil {
		t.Fatal(err)
	}
	if err := loaders[1].EndPart(sink.Part{Name: "a", Rows: 1}); err != nil {
		t.Fatal(err)
	}
	for _, loader := range loaders {
		if _, err := loader.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if err := table.Commit(); err != nil {
		t.Fatal(err)
	}
	expect(t, database, "SELECT GROUP_CONCAT(a ORDER BY a) FROM t", "1,2")
}

// TestSeveralCreate makes a table that several connections fill. If one is lost while it commits, the table is dropped.
func TestSeveralCreate(t *testing.T) {
	fill.ShortenGrace(t)
	server := testkit.MariaDB(t)
	database := server.NewDatabase(t)
	filling := sink.Filling{Create: &source.Definition{
		Dialect: source.MariaDB, Name: "t",
		Create:  "CREATE TABLE `t` (\n  `a` int(11) NOT NULL,\n  PRIMARY KEY (`a`)\n)",
		Columns: []source.ColumnDefinition{{Name: "a", Type: "int(11)"}},
	}}
	c := newCutter(t, server)
	table, loaders := several(t, openURL(t, cutURL(c, database)), filling, 2)
	loadEach(t, loaders)
	c.Due.Store(2)
	if err := table.Commit(); !errors.Is(err, source.ErrUnavailable) {
		t.Errorf("the commit: %v", err)
	}
	expect(t, database, "SELECT COUNT(*) FROM information_schema.TABLES WHERE TABLE_SCHEMA = DATABASE()", "0")

	table, loaders = several(t, open(t, database), filling, 2)
	loadEach(t, loaders)
	if err := table.Commit(); err != nil {
		t.Fatal(err)
	}
	expect(t, database, "SELECT COUNT(*) FROM t", "2")
}
