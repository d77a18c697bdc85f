package load_test

import (
	"context"
	"errors"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"culvert/export"
	"culvert/internal/testkit"
	"culvert/load"
	"culvert/place/dir"
	"culvert/postgres"
	"culvert/sink"
	"culvert/source"
)

// shop is a database whose tables need more than their own definitions have.
const shop = `
CREATE SCHEMA shop;
CREATE TYPE shop.mood AS ENUM ('sad', 'ok');
CREATE DOMAIN shop.price AS numeric(10,2) CHECK (VALUE >= 0);
CREATE SEQUENCE shop.numbers START 100;
CREATE FUNCTION shop.refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE 'fired'; END $$;
CREATE TABLE shop.customers (id int DEFAULT nextval('shop.numbers') PRIMARY KEY, mood shop.mood, best int);
CREATE TABLE shop.orders (id int PRIMARY KEY, customer int NOT NULL REFERENCES shop.customers, price shop.price);
ALTER TABLE shop.customers ADD FOREIGN KEY (best) REFERENCES shop.orders;
CREATE TABLE shop.events (id int, day date NOT NULL) PARTITION BY RANGE (day);
CREATE TABLE shop.events_1 PARTITION OF shop.events FOR VALUES FROM ('2026-01-01') TO ('2027-01-01');
CREATE TABLE shop.events_2 PARTITION OF shop.events DEFAULT;
CREATE TABLE shop.empty (a int);
CREATE TABLE shop.people (id int PRIMARY KEY, name text);
CREATE TABLE shop.members () INHERITS (shop.people);
CREATE TABLE shop.owners (id int, share numeric) INHERITS (shop.members);
CREATE TABLE shop.payers (card text);
CREATE TABLE shop.sponsors (since date) INHERITS (shop.owners, shop.payers);
CREATE MATERIALIZED VIEW shop.totals AS SELECT customer, sum(price) AS total FROM shop.orders GROUP BY customer;
INSERT INTO shop.customers (mood) SELECT 'ok' FROM generate_series(1, 500);
INSERT INTO shop.orders SELECT i, 100 + i % 500, i FROM generate_series(1, 3000) i;
UPDATE shop.customers SET best = id WHERE id < 200;
INSERT INTO shop.people SELECT i, 'p' || i FROM generate_series(1, 400) i;
INSERT INTO shop.members SELECT i, 'm' || i FROM generate_series(1, 300) i;
INSERT INTO shop.owners SELECT i, 'o' || i, i / 2.0 FROM generate_series(1, 200) i;
INSERT INTO shop.payers SELECT 'c' || i FROM generate_series(1, 100) i;
INSERT INTO shop.sponsors SELECT i, 's' || i, i, 'd' || i, '2026-01-01'::date + i FROM generate_series(1, 50) i;
INSERT INTO shop.events SELECT i, '2025-06-01'::date + i FROM generate_series(1, 700) i;
CREATE TRIGGER refuse BEFORE INSERT ON shop.orders FOR EACH ROW EXECUTE FUNCTION shop.refuse();
REFRESH MATERIALIZED VIEW shop.totals`

// dumped returns all that pg_dump prints of a database, as sorted lines.
func dumped(t *testing.T, database *testkit.PostgresDatabase) []string {
	t.Helper()
	text, err := exec.Command("pg_dump", "-d", database.ConnString()).Output()
	if err != nil {
		t.Fatal("pg_dump:", err)
	}
	lines := slices.DeleteFunc(strings.Split(string(text), "\n"), func(line string) bool {
		return strings.HasPrefix(line, `\`)
	})
	slices.Sort(lines)
	return lines
}

// exportDatabase exports all tables of a database with its schema, in parts unless their size is 0.
func exportDatabase(t *testing.T, database *testkit.PostgresDatabase, partSize int64) *export.Directory {
	t.Helper()
	to, err := dir.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := to.Close(); err != nil {
			t.Error(err)
		}
	})
	src := openPostgres(t, database)
	schema, err := src.(source.Schemer).Schema(t.Context(), source.SchemaConfig{ForTables: true})
	if err != nil {
		t.Fatal(err)
	}
	if schema.OwnRows {
		source.Separate(src)
	}
	names, err := src.(source.Lister).Tables(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	plan := export.Plan{Unencrypted: true, Schema: schema, PartSize: partSize}
	if _, err := plan.Tables(t.Context(), to, src, names); err != nil {
		t.Fatal(err)
	}
	from, err := export.OpenDirectory(to)
	if err != nil {
		t.Fatal(err)
	}
	return from
}

func newSink(t *testing.T, database *testkit.PostgresDatabase) *postgres.Sink {
	t.Helper()
	db, err := postgres.OpenSink(t.Context(), database.ConnString())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	return db
}

func TestDatabase(t *testing.T) {
	server := testkit.Postgres(t)
	database := server.NewDatabase(t)
	database.Exec(t, shop)
	from, parted := exportDatabase(t, database, 0), exportDatabase(t, database, 8<<10)
	want := dumped(t, database)
	for loaders, from := range map[int]*export.Directory{1: from, 3: parted} {
		again := server.NewDatabase(t)
		plan := load.Plan{Loaders: loaders, ReadBack: true}
		all, err := plan.Database(t.Context(), newSink(t, again), from, "a load")
		if err != nil {
			t.Fatal(err)
		}
		if len(all) != 9 {
			t.Errorf("%d tables were loaded", len(all))
		}
		compared := openPostgres(t, again)
		if err := from.Compare(t.Context(), compared, 1, nil, nil, nil); err != nil {
			t.Error("the database is not that of the export:", err)
		}
		if got := dumped(t, again); !slices.Equal(got, want) {
			t.Errorf("the database becomes\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
	}
	copied := server.NewDatabase(t)
	src := openPostgres(t, database)
	schema, err := src.(source.Schemer).Schema(t.Context(), source.SchemaConfig{})
	if err != nil {
		t.Fatal(err)
	}
	var names []load.Names
	for i := range from.Manifest.Tables {
		names = append(names, load.Names{From: from.Manifest.Tables[i].Name, To: from.Manifest.Tables[i].Name})
	}
	plan := load.Plan{Loaders: 2, ReadBack: true}
	if _, err := plan.CopyDatabase(t.Context(), newSink(t, copied), src, schema, names); err != nil {
		t.Fatal(err)
	}
	if got := dumped(t, copied); !slices.Equal(got, want) {
		t.Errorf("the copy is another one:\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// TestDatabaseGoesOn ends a load in each of its phases, and runs it again.
func TestDatabaseGoesOn(t *testing.T) {
	server := testkit.Postgres(t)
	database := server.NewDatabase(t)
	database.Exec(t, shop)
	from := exportDatabase(t, database, 0)
	want := dumped(t, database)

	again := server.NewDatabase(t)
	again.Exec(t, `CREATE SCHEMA shop`) // which the load makes
	var failed *sink.StatementsError
	plan := load.Plan{Loaders: 2}
	_, err := plan.Database(t.Context(), newSink(t, again), from, "a load")
	if !errors.As(err, &failed) || len(failed.Failed) != 1 || failed.Failed[0].SQL != "CREATE SCHEMA shop" {
		t.Fatalf("a schema that exists: %v", err)
	}
	again.Exec(t, `DROP SCHEMA shop`)

	// A session that holds a table ends the rows, and what was committed stays.
	ctx, cancel := context.WithCancel(t.Context())
	stopping := load.Plan{Progress: new(load.Progress), Check: nil}
	go func() {
		testkit.WaitFor(t, "rows", func() bool { return stopping.Progress.Rows.Load() > 0 })
		cancel()
	}()
	if _, err := stopping.Database(ctx, newSink(t, again), from, "a load"); err == nil {
		t.Fatal("a load that was canceled succeeds")
	}
	cancel()
	_, err = plan.Database(t.Context(), newSink(t, again), from, "another load")
	if !errors.Is(err, sink.ErrOtherRestore) {
		t.Fatalf("another load: %v", err)
	}

	// A statement after the rows fails, and the others are run.
	again.Exec(t, `CREATE FUNCTION shop.no() RETURNS event_trigger LANGUAGE plpgsql AS $$ BEGIN
		IF tg_tag = 'CREATE TRIGGER' THEN RAISE 'no triggers'; END IF; END $$;
		CREATE EVENT TRIGGER no ON ddl_command_end EXECUTE FUNCTION shop.no()`)
	_, err = plan.Database(t.Context(), newSink(t, again), from, "a load")
	if !errors.As(err, &failed) || len(failed.Failed) != 1 ||
		!strings.HasPrefix(failed.Failed[0].SQL, "CREATE TRIGGER refuse") {
		t.Fatalf("a statement that fails: %v", err)
	}
	again.Exec(t, `DROP EVENT TRIGGER no; DROP FUNCTION shop.no`)
	if _, err := plan.Database(t.Context(), newSink(t, again), from, "a load"); err != nil {
		t.Fatal(err)
	}
	if got := dumped(t, again); !slices.Equal(got, want) {
		t.Errorf("the database becomes another one:\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// TestSchemaOnlyThenDatabase makes only the schema, which fails, and then the database: its rows must come.
func TestSchemaOnlyThenDatabase(t *testing.T) {
	server := testkit.Postgres(t)
	database, again := server.NewDatabase(t), server.NewDatabase(t)
	database.Exec(t, shop)
	from := exportDatabase(t, database, 0)
	again.Exec(t, `CREATE FUNCTION no() RETURNS event_trigger LANGUAGE plpgsql AS $$ BEGIN
		IF tg_tag = 'CREATE TRIGGER' THEN RAISE 'no triggers'; END IF; END $$;
		CREATE EVENT TRIGGER no ON ddl_command_end EXECUTE FUNCTION no()`)
	plan := load.Plan{SchemaOnly: true}
	if _, err := plan.Database(t.Context(), newSink(t, again), from, "a load"); err == nil {
		t.Fatal("a statement that fails is not noticed")
	}
	again.Exec(t, `DROP EVENT TRIGGER no; DROP FUNCTION no`)
	plan.SchemaOnly = false
	if _, err := plan.Database(t.Context(), newSink(t, again), from, "a load"); !errors.Is(err, sink.ErrOtherRestore) {
		t.Fatalf("the rows after a schema alone: %v", err)
	}
	plan.SchemaOnly = true
	if _, err := plan.Database(t.Context(), newSink(t, again), from, "a load"); err != nil {
		t.Fatal(err)
	}
}

// TestDatabaseTables makes chosen tables of a whole database alone, with what they need.
func TestDatabaseTables(t *testing.T) {
	server := testkit.Postgres(t)
	database, again := server.NewDatabase(t), server.NewDatabase(t)
	database.Exec(t, shop)
	from := exportDatabase(t, database, 0)
	plan := load.Plan{Create: true}
	chosen := map[string]string{"shop.customers": "", "shop.orders": ""}
	planned, err := plan.Preview(t.Context(), newSink(t, again), from, chosen)
	if err != nil {
		t.Fatal(err)
	}
	statements, err := plan.PreviewNeeds(t.Context(), newSink(t, again), from, planned)
	if err != nil || len(statements) == 0 {
		t.Errorf("the tables would need %v, error %v", statements, err)
	}
	if _, err := plan.Directory(t.Context(), newSink(t, again), from, chosen); err != nil {
		t.Fatal(err)
	}
	found := again.Query(t, `SELECT count(*), max(id), nextval('shop.numbers'), (SELECT count(*) FROM pg_type
		WHERE typname IN ('mood', 'price')) FROM shop.customers`)
	if got := strings.Join(found[0], " "); got != "500 599 600 2" {
		t.Errorf("the tables were made with %s", got)
	}
}
