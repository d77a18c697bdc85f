package read_test

import (
	"encoding/json"
	"maps"
	"testing"
)

// TestDefineAll compares definitions with what they are in JSON.
func TestDefineAll(t *testing.T) {
	const orders = `CREATE TABLE Orders (
	id INTEGER PRIMARY KEY AUTOINCREMENT, -- comment
	"Odd ""name""" TEXT COLLATE nocase DEFAULT 'it''s' UNIQUE,
	price REAL NOT NULL CHECK (price > 0),
	twice AS (price * 2), kept INT AS (price * 3) STORED,
	customer REFERENCES CUSTOMERS (ID), UNIQUE (price, customer))`
	const keyed = `CREATE TABLE keyed (a TEXT, b INTEGER, n, PRIMARY KEY (b, a)) WITHOUT ROWID`
	db := openNew(t, "CREATE TABLE customers (id integer PRIMARY KEY, x)", orders, keyed,
		"INSERT INTO Orders (id, price) VALUES (41, 1)", "CREATE INDEX by_price ON orders (price DESC, id)",
		"CREATE UNIQUE INDEX some ON Orders (customer) WHERE customer > 0",
		"CREATE INDEX lower ON Orders (lower(customer))",
		`CREATE TRIGGER "up" AFTER INSERT ON KEYED BEGIN SELECT 1; END`,
		"CREATE TABLE desc (id INTEGER PRIMARY KEY DESC)", "CREATE VIEW v AS SELECT id, twice FROM Orders")
	quoted := func(text string) string {
		data, err := json.Marshal(text)
		if err != nil {
			t.Fatal(err)
		}
		return string(data)
	}
	for table, want := range map[string]string{
		"main.orders": `{"dialect":"sqlite","name":"Orders","columns":[` +
			`{"name":"id","type":"INTEGER","identity":"by default"},` +
			`{"name":"Odd \"name\"","type":"TEXT","default":"'it''s'","collation":"nocase"},` +
			`{"name":"price","type":"REAL","not_null":true},` +
			`{"name":"twice","generated":"virtual","expression":"price * 2"},` +
			`{"name":"kept","type":"INT","generated":"stored","expression":"price * 3"},` +
			`{"name":"customer"}],` +
			`"constraints":[{"kind":"primary key","columns":["id"]},{"kind":"unique","columns":["Odd \"name\""]},` +
			`{"kind":"unique","columns":["price","customer"]},{"kind":"foreign key","columns":["customer"],` +
			`"definition":"FOREIGN KEY (\"customer\") REFERENCES \"customers\" (\"id\")"}],` +
			`"indexes":[{"name":"by_price","columns":["price","id"],` +
			`"definition":"CREATE INDEX by_price ON orders (price DESC, id)"},` +
			`{"name":"lower","definition":"CREATE INDEX lower ON Orders (lower(customer))"},` +
			`{"name":"some","unique":true,` +
			`"definition":"CREATE UNIQUE INDEX some ON Orders (customer) WHERE customer \u003e 0"}],` +
			`"sequences":[{"column":"id","last":41}],"create":` + quoted(orders) + `}`,
		"keyed": `{"dialect":"sqlite","name":"keyed","columns":[{"name":"a","type":"TEXT","not_null":true},` +
			`{"name":"b","type":"INTEGER","not_null":true},{"name":"n"}],` +
			`"constraints":[{"kind":"primary key","columns":["b","a"]}],"lacks":["the trigger \"up\""],` +
			`"create":` + quoted(keyed) + `}`,
		"desc": `{"dialect":"sqlite","name":"desc","columns":[{"name":"id","type":"INTEGER"}],` +
			`"constraints":[{"kind":"primary key","columns":["id"]}],` +
			`"create":"CREATE TABLE desc (id INTEGER PRIMARY KEY DESC)"}`,
		"v": `{"dialect":"sqlite","name":"v","columns":[{"name":"id","type":"INTEGER"},` +
			`{"name":"twice","type":"BLOB"}]}`,
	} {
		d, err := db.Define(t.Context(), table)
		if err != nil {
			t.Errorf("%s: %v", table, err)
			continue
		}
		if got, err := json.Marshal(d); err != nil || string(got) != want {
			t.Errorf("%s is\n%s, want\n%s, error %v", table, got, want, err)
		}
	}
}

// TestExpressions finds the expressions of generated columns, also beside other parentheses, commas and words.
func TestExpressions(t *testing.T) {
	const odd = `CREATE TABLE "as (x, (" (
	a DECIMAL(10, 2) DEFAULT (cast(1 AS INT)) CHECK (a IN (1, 2, CAST('as (' AS INT))), -- AS (no)
	[b,as(] TEXT GENERATED ALWAYS /* , AS ( */ AS /* ( */ (lower(")'") || '(,' || [(]) STORED UNIQUE,
	")'" TEXT, [(] TEXT,
	c AS(a+1) CHECK (c > 0), CHECK (a > 0))`
	db := openNew(t, odd, `ALTER TABLE "as (x, (" ADD COLUMN d AS (a || ',')`, `ALTER TABLE "as (x, (" RENAME a TO z`)
	d, err := db.Define(t.Context(), "as (x, (")
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, c := range d.Columns {
		if c.Expression != "" {
			got[c.Name] = c.Expression
		}
	}
	want := map[string]string{"b,as(": `lower(")'") || '(,' || [(]`, "c": "z+1", "d": `z || ','`}
	if !maps.Equal(got, want) {
		t.Errorf("the expressions are %q, want %q", got, want)
	}
}
