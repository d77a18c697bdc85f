package fill_test

import (
	"context"
	"encoding/json"
	"errors"
	"testing"

	"culvert/sink"
	"culvert/source"
	"culvert/sqlite/internal/fill"
	sqlitesource "culvert/sqlite/internal/read"
)

const shop = `
CREATE TABLE "Order's" (id INTEGER PRIMARY KEY AUTOINCREMENT, title TEXT COLLATE NOCASE NOT NULL DEFAULT 'it''s',
	twice INT AS (id * 2) STORED, code TEXT UNIQUE, parent INT REFERENCES "Order's", CHECK (id > 0)) STRICT;
CREATE INDEX by_title ON "Order's" (lower(title)) WHERE id > 1;
CREATE UNIQUE INDEX by_code ON "Order's" (code, title);
INSERT INTO "Order's" (id, title, code) VALUES (1, 'a', 'x'), (2, 'b', NULL), (9, 'c', 'y');
DELETE FROM "Order's" WHERE id = 9;
CREATE TABLE plain (a, b, PRIMARY KEY (b, a)) WITHOUT ROWID`

func define(t *testing.T, path, table string) (*source.Definition, string) {
	t.Helper()
	src, err := sqlitesource.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	d, err := src.Define(t.Context(), table)
	if err := errors.Join(err, src.Close()); err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(d)
	if err != nil {
		t.Fatal(err)
	}
	return d, string(text)
}

// makeTable makes and fills a table, and commits it.
func makeTable(t *testing.T, db *fill.DB, name string, f sink.Filling, rows *source.Batch) error {
	t.Helper()
	table, err := db.Table(context.Background(), name, f)
	if err != nil {
		return err
	}
	loader := table.Loaders()[0]
	err = loader.Load(rows)
	if err == nil && f.Ledger != nil {
		err = loader.EndPart(sink.Part{Name: "all", Rows: int64(rows.Rows())})
	}
	if err == nil {
		_, _, err = loader.Sum()
	}
	if err == nil {
		_, err = loader.Close()
	}
	if err == nil {
		err = table.Commit()
	}
	return errors.Join(err, table.Discard())
}

var orderKinds = []source.Kind{source.Number, source.Text, source.Text, source.Number}

// TestCreate makes tables again in another file, and compares their definitions and rows.
func TestCreate(t *testing.T) {
	from, to := newFile(t, shop), newFile(t, "CREATE TABLE other (a)")
	db := open(t, to)
	ledger := &sink.Ledger{Table: "ledger", Load: "x"}
	for table, rows := range map[string]*source.Batch{
		"Order's": batch(t, orderKinds, "1,a,x,\n2,b,,\n"), "plain": batch(t, orderKinds[:2], "1,x\n"),
	} {
		d, want := define(t, from, table)
		f := sink.Filling{Create: d, Ledger: ledger, Loaders: 2}
		plan, err := db.Plan(context.Background(), table, f)
		if err != nil || plan.Exists || len(plan.Steps) < 4 || len(plan.Columns) != rows.Columns() {
			t.Errorf("the plan is %+v, %v", plan, err)
		}
		for range 2 { // the second time after the table was dropped, of which the ledger knows
			execute(t, to, `DROP TABLE IF EXISTS "`+table+`"`)
			if err := makeTable(t, db, table, f, rows); err != nil {
				t.Fatal(err)
			}
			if err := db.Finish(context.Background(), table, f); err != nil {
				t.Error(err)
			}
			if _, got := define(t, to, table); got != want {
				t.Errorf("%s\nbecomes\n%s", want, got)
			}
		}
		again, err := db.Table(context.Background(), table, f)
		if err != nil || len(again.Loaded()) != 1 {
			t.Fatalf("loaded again: %v, %v", again, err)
		}
		if err := again.Discard(); err != nil {
			t.Error(err)
		}
		f.Ledger = nil
		if _, err := db.Table(context.Background(), table, f); !errors.Is(err, sink.ErrExists) {
			t.Errorf("a table that exists: %v", err)
		}
	}
	if got, _ := export(t, to, "Order's"); got != "1,a,2,x,\n2,b,4,,\n" {
		t.Errorf("the rows are %q", got)
	}
}

// TestCreateRefused has tables not come about: nothing remains.
func TestCreateRefused(t *testing.T) {
	from, to := newFile(t, shop), newFile(t, "CREATE TABLE other (a); CREATE INDEX by_code ON other (a)")
	db := open(t, to)
	d, _ := define(t, from, "Order's")
	view, twice, other := *d, *d, *d
	view.Create, twice.Create, other.Dialect = "", twice.Create+"; DROP TABLE other", "other"
	attach, drop := *d, *d
	attach.Create, drop.Indexes = "ATTACH ':memory:' AS x", []source.Index{{Name: "x", Definition: "DROP TABLE other"}}
	for what, test := range map[string]struct {
		name string
		f    sink.Filling
		rows string
	}{
		"an index that exists": {"Order's", sink.Filling{Create: d}, "1,a,x,\n"},
		"an equal key":         {"Order's", sink.Filling{Create: d}, "1,a,x,\n2,a,x,\n"},
		"another name":         {"orders", sink.Filling{Create: d}, ""},
		"no statement":         {"Order's", sink.Filling{Create: &view}, ""},
		"two statements":       {"Order's", sink.Filling{Create: &twice}, ""},
		"no table":             {"Order's", sink.Filling{Create: &attach}, ""},
		"no index":             {"Order's", sink.Filling{Create: &drop}, ""},
		"rows that may stay":   {"Order's", sink.Filling{Create: d, Existing: sink.Append}, ""},
		"another system":       {"Order's", sink.Filling{Create: &other}, ""},
	} {
		if err := makeTable(t, db, test.name, test.f, batch(t, orderKinds, test.rows)); err == nil {
			t.Errorf("%s: it is made", what)
		}
		conn := connect(t, to)
		_, tail, err := conn.Prepare(`SELECT * FROM "Order's"`)
		if err == nil {
			t.Errorf("%s: a table remains%s", what, tail)
		}
		if err := errors.Join(conn.Exec("SELECT * FROM other"), conn.Close()); err != nil {
			t.Errorf("%s: %v", what, err)
		}
	}
}
