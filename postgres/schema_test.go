package postgres_test

import (
	"errors"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"

	"culvert/internal/testkit"
	"culvert/postgres"
	"culvert/sink"
	"culvert/source"
)

// everything returns a schema with every kind of object that tables need or have.
func everything(t *testing.T) string {
	if testkit.PostgresVersion(t) < 14 {
		return strings.ReplaceAll(everythingSQL, atomicBody, "AS 'SELECT 1; SELECT 2'")
	}
	return everythingSQL
}

const atomicBody = "BEGIN ATOMIC SELECT 1; SELECT CASE WHEN i > 0 THEN 1 ELSE 2 END; END"

const everythingSQL = `
CREATE EXTENSION pg_trgm;
CREATE SCHEMA "Shop";
COMMENT ON SCHEMA "Shop" IS 'it''s; a shop';
CREATE TYPE "Shop".mood AS ENUM ('sad', 'o;k', 'it''s');
CREATE DOMAIN "Shop".price AS numeric(10,2) CHECK (VALUE >= 0) DEFAULT 0;
CREATE TYPE "Shop".point AS (x int, y int);
CREATE TYPE "Shop".span AS RANGE (subtype = float8);
CREATE COLLATION "Shop"."Num" (provider = icu, locale = 'en');
CREATE SEQUENCE "Shop".free START 7 INCREMENT 3;
CREATE FUNCTION "Shop".double(i int) RETURNS int LANGUAGE sql IMMUTABLE AS $$ SELECT i * 2; -- ' " $x$
$$;
CREATE FUNCTION "Shop".atomic(i int) RETURNS int LANGUAGE sql IMMUTABLE
	` + atomicBody + `;
CREATE FUNCTION "Shop".log() RETURNS trigger LANGUAGE plpgsql AS $body$
BEGIN
	RAISE EXCEPTION 'the trigger must not fire while rows are loaded; $$';
END $body$;
CREATE PROCEDURE "Shop".act() LANGUAGE plpgsql AS 'BEGIN NULL; END';
CREATE AGGREGATE "Shop".total(int) (sfunc = int4pl, stype = int, initcond = '0');
CREATE TABLE "Shop".customers (
	id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
	name text COLLATE "Shop"."Num" NOT NULL, mood "Shop".mood DEFAULT 'o;k',
	place "Shop".point, spans "Shop".span, doubled int GENERATED ALWAYS AS ("Shop".double(3)) STORED,
	parent bigint REFERENCES "Shop".customers DEFERRABLE INITIALLY DEFERRED);
CREATE TABLE "Shop".orders (
	id int DEFAULT nextval('"Shop".free') PRIMARY KEY,
	customer bigint NOT NULL REFERENCES "Shop".customers ON DELETE CASCADE,
	price "Shop".price, due daterange, CHECK ("Shop".double(id) > 0), EXCLUDE USING gist (due WITH &&));
ALTER TABLE "Shop".customers ADD COLUMN best int REFERENCES "Shop".orders;
CREATE INDEX by_name ON "Shop".customers USING gin (name gin_trgm_ops);
CREATE INDEX "by; price" ON "Shop".orders (price DESC) WHERE price > 1;
CREATE UNLOGGED TABLE "Shop".cache (k text PRIMARY KEY, v jsonb) WITH (fillfactor = 70);
CREATE TABLE "Shop".events (id int, day date, PRIMARY KEY (id, day)) PARTITION BY RANGE (day);
CREATE TABLE "Shop".events_1 PARTITION OF "Shop".events FOR VALUES FROM ('2026-01-01') TO ('2027-01-01');
CREATE TABLE "Shop".events_2 PARTITION OF "Shop".events DEFAULT;
CREATE INDEX by_day ON "Shop".events (day);
CREATE STATISTICS "Shop".stat ON customer, price FROM "Shop".orders;
COMMENT ON TABLE "Shop".orders IS E'a\nb; c';
COMMENT ON COLUMN "Shop".orders.price IS 'the price';
ALTER TABLE "Shop".orders REPLICA IDENTITY FULL, ENABLE ROW LEVEL SECURITY;
CREATE POLICY p ON "Shop".orders USING (price > 0);
INSERT INTO "Shop".customers (name, place) VALUES ('a', '(1,2)'), ('b', NULL);
INSERT INTO "Shop".orders (customer, price) VALUES (1, 5), (1, 7);
UPDATE "Shop".customers SET best = 7, parent = 2 WHERE id = 1;
SET CONSTRAINTS ALL IMMEDIATE;
CREATE TRIGGER log BEFORE INSERT ON "Shop".customers FOR EACH ROW EXECUTE FUNCTION "Shop".log();
CREATE RULE also AS ON UPDATE TO "Shop".cache DO ALSO (SELECT 1; SELECT 2);
CREATE VIEW "Shop".rich AS SELECT c.id, c.name, sum(o.price) AS total FROM "Shop".customers c
	JOIN "Shop".orders o ON o.customer = c.id GROUP BY c.id;
CREATE MATERIALIZED VIEW public."m 2" AS SELECT * FROM "Shop".rich;
CREATE MATERIALIZED VIEW public."m 1" AS SELECT count(*) FROM public."m 2";
CREATE UNIQUE INDEX m_key ON public."m 2" (id);
CREATE MATERIALIZED VIEW public.empty AS SELECT 1 AS a WITH NO DATA;
CREATE ACCESS METHOD heap2 TYPE TABLE HANDLER heap_tableam_handler;
SET default_table_access_method = heap2;
CREATE MATERIALIZED VIEW public.m_a AS SELECT id, name, mood FROM "Shop".customers GROUP BY id;
SET default_table_access_method = heap;
CREATE MATERIALIZED VIEW public.m_b AS SELECT id, name, mood FROM "Shop".customers GROUP BY id;
SET default_table_access_method = heap2;
CREATE MATERIALIZED VIEW public.m_c AS SELECT id, name, mood FROM "Shop".customers GROUP BY id;
RESET default_table_access_method;
COMMENT ON INDEX "Shop".by_name IS 'for search';
COMMENT ON EXTENSION pg_trgm IS 'it''s ours';
COMMENT ON EXTENSION plpgsql IS NULL;
CREATE PUBLICATION pub FOR TABLE "Shop".orders;
REFRESH MATERIALIZED VIEW public."m 2";
REFRESH MATERIALIZED VIEW public."m 1";
SELECT nextval('"Shop".free');
CREATE FUNCTION public.begin() RETURNS event_trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION '%', tg_tag; END $$;
CREATE EVENT TRIGGER forbids ON ddl_command_start WHEN TAG IN ('REFRESH MATERIALIZED VIEW', 'COMMENT', 'DROP SCHEMA')
	EXECUTE FUNCTION public.begin();
ALTER EVENT TRIGGER forbids ENABLE ALWAYS`

// dump returns what pg_dump prints of the schema of a database, without the lines that are new each time.
func dump(t *testing.T, database *testkit.PostgresDatabase) string {
	t.Helper()
	text, err := exec.Command("pg_dump", "--schema-only", "-d", database.ConnString()).Output()
	if err != nil {
		t.Fatal("pg_dump:", err)
	}
	var lines []string
	for line := range strings.Lines(string(text)) {
		if !strings.HasPrefix(line, `\restrict`) && !strings.HasPrefix(line, `\unrestrict`) {
			lines = append(lines, line)
		}
	}
	return strings.Join(lines, "")
}

// schemaOf returns the schema of a database.
func schemaOf(t *testing.T, database *testkit.PostgresDatabase) *source.Schema {
	t.Helper()
	src, err := postgres.OpenSource(t.Context(), database.ConnString())
	if err != nil {
		t.Fatal(err)
	}
	schema, err := src.Schema(t.Context(), source.SchemaConfig{Grants: true})
	if err := errors.Join(err, src.Close()); err != nil {
		t.Fatal(err)
	}
	return schema
}

// fillAll copies the rows of all tables by SQL of the server.
func fillAll(t *testing.T, to, from *testkit.PostgresDatabase) {
	t.Helper()
	for _, table := range []string{
		`"Shop".customers (id, name, mood, place, spans, parent, best)`, `"Shop".orders (id, customer, price, due)`,
	} {
		rows := from.Psql(t, "-c", "COPY "+table+" TO STDOUT")
		cmd := to.PsqlCommand(t, "-c", "COPY "+table+" FROM STDIN")
		cmd.Stdin = strings.NewReader(string(rows))
		if said, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, said)
		}
	}
}

// TestSchema makes a database again, and compares what pg_dump prints of both.
func TestSchema(t *testing.T) {
	server := testkit.Postgres(t)
	from, to := server.NewDatabase(t), server.NewDatabase(t)
	from.Exec(t, everything(t))
	schema := schemaOf(t, from)
	if len(schema.Lacks) > 0 {
		t.Errorf("the schema lacks %q", schema.Lacks)
	}
	dst, err := postgres.OpenSink(t.Context(), to.ConnString())
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := dst.Close(); err != nil {
			t.Error(err)
		}
	}()
	restoration, err := dst.Restore(t.Context(), "a load", schema, sink.Filling{})
	if err != nil {
		t.Fatal(err)
	}
	fillAll(t, to, from)
	if err := restoration.Finish(t.Context(), 3); err != nil {
		t.Fatal(err)
	}
	if want, got := dump(t, from), dump(t, to); want != got {
		t.Errorf("the schema\n%s\nbecomes\n%s", want, got)
	}
	for _, query := range []string{
		`SELECT last_value, is_called FROM "Shop".free`, `SELECT last_value, is_called FROM "Shop".customers_id_seq`,
		`SELECT * FROM public."m 1"`, `SELECT * FROM public."m 2"`,
		`SELECT relname, relispopulated FROM pg_class WHERE relkind = 'm' ORDER BY 1`,
	} {
		want, got := from.Query(t, query), to.Query(t, query)
		if strings.Join(flat(want), "|") != strings.Join(flat(got), "|") {
			t.Errorf("%s: %q becomes %q", query, want, got)
		}
	}
}

// TestSchemaUnderSettings makes a database again whose settings change how strings and names are printed and read.
func TestSchemaUnderSettings(t *testing.T) {
	server := testkit.Postgres(t)
	from, to := server.NewDatabase(t), server.NewDatabase(t)
	from.Exec(t, `
		CREATE TABLE t (a text DEFAULT 'a\b''c', b bytea DEFAULT '\x005c27', CHECK (a <> '\'''));
		COMMENT ON TABLE t IS 'back\slash''';
		CREATE FUNCTION f() RETURNS text LANGUAGE sql AS 'SELECT ''\''::text';
		CREATE VIEW v AS SELECT 'x\'::text AS "C", a FROM t; CREATE INDEX i ON t ((a || '\'))`)
	want := dump(t, from)
	for _, database := range []*testkit.PostgresDatabase{from, to} {
		for _, setting := range []string{
			"standard_conforming_strings = off", "quote_all_identifiers = on", "bytea_output = escape",
			"backslash_quote = off",
		} {
			database.Exec(t, "ALTER DATABASE "+database.Name+" SET "+setting)
		}
	}
	schema := schemaOf(t, from)
	restoreWithoutTables(t, to, schema)
	to.Exec(t, "ALTER DATABASE "+to.Name+" RESET ALL")
	if got := dump(t, to); want != got {
		t.Errorf("the schema\n%s\nbecomes\n%s", want, got)
	}
}

// TestSchemaUnfilled makes a materialized view again that has rows, but reads one that has none any more.
func TestSchemaUnfilled(t *testing.T) {
	server := testkit.Postgres(t)
	from, to := server.NewDatabase(t), server.NewDatabase(t)
	from.Exec(t, `CREATE MATERIALIZED VIEW a AS SELECT 1 AS n; CREATE VIEW b AS SELECT n FROM a;
		CREATE MATERIALIZED VIEW c AS SELECT n FROM b; CREATE MATERIALIZED VIEW d AS SELECT n FROM c;
		CREATE MATERIALIZED VIEW e AS SELECT 1 AS n; REFRESH MATERIALIZED VIEW a WITH NO DATA`)
	schema := schemaOf(t, from)
	const want = `^the rows of the materialized view public\.c, .* the rows of the materialized view public\.d, `
	lacks := strings.Join(schema.Lacks, " ")
	if len(schema.Lacks) != 2 || !regexp.MustCompile(want).MatchString(lacks) {
		t.Errorf("the schema lacks %q", schema.Lacks)
	}
	restoreWithoutTables(t, to, schema)
	filled := to.Query(t, "SELECT relname FROM pg_class WHERE relkind = 'm' AND relispopulated")
	if got := strings.Join(flat(filled), " "); got != "e" {
		t.Errorf("the views %s have rows", got)
	}
}

// restoreWithoutTables makes a schema again, and fills none of its tables.
func restoreWithoutTables(t *testing.T, to *testkit.PostgresDatabase, schema *source.Schema) {
	t.Helper()
	dst, err := postgres.OpenSink(t.Context(), to.ConnString())
	if err != nil {
		t.Fatal(err)
	}
	restoration, err := dst.Restore(t.Context(), "a load", schema, sink.Filling{})
	if err == nil {
		err = restoration.Finish(t.Context(), 0)
	}
	if err := errors.Join(err, dst.Close()); err != nil {
		t.Fatal(err)
	}
}

func flat(rows [][]string) (all []string) {
	for _, row := range rows {
		all = append(all, row...)
	}
	return all
}

var (
	_ source.Schemer = (*postgres.Source)(nil)
	_ sink.Restorer  = (*postgres.Sink)(nil)
)

// TestSchemaOfChunks refuses a database whose extension keeps the rows of tables in its own.
func TestSchemaOfChunks(t *testing.T) {
	database := testkit.Postgres(t).NewDatabase(t)
	database.Exec(t, `CREATE TABLE t (id int); CREATE SCHEMA chunks; CREATE EXTENSION pg_trgm;
		ALTER EXTENSION pg_trgm ADD SCHEMA chunks; CREATE TABLE chunks.one () INHERITS (t)`)
	src, err := postgres.OpenSource(t.Context(), database.ConnString())
	if err != nil {
		t.Fatal(err)
	}
	_, err = src.Schema(t.Context(), source.SchemaConfig{})
	if none, is := errors.AsType[*source.NoSchemaError](err); !is || !strings.Contains(none.Reason, `"chunks.one"`) {
		t.Errorf("the error is %v", err)
	}
	if err := src.Close(); err != nil {
		t.Error(err)
	}
}

// TestSchemaLacks has what holds passwords, a large object, and what belongs to the database itself. They do not come
// along, and are named.
func TestSchemaLacks(t *testing.T) {
	database := testkit.Postgres(t).NewDatabase(t)
	database.Exec(t, `CREATE FOREIGN DATA WRAPPER w; CREATE SERVER s FOREIGN DATA WRAPPER w;
		CREATE USER MAPPING FOR PUBLIC SERVER s OPTIONS (password 'hunter2'); SELECT lo_create(0)`)
	database.Exec(t, `CREATE SUBSCRIPTION sub CONNECTION 'password=hunter2' PUBLICATION p WITH (connect = false)`)
	t.Cleanup(func() {
		database.Exec(t, "ALTER SUBSCRIPTION sub SET (slot_name = NONE)")
		database.Exec(t, "DROP SUBSCRIPTION sub")
	})
	database.Exec(t, `COMMENT ON DATABASE `+database.Name+` IS 'the shop';
		ALTER DATABASE `+database.Name+` SET work_mem = '77MB'; ALTER DATABASE `+database.Name+` SET my.key = 'hunter2';
		ALTER ROLE postgres IN DATABASE `+database.Name+` SET work_mem = '78MB'`)
	schema := schemaOf(t, database)
	want := []string{
		`the comment of the database`, `the setting "my.key" of the database`,
		`the setting "work_mem" of "postgres" in the database`, `the setting "work_mem" of the database`,
		`the subscription "sub"`, `the user mapping of "public" for the server "s"`, "1 large object",
	}
	if !slices.Equal(schema.Lacks, want) {
		t.Errorf("the schema lacks %q, want %q", schema.Lacks, want)
	}
	for _, one := range schema.Statements {
		if strings.Contains(one.SQL, "hunter2") {
			t.Errorf("there is a password in %s", one.SQL)
		}
	}
}
