package read_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	"culvert/internal/testkit"
	"culvert/postgres/internal/read"
	"culvert/source"
	"culvert/source/sourcetest"
)

// TestTableNames finds tables by all ways to name them. Each holds one row with its own identity.
func TestTableNames(t *testing.T) {
	db, _ := openNew(t, `
		CREATE SCHEMA other; CREATE SCHEMA "Odd.Schema"; CREATE SCHEMA "a"; CREATE SCHEMA "a.b";
		CREATE TABLE orders AS SELECT 'public orders' AS id;
		CREATE TABLE "Mixed" AS SELECT 'public Mixed' AS id;
		CREATE TABLE mixed AS SELECT 'public mixed' AS id;
		CREATE TABLE "Odd Name" AS SELECT 'public Odd Name' AS id;
		CREATE TABLE "dot.ted" AS SELECT 'public dot.ted' AS id;
		CREATE TABLE """quoted""" AS SELECT 'public "quoted"' AS id;
		CREATE TABLE quoted AS SELECT 'public quoted' AS id;
		CREATE TABLE other.orders AS SELECT 'other orders' AS id;
		CREATE TABLE other."Odd Name" AS SELECT 'other Odd Name' AS id;
		CREATE TABLE other.hidden AS SELECT 'other hidden' AS id;
		CREATE TABLE "Odd.Schema"."x.y" AS SELECT 'Odd.Schema x.y' AS id;
		CREATE TABLE "other.orders" AS SELECT 'public other.orders' AS id;
		CREATE TABLE a."b.c" AS SELECT 'a b.c' AS id;
		CREATE TABLE "a.b".c AS SELECT 'a.b c' AS id;
		CREATE SEQUENCE counter; CREATE INDEX orders_index ON orders (id); CREATE TYPE composite AS (id text)`)
	for _, test := range []struct{ name, want string }{
		{"orders", "public orders"},
		{"Orders", "public orders"},
		{`"orders"`, "public orders"},
		{"public.orders", "public orders"},
		{"PUBLIC.Orders", "public orders"},
		{` "public" . orders `, "public orders"},
		{"Mixed", "public Mixed"},
		{"mixed", "public mixed"},
		{"MIXED", "public mixed"},
		{`"Mixed"`, "public Mixed"},
		{"Odd Name", "public Odd Name"},
		{`"Odd Name"`, "public Odd Name"},
		{"public.Odd Name", "public Odd Name"},
		{"other.Odd Name", "other Odd Name"},
		{`other."Odd Name"`, "other Odd Name"},
		{"dot.ted", "public dot.ted"},
		{`"dot.ted"`, "public dot.ted"},
		{`public."dot.ted"`, "public dot.ted"},
		{`"quoted"`, `public "quoted"`}, // exact comes first
		{`"""quoted"""`, `public "quoted"`},
		{"quoted", "public quoted"},
		{"other.orders", "public other.orders"}, // exact comes first
		{`other."orders"`, "other orders"},
		{"other.hidden", "other hidden"},
		{"Odd.Schema.x.y", "Odd.Schema x.y"},
		{`"Odd.Schema"."x.y"`, "Odd.Schema x.y"},
		{`a."b.c"`, "a b.c"},
		{`"a.b".c`, "a.b c"},
	} {
		rows, err := db.Table(context.Background(), test.name)
		if err != nil {
			t.Errorf("Table(%q): %v", test.name, err)
			continue
		}
		if got := encoded(t, rows); got != encodedID(test.want) {
			t.Errorf("Table(%q) gives %q, want the row %q", test.name, got, test.want)
		}
	}

	_, err := db.Table(context.Background(), "a.b.c")
	if err == nil || !strings.Contains(err.Error(), `"a"."b.c" or "a.b"."c"`) &&
		!strings.Contains(err.Error(), `"a.b"."c" or "a"."b.c"`) {
		t.Errorf("Table of an ambiguous name: %v", err)
	}
	for _, name := range []string{
		"order", "hidden", "nowhere.orders", "ODD NAME", `"Orders"`, "", ".", `"`, "a.b.c.d.e",
		"elsewhere.public.orders", "counter", "orders_index", "composite", "orders; DROP TABLE orders", "orders --",
	} {
		_, err := db.Table(context.Background(), name)
		if unknown, ok := errors.AsType[*source.UnknownError](err); !ok || unknown.Name != name {
			t.Errorf("Table(%q): %v, want *source.UnknownError", name, err)
		}
	}
}

// TestLongNames takes no name for another that agrees with it in the 63 bytes to which SQL cuts names.
func TestLongNames(t *testing.T) {
	long := strings.Repeat("x", 63)
	db, _ := openNew(t, `
		CREATE SCHEMA `+long+`; CREATE TABLE `+long+` AS SELECT 'public' AS id;
		CREATE TABLE `+long+`.`+long+` AS SELECT 'schema' AS id; CREATE TABLE `+long+`.t AS SELECT 'schema t' AS id`)
	for _, test := range []struct{ name, want string }{
		{long, "public"},
		{strings.ToUpper(long), "public"},
		{long + ".t", "schema t"},
		{long + "." + long, "schema"},
		{strings.ToUpper(long) + `."` + long + `"`, "schema"},
	} {
		if got := encoded(t, table(t, db, test.name)); got != encodedID(test.want) {
			t.Errorf("Table(%q) gives %q, want the row %q", test.name, got, test.want)
		}
	}
	for _, name := range []string{
		long + "y", strings.ToUpper(long) + "Y", `"` + long + `y"`, "public." + long + "y", long + "y.t",
		`"` + long + `y".t`, long + "." + long + "y",
	} {
		_, err := db.Table(context.Background(), name)
		if unknown, ok := errors.AsType[*source.UnknownError](err); !ok || unknown.Name != name {
			t.Errorf("Table(%q): %v, want *source.UnknownError", name, err)
		}
	}
}

// encodedID is the CSV of a table with a row of one column.
func encodedID(id string) string {
	if strings.Contains(id, `"`) {
		id = `"` + strings.ReplaceAll(id, `"`, `""`) + `"`
	}
	return "id\n" + id + "\n"
}

func TestSearchPath(t *testing.T) {
	database := testkit.Postgres(t).NewDatabase(t)
	database.Exec(t, `
		CREATE SCHEMA first;
		CREATE TABLE t AS SELECT 'public' AS id; CREATE TABLE first.t AS SELECT 'first' AS id;
		CREATE TABLE first.here (); CREATE TABLE away ();
		ALTER DATABASE `+database.Name+` SET search_path = first`)
	db := openAgain(t, database.ConnString())
	if got := encoded(t, table(t, db, "t")); got != "id\nfirst\n" {
		t.Errorf("the first on the path is not found, but %q", got)
	}
	_, err := db.Table(context.Background(), "aways")
	unknown, ok := errors.AsType[*source.UnknownError](err)
	if want := []string{"here", "public.away", "public.t", "t"}; !ok || !slices.Equal(unknown.Known, want) {
		t.Errorf("Table of an unknown name: %#v, want the known names %q", err, want)
	}
	for _, name := range unknown.Known {
		if err := rowsErr(db.Table(context.Background(), name)); err != io.EOF {
			t.Errorf("a known name is not found: %v", err)
		}
	}
}

// TestManyUnknown cuts the list of names, but not by those that are near.
func TestManyUnknown(t *testing.T) {
	var sql strings.Builder
	for i := range 600 {
		fmt.Fprintf(&sql, "CREATE VIEW v%d AS SELECT; CREATE VIEW very_long_name_%d AS SELECT;", i, i)
	}
	db, _ := openNew(t, sql.String()+"CREATE TABLE customers ()")
	_, err := db.Table(context.Background(), "custmers")
	unknown, ok := errors.AsType[*source.UnknownError](err)
	if !ok || len(unknown.Known) != 1000 || !slices.Contains(unknown.Known, "customers") {
		t.Errorf("Table(custmers): %T of %d names", err, len(unknown.Known))
	}
}

func TestColumns(t *testing.T) {
	db, _ := openNew(t, `
		CREATE DOMAIN word AS varchar(9);
		CREATE TABLE t (
			gone int, id bigint, "A b" word, half numeric GENERATED ALWAYS AS (id / 2.0) STORED, n numeric(9,2));
		ALTER TABLE t DROP COLUMN gone; ALTER TABLE t ADD COLUMN late int[] DEFAULT '{1}';
		INSERT INTO t VALUES (7, 'x', DEFAULT, 1);
		CREATE TABLE generated (g int GENERATED ALWAYS AS (1) STORED); INSERT INTO generated DEFAULT VALUES`)
	const want = "id bigint, A b public.word, n numeric(9,2), late integer[]"
	rows := table(t, db, "t")
	if got := columnsOf(rows); got != want {
		t.Errorf("columns are %s, want %s", got, want)
	}
	if err := rows.Close(); err != nil {
		t.Error(err)
	}
	expectCSV(t, func() source.Rows { return table(t, db, "t") }, "id,A b,n,late\n7,x,1.00,{1}\n")
	expectCSV(t, func() source.Rows { return query(t, db, "SELECT half FROM t") }, "half\n3.5000000000000000\n")
	expectCSV(t, func() source.Rows { return table(t, db, "generated") }, "\n\n")

	// A domain is described by the type below it.
	rows = query(t, db, `SELECT "A b", id AS "A b", half::numeric(5,1), NULL, now() FROM t`)
	const described = "A b character varying(9), A b bigint, half numeric(5,1), ?column? text, " +
		"now timestamp with time zone"
	if got := columnsOf(rows); got != described {
		t.Errorf("columns of a query are %s, want %s", got, described)
	}
}

// columnsOf lists the names and types of columns.
func columnsOf(rows source.Rows) string {
	var list []string
	for _, column := range rows.Columns() {
		list = append(list, column.Name+" "+column.Type)
	}
	return strings.Join(list, ", ")
}

// TestLogicalTypes has types that a user has made, of one another.
func TestLogicalTypes(t *testing.T) {
	const setup = `
		CREATE EXTENSION citext; CREATE TYPE mood AS ENUM ('fine'); CREATE TYPE pair AS (a int, b int);
		CREATE DOMAIN code AS varchar(9); CREATE DOMAIN short AS code CHECK (length(VALUE) < 5);
		CREATE DOMAIN price AS numeric(9,2); CREATE DOMAIN moods AS mood[]; CREATE DOMAIN nested AS int[];
		CREATE DOMAIN "integer" AS text; CREATE DOMAIN info AS information_schema.cardinal_number;
		CREATE TABLE t (a short, b price, c mood, d mood[], e price[], f moods, g nested[], h "integer", i pair,
			j pair[], k citext, l citext[], m info, n t_of_before[], o int8range)`
	const want = "string(9), decimal(9,2), enum, list(enum), list(decimal(9,2)), list(enum), list(unknown), string, " +
		"unknown, list(unknown), string, list(string), int32, list(unknown), unknown"
	db, database := openNew(t, "CREATE TABLE t_of_before ();"+setup)
	for name, rows := range map[string]source.Rows{
		"a table":          table(t, db, "t"),
		"a query":          query(t, openAgain(t, database.ConnString()), "SELECT * FROM t"),
		"a prepared table": prepared(t, openAgain(t, database.ConnString()), "t"),
	} {
		var got []string
		for _, c := range rows.Columns() {
			got = append(got, c.Logical.String())
		}
		if list := strings.Join(got, ", "); list != want {
			t.Errorf("the types of %s are %s, want %s", name, list, want)
		}
		if err := rows.Close(); err != nil {
			t.Error(err)
		}
	}
}

// prepared returns the rows of a table that was looked up before.
func prepared(t *testing.T, db *read.DB, name string) source.Rows {
	t.Helper()
	if err := db.Prepare(t.Context(), []string{name}); err != nil {
		t.Fatal(err)
	}
	return table(t, db, name)
}

// TestDomainKinds reads domains as what is below them.
func TestDomainKinds(t *testing.T) {
	db, _ := openNew(t, `
		CREATE DOMAIN b AS bytea; CREATE DOMAIN bb AS b; CREATE DOMAIN n AS numeric; CREATE DOMAIN j AS jsonb;
		CREATE TABLE t (b bb, n n, j j); INSERT INTO t VALUES ('\x00ff', 1.5, '{}')`)
	var batch source.Batch
	if err := table(t, db, "t").Next(&batch); err != nil {
		t.Fatal(err)
	}
	for i, want := range []struct {
		kind source.Kind
		text string
	}{{source.Bytes, "\x00\xff"}, {source.Number, "1.5"}, {source.JSON, "{}"}} {
		if kind, value := batch.Value(0, i); kind != want.kind || string(value) != want.text {
			t.Errorf("column %d is %v %q, want %v %q", i, kind, value, want.kind, want.text)
		}
	}
}

// TestRowSecurity must fail rather than leave out rows.
func TestRowSecurity(t *testing.T) {
	database := testkit.Postgres(t).NewDatabase(t)
	role := database.NewRole(t, "reader", "")
	database.Exec(t, `
		CREATE TABLE t AS SELECT i FROM generate_series(1, 10) AS i;
		ALTER TABLE t ENABLE ROW LEVEL SECURITY; CREATE POLICY few ON t USING (i < 3);
		CREATE VIEW v AS SELECT * FROM t; GRANT SELECT ON t, v TO `+role+`;
		CREATE TABLE closed ()`)
	connString := database.ConnStringAs(role)
	db := openAgain(t, connString)
	for name, start := range map[string]func() (source.Rows, error){
		"table": func() (source.Rows, error) { return db.Table(context.Background(), "t") },
		"query": func() (source.Rows, error) { return db.Query(context.Background(), "SELECT * FROM t") },
	} {
		for way, read := range map[string]func(source.Rows) error{
			"Next":     func(r source.Rows) error { _, err := drain(r); return err },
			"WriteCSV": func(r source.Rows) error { _, err := r.(source.CSVWriter).WriteCSV(io.Discard); return err },
		} {
			rows, err := start()
			if err == nil {
				err = read(rows)
			}
			if err == io.EOF || err == nil || !strings.Contains(err.Error(), "row-level security policy") ||
				errors.Is(err, source.ErrUnavailable) {
				t.Errorf("%s by %s: %v", name, way, err)
			}
		}
	}
	// The owner of the view may read all rows.
	if n, err := drain(table(t, db, "v")); n != 10 || err != io.EOF {
		t.Errorf("the view has %d rows and the error %v", n, err)
	}
	rows, err := db.Table(context.Background(), "closed")
	if err == nil {
		_, err = drain(rows)
	}
	if err == io.EOF || !strings.Contains(err.Error(), "permission denied for table closed") {
		t.Errorf("a table without permission: %v", err)
	}
}

// TestNotNull finds the columns that have no NULL: not those whose constraint does not hold for all rows that are read.
func TestNotNull(t *testing.T) {
	withNull := "ALTER TABLE grandchild ALTER n DROP NOT NULL;"
	columns := map[string][]string{
		"plain": {"id", "n"}, "parent": {"id"}, "child": {"id", "own"}, "grandchild": {"id", "own"},
		"parted": {"id"}, "one": {"id"}, "spread": nil, "seen": nil,
	}
	if testkit.PostgresVersion(t) >= 18 { // which refuses that
		withNull = ""
		columns["parent"], columns["child"] = []string{"id", "n"}, []string{"id", "n", "own"}
		columns["grandchild"] = columns["child"]
	}
	db, _ := openNew(t, `
		CREATE DOMAIN must AS int NOT NULL;
		CREATE TABLE plain (id int PRIMARY KEY, n int NOT NULL, d must);
		CREATE TABLE parent (id int NOT NULL, n int NOT NULL, free int);
		CREATE TABLE child (own int NOT NULL) INHERITS (parent);
		CREATE TABLE grandchild () INHERITS (child);
		`+withNull+`
		CREATE TABLE parted (id int NOT NULL, n int) PARTITION BY LIST (id);
		CREATE TABLE one PARTITION OF parted FOR VALUES IN (1);
		CREATE EXTENSION postgres_fdw;
		CREATE SERVER elsewhere FOREIGN DATA WRAPPER postgres_fdw;
		CREATE TABLE spread (id int NOT NULL) PARTITION BY LIST (id);
		CREATE FOREIGN TABLE far PARTITION OF spread FOR VALUES IN (1) SERVER elsewhere;
		CREATE VIEW seen AS SELECT * FROM plain`)
	for table, want := range columns {
		rows, err := db.Table(t.Context(), table)
		if err != nil {
			t.Fatal(err)
		}
		sourcetest.ExpectNotNull(t, table, rows, want...)
		if err := rows.Close(); err != nil {
			t.Error(err)
		}
	}
}
