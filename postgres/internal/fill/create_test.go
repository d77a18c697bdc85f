package fill_test

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"culvert/internal/testkit"
	"culvert/postgres/internal/fill"
	reading "culvert/postgres/internal/read"
	"culvert/sink"
	"culvert/source"
)

const shopSQL = `
CREATE SCHEMA "Shop";
CREATE TYPE "Shop".mood AS ENUM ('sad', 'ok');
CREATE TABLE "Shop".customers (id int PRIMARY KEY, region text, UNIQUE (region, id));
CREATE TABLE "Shop"."Orders" (
	id bigint GENERATED ALWAYS AS IDENTITY (START WITH 10 INCREMENT BY 5),
	serial serial,
	customer int NOT NULL REFERENCES "Shop".customers,
	title varchar(20) COLLATE "C" NOT NULL DEFAULT 'it''s',
	mood "Shop".mood DEFAULT 'ok',
	price numeric(10,2) CHECK (price > 0),
	twice numeric GENERATED ALWAYS AS (price * 2) STORED,
	parent bigint,
	PRIMARY KEY (id), FOREIGN KEY (parent) REFERENCES "Shop"."Orders");
COMMENT ON TABLE "Shop"."Orders" IS 'all ''orders''';
COMMENT ON COLUMN "Shop"."Orders".title IS 'its ''title''';
CREATE UNIQUE INDEX by_title ON "Shop"."Orders" (lower(title)) WHERE price > 1;
ALTER SEQUENCE "Shop"."Orders_serial_seq" RESTART WITH 51;
INSERT INTO "Shop".customers VALUES (1, 'x'), (2, NULL);
INSERT INTO "Shop"."Orders" (customer, title, price) VALUES (1, 'a', 2), (2, 'b', 3.5);
ALTER TABLE "Shop"."Orders" ALTER id RESTART WITH 100, ADD CONSTRAINT unproved CHECK (price > 3) NOT VALID`

func define(t *testing.T, database *testkit.PostgresDatabase, name string) (*source.Definition, string) {
	t.Helper()
	src, err := reading.Open(t.Context(), database.ConnString())
	if err != nil {
		t.Fatal(err)
	}
	defer src.Close()
	d, err := src.Define(t.Context(), name)
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(d)
	if err != nil {
		t.Fatal(err)
	}
	return d, string(text)
}

// TestCreate makes tables again in another database, and compares their definitions and rows.
func TestCreate(t *testing.T) {
	_, from := openNew(t, shopSQL)
	db, to := openNew(t, `CREATE SCHEMA "Shop"; CREATE TYPE "Shop".mood AS ENUM ('sad', 'ok')`)
	texts := map[string]string{
		"Shop.Orders": "10,51,1,a,ok,2.00,\n15,52,2,b,ok,3.50,\n", "Shop.customers": "1,x\n2,\n",
	}
	definitions := map[string]*source.Definition{}
	for name, text := range texts { // whatever the order
		definitions[name], _ = define(t, from, name)
		f := sink.Filling{Create: definitions[name], Ledger: &sink.Ledger{Table: "ledger", Load: "x"}, Loaders: 2}
		plan, err := db.Plan(context.Background(), name, f)
		if err != nil || plan.Exists || plan.Loaders != 1 || plan.Alone == "" || len(plan.Columns) < 2 {
			t.Errorf("the plan is %+v, %v", plan, err)
		}
		table := beginTable(t, db, name, f)
		if err := loadText(table.Loaders()[0], text); err != nil {
			t.Fatal(err)
		}
		if rows, _, err := table.Loaders()[0].Sum(); rows != 2 || err != nil {
			t.Errorf("%d rows are read back, %v", rows, err)
		}
		if err := table.Loaders()[0].EndPart(sink.Part{Name: "all", Rows: 2}); err != nil {
			t.Fatal(err)
		}
		if _, err := table.Loaders()[0].Close(); err != nil {
			t.Fatal(err)
		}
		if err := table.Commit(); err != nil {
			t.Fatal(err)
		}
		again := beginTable(t, db, name, f)
		if parts := again.Loaded(); len(parts) != 1 || parts[0].Rows != 2 {
			t.Errorf("loaded again: %v", parts)
		}
		if err := again.Discard(); err != nil {
			t.Error(err)
		}
		f.Ledger = nil
		if _, err := db.Table(context.Background(), name, f); !errors.Is(err, sink.ErrExists) {
			t.Errorf("a table that exists: %v", err)
		}
	}
	for name, d := range definitions {
		for range 2 { // the second time, there is nothing to do
			if err := db.Finish(context.Background(), name, sink.Filling{Create: d}); err != nil {
				t.Error(err)
			}
		}
		_, want := define(t, from, name)
		if _, got := define(t, to, name); got != want {
			t.Errorf("%s\nbecomes\n%s", want, got)
		}
	}
	const rowsSQL = `SELECT string_agg(o::text, ' ' ORDER BY id) FROM "Shop"."Orders" o`
	if got, want := to.Query(t, rowsSQL)[0][0], from.Query(t, rowsSQL)[0][0]; got != want {
		t.Errorf("the rows are %s, want %s", got, want)
	}
}

// TestCreateRefused has tables not come about: nothing remains.
func TestCreateRefused(t *testing.T) {
	_, from := openNew(t, shopSQL)
	db, to := openNew(t, "CREATE SCHEMA x")
	d, _ := define(t, from, "Shop.customers")
	f := sink.Filling{Create: d}
	table := beginTable(t, db, "Shop.customers", f)
	if err := loadText(table.Loaders()[0], "1,x\n1,y\n"); err != nil {
		t.Fatal(err)
	}
	if _, err := table.Loaders()[0].Close(); err != nil {
		t.Fatal(err)
	}
	if err := table.Commit(); err == nil {
		t.Error("rows with equal keys are committed")
	}
	if got := to.Query(t, `SELECT to_regclass('"Shop".customers') IS NULL`)[0][0]; got != "t" {
		t.Error("a table remains")
	}
	if _, err := db.Table(context.Background(), "other", f); err == nil {
		t.Error("a table gets another name")
	}
	orders, _ := define(t, from, "Shop.Orders")
	if _, err := db.Table(context.Background(), "Orders", sink.Filling{Create: orders}); err == nil {
		t.Error("a table with a type that does not exist is made")
	}
	role := *d
	role.Indexes = append(slices.Clone(d.Indexes), source.Index{Name: "x", Definition: "CREATE ROLE x"})
	if _, err := db.Table(context.Background(), "Shop.customers", sink.Filling{Create: &role}); err == nil {
		t.Error("an index makes a role")
	}
	foreign := *d
	foreign.Dialect = "other"
	_, err := db.Table(context.Background(), "customers", sink.Filling{Create: &foreign})
	if !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("a table of another system: %v", err)
	}
}

// TestCreateAfterDrop makes a table of which the ledger has parts, and which was dropped: all is loaded again.
func TestCreateAfterDrop(t *testing.T) {
	_, from := openNew(t, "CREATE TABLE t (id int)")
	d, _ := define(t, from, "t")
	db, to := openNew(t, "CREATE TABLE unrelated (id int)")
	f := sink.Filling{Create: d, Ledger: &sink.Ledger{Table: "ledger", Load: "x"}}
	for range 2 {
		to.Exec(t, "DROP TABLE IF EXISTS t")
		table := beginTable(t, db, "t", f)
		if parts := table.Loaded(); len(parts) != 0 {
			t.Fatalf("the ledger has %v of a table that was dropped", parts)
		}
		loader := table.Loaders()[0]
		if err := loadText(loader, "1\n"); err != nil {
			t.Fatal(err)
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
		expectCount(t, to, "t", "1")
		expectCount(t, to, "ledger", "1")
	}
}

// made makes a table by its definition in another database, with rows of text.
func made(t *testing.T, db *fill.DB, name, text string, f sink.Filling) error {
	t.Helper()
	table := beginTable(t, db, name, f)
	if err := loadText(table.Loaders()[0], text); err != nil {
		t.Fatal(err)
	}
	if _, err := table.Loaders()[0].Close(); err != nil {
		t.Fatal(err)
	}
	return errors.Join(table.Commit(), table.Discard())
}

// TestFinishRefused adds a foreign key that rows violate, or whose table others have locked.
func TestFinishRefused(t *testing.T) {
	_, from := openNew(t, "CREATE TABLE s (id text PRIMARY KEY); CREATE TABLE k (secret text REFERENCES s)")
	d, _ := define(t, from, "k")
	db, to := openNew(t, "CREATE TABLE s (id text PRIMARY KEY)")
	f := sink.Filling{Create: d, Redact: true, LockTimeout: 60 * time.Millisecond}
	if err := made(t, db, "k", "hunter2\n", f); err != nil {
		t.Fatal(err)
	}
	err := db.Finish(t.Context(), "k", f)
	row, is := errors.AsType[*sink.RowError](err)
	if !is || row.Constraint != "k_secret_fkey" || row.Code != "23503" || strings.Contains(err.Error(), "hunter2") {
		t.Errorf("without values: %v", err)
	}
	shown := f
	shown.Redact = false
	if err := db.Finish(t.Context(), "k", shown); err == nil || !strings.Contains(err.Error(), "hunter2") {
		t.Errorf("with values: %v", err)
	}
	session(t, to, "BEGIN; LOCK TABLE s")
	err = db.Finish(t.Context(), "k", f)
	if !errors.Is(err, sink.ErrLocked) || !strings.Contains(err.Error(), "60ms") {
		t.Errorf("while others keep a lock: %v", err)
	}
	session(t, to, "BEGIN; LOCK TABLE k")
	err = db.Analyze(t.Context(), "k", f)
	if !errors.Is(err, sink.ErrLocked) || !strings.Contains(err.Error(), "60ms") {
		t.Errorf("statistics, while others keep a lock: %v", err)
	}
}

// TestCreateDuplicates has rows violate a constraint that is added after them.
func TestCreateDuplicates(t *testing.T) {
	_, from := openNew(t, "CREATE TABLE t (id int PRIMARY KEY)")
	d, _ := define(t, from, "t")
	db, _ := openNew(t, "CREATE TABLE unrelated (id int)")
	for _, redact := range []bool{false, true} {
		err := made(t, db, "t", "41\n41\n", sink.Filling{Create: d, Redact: redact})
		row, is := errors.AsType[*sink.RowError](err)
		if !is || row.Constraint != "t_pkey" || row.Code != "23505" || strings.Contains(err.Error(), "41") == redact {
			t.Errorf("redacted %t: %v", redact, err)
		}
	}
}
