package fill_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"culvert/internal/testkit"
	"culvert/mysql/internal/fill"
	mysqlsource "culvert/mysql/internal/read"
	"culvert/sink"
	"culvert/source"
)

// define returns the definition of a table.
func define(t *testing.T, database *testkit.MariaDBDatabase, name string) *source.Definition {
	t.Helper()
	src, err := mysqlsource.Open(context.Background(), database.URL())
	if err != nil {
		t.Fatal(err)
	}
	d, err := src.Define(context.Background(), name)
	if err = errors.Join(err, src.Close()); err != nil {
		t.Fatal(err)
	}
	return d
}

// TestCreate makes tables that are defined as before, and removes those whose rows are not committed.
func TestCreate(t *testing.T) {
	server := testkit.MariaDB(t)
	from, to := server.NewDatabase(t), server.NewDatabase(t)
	from.Exec(t, "CREATE TABLE p (id int PRIMARY KEY)")
	from.Exec(t, `CREATE TABLE t (a int AUTO_INCREMENT PRIMARY KEY, b varchar(9) DEFAULT 'x,''y', c int AS (a + 1),
		d json, KEY (b), CONSTRAINT small CHECK (b <> 'z'), CONSTRAINT first FOREIGN KEY (a) REFERENCES p (id),
		CONSTRAINT second FOREIGN KEY (a) REFERENCES p (id)) AUTO_INCREMENT = 30`)
	db := open(t, to)
	filling := sink.Filling{Create: define(t, from, "t"), Ledger: &sink.Ledger{Table: "loads", Load: "one"}}
	name := from.Name + ".t" // as in a manifest
	for _, end := range []func(table sink.Table) error{
		sink.Table.Discard,
		func(sink.Table) error {
			to.KillOthers(t)
			return nil
		},
	} {
		table, err := db.Table(context.Background(), name, filling)
		if err != nil {
			t.Fatal(err)
		}
		if err := table.Loaders()[0].Load(texts("1 - {}")); err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(end(table), table.Discard()); err != nil {
			t.Error(err)
		}
		expect(t, to, "SHOW TABLES", "loads")
	}

	db = open(t, to)
	plan, err := db.Plan(context.Background(), name, filling)
	if err != nil || plan.Exists || len(plan.Columns) != 3 || strings.Contains(plan.Steps[1], "FOREIGN") {
		t.Errorf("%+v, %v", plan, err)
	}
	table, err := db.Table(context.Background(), name, filling)
	if err != nil {
		t.Fatal(err)
	}
	loader := table.Loaders()[0]
	err = errors.Join(loader.Load(texts("1 - {}")), loader.EndPart(sink.Part{Name: "p", Rows: 1}))
	if _, closeErr := loader.Close(); err != nil || closeErr != nil {
		t.Fatal(err, closeErr)
	}
	if err := table.Commit(); err != nil {
		t.Fatal(err)
	}
	to.Exec(t, "CREATE TABLE p (id int PRIMARY KEY); INSERT INTO p VALUES (1)")
	for range 2 {
		if err := db.Finish(context.Background(), name, filling); err != nil {
			t.Fatal(err)
		}
	}
	want, got := define(t, from, "t"), define(t, to, "t")
	if got.Create != want.Create {
		t.Errorf("the table is %s\nwant %s", got.Create, want.Create)
	}
	_, err = db.Plan(context.Background(), name, sink.Filling{Create: filling.Create})
	if !errors.Is(err, sink.ErrExists) {
		t.Errorf("a table that exists: %v", err)
	}
	table, err = db.Table(context.Background(), name, filling) // goes on
	if err != nil || len(table.Loaded()) != 1 {
		t.Fatal(err)
	}
	if err := table.Discard(); err != nil {
		t.Fatal(err)
	}
	expect(t, to, "SELECT a, c FROM t", "1 2")
}

// TestFinishRefused adds a foreign key that rows violate. What the filling says holds for that, and for statistics.
func TestFinishRefused(t *testing.T) {
	server := testkit.MariaDB(t)
	from, to := server.NewDatabase(t), server.NewDatabase(t)
	from.Exec(t, "CREATE TABLE p (id int PRIMARY KEY)")
	from.Exec(t, "CREATE TABLE t (a int, CONSTRAINT k FOREIGN KEY (a) REFERENCES p (id))")
	to.Exec(t, "CREATE TABLE p (id int PRIMARY KEY)")
	db := open(t, to)
	filling := sink.Filling{Create: define(t, from, "t"), Redact: true, LockTimeout: 3 * time.Second}
	if err := fillRows(t, db, filling, "7"); err != nil {
		t.Fatal(err)
	}
	err := db.Finish(context.Background(), "t", filling)
	if err == nil || !strings.HasSuffix(err.Error(), ": foreign key violation (error 1452)") {
		t.Errorf("a key that no row has: %v", err)
	}
	if got := fill.LockTimeout(t, db); got != "3" {
		t.Errorf("foreign keys wait %s s for locks", got)
	}
	filling.LockTimeout = 4 * time.Second
	if err := db.Analyze(context.Background(), "t", filling); err != nil {
		t.Error(err)
	}
	if got := fill.LockTimeout(t, db); got != "4" {
		t.Errorf("statistics wait %s s for locks", got)
	}
}

// TestCreateTimestamps makes a table on a server that gives the first TIMESTAMP of a table a default of its own.
func TestCreateTimestamps(t *testing.T) {
	testkit.NeedsMariaDB(t, "a setting of the session for this")
	from := testkit.MariaDB(t).NewDatabase(t)
	from.Exec(t, "CREATE TABLE t (a timestamp NOT NULL, b timestamp NULL)")
	to := testkit.NewMariaDB(t, testkit.MariaDBConfig{
		Options: []string{"--explicit-defaults-for-timestamp=0"},
	}).NewDatabase(t)
	filling := sink.Filling{Create: define(t, from, "t")}
	if err := fillRows(t, open(t, to), filling, "2026-01-01 -"); err != nil {
		t.Fatal(err)
	}
	if want, got := filling.Create.Create, define(t, to, "t").Create; got != want {
		t.Errorf("the table is %s\nwant %s", got, want)
	}
}

// TestCreateKilled loses the server while a table is made again, of which the ledger still has a part.
func TestCreateKilled(t *testing.T) {
	fill.ShortenGrace(t)
	server := testkit.MariaDB(t)
	from, to := server.NewDatabase(t), server.NewDatabase(t)
	from.Exec(t, "CREATE TABLE t (a int)")
	filling := sink.Filling{Create: define(t, from, "t"), Ledger: &sink.Ledger{Table: "loads", Load: "one"}}
	load := func(url string) error {
		db := openURL(t, url)
		table, err := db.Table(context.Background(), "t", filling)
		if err != nil {
			return err
		}
		loader := table.Loaders()[0]
		err = errors.Join(loader.Load(texts("1")), loader.EndPart(sink.Part{Name: "p", Rows: 1}))
		if _, closeErr := loader.Close(); err != nil || closeErr != nil {
			t.Fatal(err, closeErr)
		}
		return errors.Join(table.Commit(), table.Discard())
	}
	if err := load(to.URL()); err != nil {
		t.Fatal(err)
	}
	to.Exec(t, "TRUNCATE TABLE t")
	if err := load(to.URL()); !errors.Is(err, sink.ErrGone) {
		t.Errorf("a table without the rows that the ledger has: %v", err)
	}
	to.Exec(t, "DROP TABLE t")
	c := newCutter(t, server)
	c.Gone = true
	c.Due.Store(1)
	if err := load(cutURL(c, to)); !errors.Is(err, sink.ErrUnconfirmed) {
		t.Errorf("a server that is gone: %v", err)
	}
	expect(t, to, "SELECT COUNT(*) FROM t", "0")
	if err := load(to.URL()); err != nil {
		t.Errorf("the table that remains: %v", err)
	}
	expect(t, to, "SELECT a FROM t", "1")
}

// TestCreateWithoutSequence makes a table without the default that would draw from a sequence of the other database.
func TestCreateWithoutSequence(t *testing.T) {
	server := testkit.MariaDB(t)
	from, to := server.NewDatabase(t), server.NewDatabase(t)
	from.Exec(t, "CREATE SEQUENCE sq; CREATE TABLE t (a int COMMENT 'x DEFAULT nextval(`b`)', b varchar(20) DEFAULT"+
		" 'nextval(`x`)', c bigint NOT NULL DEFAULT nextval(sq) COMMENT 'numbered', d int DEFAULT (nextval(sq) + 1))"+
		" WITH SYSTEM VERSIONING")
	db := open(t, to)
	f := sink.Filling{Create: define(t, from, "t")}
	plan, err := db.Plan(context.Background(), "t", f)
	if err != nil {
		t.Fatal(err)
	}
	drawn := "nextval(`" + from.Name + "`.`sq`)"
	want := []string{
		"the history of its rows", "the default " + drawn + ` of column "c"`,
		"the default (" + drawn + ` + 1) of column "d"`,
	}
	if !slices.Equal(plan.Omitted, want) {
		t.Errorf("left out is %q, want %q", plan.Omitted, want)
	}
	if err := fillRows(t, db, f, "1 x 3 4"); err != nil {
		t.Fatal(err)
	}
	to.Exec(t, "INSERT INTO t (a, c) VALUES (2, 5)")
	expect(t, to, "SELECT a, b, c, IFNULL(d, 'null') FROM t ORDER BY a", "1 x 3 4", "2 nextval(`x`) 5 null")
	expect(t, from, "SELECT next_not_cached_value FROM sq", "1")
	if made := define(t, to, "t"); made.Columns[2].Comment != "numbered" || !made.Columns[2].NotNull {
		t.Errorf("the column was made as %+v", made.Columns[2])
	}
}
