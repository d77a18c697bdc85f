package load_test

import (
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"culvert/export"
	"culvert/internal/testkit"
	"culvert/load"
	"culvert/mysql"
	"culvert/postgres"
	"culvert/sink"
	"culvert/sink/dialect"
	"culvert/source"
	"culvert/sqlite"
)

// newPostgres makes a database by SQL, and opens it to be filled.
func newPostgres(t *testing.T, sql string) (*testkit.PostgresDatabase, sink.Sink) {
	t.Helper()
	database := testkit.Postgres(t).NewDatabase(t)
	database.Exec(t, sql)
	dst, err := postgres.OpenSink(t.Context(), database.ConnString())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { closing(t, dst) })
	return database, dst
}

// openPostgres opens a database to be read, as it is now.
func openPostgres(t *testing.T, database *testkit.PostgresDatabase) source.Source {
	t.Helper()
	src, err := postgres.OpenSource(t.Context(), database.ConnString())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { closing(t, src) })
	return src
}

// newSQLite makes an empty database, and opens it to be filled.
func newSQLite(t *testing.T) (path string, dst sink.Sink) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "new.db")
	dst, err := sqlite.CreateSink(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { closing(t, dst) })
	return path, dst
}

func openSQLite(t *testing.T, path string) source.Source {
	t.Helper()
	src, err := sqlite.OpenSource(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { closing(t, src) })
	return src
}

// create copies a table that is made, and its foreign keys.
func create(t *testing.T, dst sink.Sink, src source.Source, from, to string) load.Stats {
	t.Helper()
	plan := load.Plan{Create: true, Analyze: true}
	if _, err := plan.PreviewCopy(t.Context(), dst, src, from, to); err != nil {
		t.Fatal(err)
	}
	stats, err := plan.Copy(t.Context(), dst, src, from, to)
	if err != nil {
		t.Fatal(err)
	}
	if err := load.Finish(t.Context(), dst, []load.Stats{stats}); err != nil {
		t.Fatal(err)
	}
	return stats
}

func expectOmitted(t *testing.T, stats load.Stats, want ...string) {
	t.Helper()
	if !slices.Equal(stats.Omitted, want) {
		t.Errorf("table %q was made without %q, want %q", stats.Name, stats.Omitted, want)
	}
}

func expectCSV(t *testing.T, src source.Source, table, want string) {
	t.Helper()
	if got := strings.Join(csvOf(t, src, table), ""); got != want {
		t.Errorf("table %q has the rows\n%s\nwant\n%s", table, got, want)
	}
}

const goldenSQL = `
CREATE SCHEMA app;
CREATE TABLE app.golden (id int GENERATED ALWAYS AS IDENTITY, small smallint, large bigint NOT NULL DEFAULT -7,
	yes boolean DEFAULT true, price numeric(10,2), single real, twofold double precision, fixed char(4),
	short varchar(20) UNIQUE, long text, data bytea, day date, clock time, at timestamp(3),
	zoned timestamptz DEFAULT now(),	id2 uuid, more jsonb,
	PRIMARY KEY (id), CHECK (id > 0));
CREATE INDEX golden_day ON app.golden (day, small);
INSERT INTO app.golden VALUES (DEFAULT, -32768, 9223372036854775807, true, 1.50, 1.5e-10, 5e-324, 'ab', 'a "b", c',
	E'line\nline', '\x00ff', '2024-02-29', '23:59:59.123456', '2024-02-29 23:59:59.123',
	'2024-02-29 23:59:59.123456+05:30',
	'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11',
	'{"a": [1, null]}'),
	(DEFAULT, NULL, -1, false, NULL, '1e30', '-0.5', NULL, NULL, '', '', '-infinity', NULL, NULL, NULL, NULL, NULL),
	(DEFAULT, 0, 0, NULL, -99999999.99, 'NaN', 1e300, '', '', NULL, NULL, '0044-03-15 BC', '00:00', '1970-01-01',
	'infinity',
	NULL, 'null')`

// TestCreateOther takes a table from PostgreSQL to SQLite, and from an export of that to PostgreSQL: it has the same
// rows, and what was carried over.
func TestCreateOther(t *testing.T) {
	from, _ := newPostgres(t, goldenSQL)
	src := openPostgres(t, from)
	path, lite := newSQLite(t)
	expectOmitted(t, create(t, lite, src, "app.golden", "app.golden"))
	middle := openSQLite(t, path)
	to, dst := newPostgres(t, "CREATE TABLE unrelated (a int)")
	backup := newBackupOf(t, middle, export.Plan{}, 0, "golden")
	plan := load.Plan{Create: true}
	all, err := plan.Directory(t.Context(), dst, backup.Directory, map[string]string{"golden": "new.golden2"})
	if err != nil {
		t.Fatal(err)
	}
	expectOmitted(t, all[0])
	const rowsSQL = "SELECT string_agg(g::text, E'\\n' ORDER BY id) FROM "
	want := from.Query(t, rowsSQL+"app.golden g")[0][0]
	want = strings.Replace(want, ",1.50,", ",1.5,", 1) // SQLite keeps no zeros
	if got := to.Query(t, rowsSQL+"new.golden2 g")[0][0]; got != want {
		t.Errorf("the rows are\n%s\nwant\n%s", got, want)
	}
	to.Exec(t, "INSERT INTO new.golden2 (short) VALUES ('numbered')")
	const madeSQL = `SELECT g.id, g.large, g.yes,
		(SELECT string_agg(contype::text, '' ORDER BY contype) FROM pg_constraint
			WHERE conrelid = 'new.golden2'::regclass),
		(SELECT count(*) FROM pg_index WHERE indrelid = 'new.golden2'::regclass)
		FROM new.golden2 g WHERE short = 'numbered'`
	if got := strings.Join(to.Query(t, madeSQL)[0], " "); got != "4 -7 t cpu 3" {
		t.Errorf("the table has %s", got)
	}
}

// TestCreateUntyped keeps all digits in SQLite.
func TestCreateUntyped(t *testing.T) {
	database, _ := newPostgres(t, "CREATE TABLE t (a numeric, b numeric(30,10)); INSERT INTO t VALUES "+
		"(123456789012345678901234567890.5, 12345678901234567890.0123456789), (1, 2.5), (NULL, 'NaN')")
	path, lite := newSQLite(t)
	expectOmitted(t, create(t, lite, openPostgres(t, database), "t", "t"))
	expectCSV(t, openSQLite(t, path), "t", ",NaN\n1,2.5000000000\n"+
		"123456789012345678901234567890.5,12345678901234567890.0123456789\n")
}

// TestCreateFromMariaDB takes a table of MariaDB to both others.
func TestCreateFromMariaDB(t *testing.T) {
	database := testkit.MariaDB(t).NewDatabase(t)
	database.Exec(t, `CREATE TABLE golden (id int unsigned NOT NULL AUTO_INCREMENT PRIMARY KEY,
		flag tinyint(1) NOT NULL DEFAULT 1, big bigint unsigned, price decimal(10,2) DEFAULT 0.50, single float,
		twofold double, fixed char(4), short varchar(20), lng longtext, mood enum('sad','it''s'),
		data varbinary(10), bits bit(3), y year, day date, clock time(2),
		at datetime(3), stamp timestamp NULL, twice int AS (flag * 2) STORED, more json,
		UNIQUE KEY short (short), KEY price (price, day), CHECK (flag >= 0))`)
	database.Exec(t, `INSERT INTO golden (flag, big, price, single, twofold, fixed, short, lng, mood, data, bits, y,
		day, clock, at, stamp, more)
		VALUES (2, 18446744073709551615, 1.5, 0.1, 5e-300, 'ab', 'a "b"', 'x\ny', 'it''s', x'00ff', b'101', 2024,
			'2024-02-29', '23:59:59.12', '2024-02-29 23:59:59.123', FROM_UNIXTIME(1), '{"a": 1}')`)
	database.Exec(t, "INSERT INTO golden (flag) VALUES (0)")
	src, err := mysql.OpenSource(t.Context(), database.URL())
	if err != nil {
		t.Fatal(err)
	}
	defer closing(t, src)
	omitted := []string{
		`the generated column "twice"`, "CHECK (json_valid(`more`)) of column \"more\"",
	}

	to, dst := newPostgres(t, "CREATE TABLE unrelated (a int)")
	stats := create(t, dst, src, "golden", "golden")
	stats.Omitted = slices.DeleteFunc(stats.Omitted, isCollation)
	expectOmitted(t, stats, omitted...)
	expectCSV(t, openPostgres(t, to), "golden", `1,2,18446744073709551615,1.50,0.1,5e-300,ab  ,"a ""b""","x`+"\n"+
		`y",it's,\x00ff,5,2024,2024-02-29,`+
		"23:59:59.12,2024-02-29 23:59:59.123,1970-01-01 00:00:01+00,\"{\"\"a\"\": 1}\"\n"+
		"2,0,,0.50,,,,,,,,,,,,,,\n")
	to.Exec(t, "INSERT INTO golden (short) VALUES ('numbered')")
	const madeSQL = `SELECT id, flag, price FROM golden WHERE short = 'numbered'`
	if got := strings.Join(to.Query(t, madeSQL)[0], " "); got != "3 1 0.50" {
		t.Errorf("the table has %s", got)
	}

	path, lite := newSQLite(t)
	stats = create(t, lite, src, "golden", "renamed")
	stats.Omitted = slices.DeleteFunc(stats.Omitted, isCollation)
	expectOmitted(t, stats, omitted...)
	expectCSV(t, openSQLite(t, path), "renamed", `1,2,18446744073709551615,1.5,0.1,5.0e-300,ab,"a ""b""","x`+"\n"+
		`y",it's,\x00ff,5,`+
		"2024,2024-02-29,23:59:59.12,2024-02-29 23:59:59.123,1970-01-01 00:00:01,\"{\"\"a\"\": 1}\"\n"+
		"2,0,,0.5,,,,,,,,,,,,,,\n")
}

// isCollation reports whether something is a collation, which depends on the version of the server.
func isCollation(omitted string) bool { return strings.HasPrefix(omitted, "the collation") }

// TestCreateNoEqual refuses tables by the names of their columns, and leaves nothing behind.
func TestCreateNoEqual(t *testing.T) {
	database, dst := newPostgres(t, "CREATE TABLE t (a int, tags text[])")
	src := openPostgres(t, database)
	path, lite := newSQLite(t)
	plan := load.Plan{Create: true}
	_, err := plan.Copy(t.Context(), lite, src, "t", "t")
	refused, is := errors.AsType[*dialect.TypeError](err)
	if !is || *refused != (dialect.TypeError{Table: "t", Column: "tags", Type: "text[]", To: source.SQLite}) {
		t.Errorf("%v", err)
	}
	if found, err := openSQLite(t, path).(source.Lister).Tables(t.Context(), ""); len(found) > 0 || err != nil {
		t.Errorf("there are %q, %v", found, err)
	}
	_, err = plan.PreviewCopy(t.Context(), dst, newShop(t), "items", "pg_catalog.items")
	if err != nil {
		t.Errorf("a preview: %v", err)
	}
	if _, err = plan.Copy(t.Context(), dst, newShop(t), "items", "t"); !errors.Is(err, sink.ErrExists) {
		t.Errorf("a table that exists, with other columns: %v", err)
	}
}
