package read_test

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"culvert/internal/testkit"
	"culvert/source"
)

// nastySQL makes a table of all that is hard to print.
const nastySQL = `
CREATE TYPE mood AS ENUM ('so so', 'a,b');
CREATE TYPE pair AS (a int, b text);
CREATE DOMAIN quantity AS numeric(12,3) CHECK (VALUE > 0);
CREATE DOMAIN secret AS bytea;
CREATE TABLE nasty (
	id bigint, "Odd ""Name"", x" text, n numeric, f4 real, f8 double precision, d date, ts timestamp,
	tstz timestamptz, tz timetz, iv interval, ta text[], ia int[], r int4range, mr datemultirange, p pair, m mood,
	q quantity, s secret, b bytea, j json, jb jsonb, yes boolean, x xml, c char(5), u uuid, "a""b" text, bits bit(4),
	vec tsvector, ip inet, box box, path path, class regclass
);`

var nastyRows = []string{
	`INSERT INTO nasty (id) VALUES (1)`,
	`INSERT INTO nasty (id, "Odd ""Name"", x") VALUES (2, ''), (3, 'NULL'), (4, '\.'), (5, E'\\N'), (6, E'a\nb'),
		(7, E'a\r\nb'), (8, 'a,b'), (9, 'say "hi"'), (10, '"'), (11, ' x '), (12, E'tab\there'), (13, E'\x01\x1f'),
		(14, 'grüße ✓ 表 🜄' || U&'\202E'), (15, repeat('"', 100)), (16, E'\\'),
		(17, E'\n'), (18, ','), (19, 'a;b'), (20, '''')`,
	`INSERT INTO nasty (id, n) VALUES (21, 'NaN'), (22, 'Infinity'), (23, '-Infinity'), (24, 1e-1000), (25, -0.0),
		(26, (repeat('9', 1000) || '.' || repeat('1', 1000))::numeric), (27, 1e131071)`,
	`INSERT INTO nasty (id, f4, f8) VALUES (31, 'NaN', 'NaN'), (32, 'Infinity', '-Infinity'), (33, '-0', '-0'),
		(34, 0.1, 0.1), (35, 1e38, 1.7976931348623157e308), (36, 1e-45, 5e-324), (37, 16777216, 123456789012345680)`,
	`INSERT INTO nasty (id, d, ts, tstz) VALUES (41, 'infinity', 'infinity', '-infinity'),
		(42, '0001-01-01 BC', '4713-01-01 00:00 BC', '0005-02-29 12:00+01 BC'),
		(43, '99999-12-31', '294276-12-31 23:59:59.999999', '2024-01-01 00:00:00.000001+14'),
		(44, '2024-02-29', '1883-11-18 12:03:58', '1883-11-18 12:03:58-05')`,
	`INSERT INTO nasty (id, tz, iv) VALUES (51, '23:59:59.5+05:30', '-1 year +2 mons -3 days +04:05:06.789'),
		(52, '24:00:00-15:59', '0'), (53, '00:00+00', '178000000 years')`,
	`INSERT INTO nasty (id, ta, ia, r, mr) VALUES
		(61, ARRAY[NULL, 'NULL', '', 'a,b', 'q"q', E'b\\s', '{}', E'n\nl'], '[-1:0]={1,2}', 'empty', '{}'),
		(62, '{{a,b},{c,d}}', '{}', '(,5]', '{[2024-01-01,2024-02-01),[2024-03-01,)}')`,
	`INSERT INTO nasty (id, p, m, q, s, b) VALUES (71, ROW(NULL, ''), 'so so', 1, '\x00', '\xdeadbeef'),
		(72, ROW(1, 'a,"b"'), 'a,b', 123456789.125, '', ''), (73, ROW(NULL, NULL), NULL, NULL, '\x5c6e', '\x0a22')`,
	`INSERT INTO nasty (id, j, jb, yes) VALUES
		(81, '{"a" : [1,  2.50, "x\ty"], "a":null}', '{"b":1e400,"a":"\u00e9"}', true),
		(82, ' "s" ', 'null', false), (83, E'{\n}', '[]', NULL)`,
	`INSERT INTO nasty (id, x, c, u, "a""b", bits, vec, ip, box, path) VALUES
		(91, '<a b="c">d</a>', 'ab', '00000000-0000-0000-0000-000000000001', 'z', '0101', 'a:1 b:2', '::1/128',
		'((1,1),(0,0.1))', '((0,0),(1,1e-300))')`,
	`INSERT INTO nasty (id, class) VALUES (101, 'nasty'), (102, 'pg_class')`,
}

// hostileSQL gives a database settings that would change the text of nearly all values.
const hostileSQL = `
ALTER DATABASE %s SET TimeZone = 'Asia/Kolkata';
ALTER DATABASE %s SET DateStyle = 'German';
ALTER DATABASE %s SET IntervalStyle = 'iso_8601';
ALTER DATABASE %s SET extra_float_digits = -3;
ALTER DATABASE %s SET bytea_output = 'escape';
ALTER DATABASE %s SET client_encoding = 'LATIN1';
ALTER DATABASE %s SET statement_timeout = '1min';
ALTER DATABASE %s SET idle_in_transaction_session_timeout = '1min';
ALTER DATABASE %s SET lock_timeout = '1min';
ALTER DATABASE %s SET row_security = on;
ALTER DATABASE %s SET quote_all_identifiers = on;`

// plainSQL are the settings for psql that make the text of values unambiguous.
const plainSQL = `SET TimeZone = 'UTC'; SET DateStyle = 'ISO'; SET IntervalStyle = 'postgres';
SET extra_float_digits = 3; SET bytea_output = 'hex'; SET client_encoding = 'UTF8'; SET quote_all_identifiers = off;
SET search_path = '';`

// TestCSVIsThatOfPsql compares both ways to CSV with psql, byte for byte, under settings that are hostile to it.
func TestCSVIsThatOfPsql(t *testing.T) {
	testkit.SincePostgres(t, 14, "multiranges")
	database := testkit.Postgres(t).NewDatabase(t)
	database.Exec(t, nastySQL)
	for _, sql := range nastyRows {
		database.Exec(t, sql)
	}
	database.Exec(t, `
		CREATE VIEW one AS SELECT "Odd ""Name"", x" FROM nasty ORDER BY id;
		CREATE TABLE gone (a int, b int, c text, d int GENERATED ALWAYS AS (a * 2) STORED);
		INSERT INTO gone VALUES (1, 2, 'x'), (NULL, 4, NULL);
		ALTER TABLE gone DROP COLUMN b;
		CREATE TABLE empty (a int, b text);
		CREATE TABLE bare ();
		INSERT INTO bare DEFAULT VALUES;
		INSERT INTO bare DEFAULT VALUES;
		CREATE TABLE "öäü ✓.表" ("select" int, "a b" text); INSERT INTO "öäü ✓.表" VALUES (1, NULL);
		CREATE TABLE parted (id int, t text) PARTITION BY LIST (id);
		CREATE TABLE parted_1 PARTITION OF parted FOR VALUES IN (1);
		CREATE TABLE parted_2 PARTITION OF parted FOR VALUES IN (2);
		INSERT INTO parted VALUES (2, 'two'), (1, 'one');
		CREATE TABLE parent (id int); CREATE TABLE child (t text) INHERITS (parent);
		INSERT INTO parent VALUES (1); INSERT INTO child VALUES (2, 'two');
		CREATE MATERIALIZED VIEW stored AS SELECT * FROM parted`)
	database.Exec(t, strings.ReplaceAll(hostileSQL, "%s", database.Name))
	db := openAgain(t, database.ConnString())
	for _, test := range []struct{ table, psql string }{
		{"nasty", "public.nasty"},
		{"one", "(SELECT * FROM public.one)"},
		{"gone", "public.gone"},
		{"empty", "public.empty"},
		{"bare", "public.bare"},
		{"öäü ✓.表", `public."öäü ✓.表"`},
		{"parted", "(SELECT * FROM public.parted)"},
		{"parted_2", "public.parted_2"},
		{"parent", "(SELECT * FROM public.parent)"},
		{"child", "public.child"},
		{"stored", "(SELECT * FROM public.stored)"},
	} {
		t.Run(test.table, func(t *testing.T) {
			want := psqlCopy(t, database, test.psql)
			expectCSV(t, func() source.Rows { return table(t, db, test.table) }, string(want))
		})
	}
	for _, limit := range []string{"statement_timeout", "lock_timeout", "idle_in_transaction_session_timeout"} {
		if got := database.Query(t, "SHOW "+limit)[0][0]; got != "1min" {
			t.Errorf("%s of another connection is %s", limit, got)
		}
		if got := encoded(t, query(t, db, "SHOW "+limit)); got != limit+"\n0\n" {
			t.Errorf("%s here is %s", limit, got)
		}
	}
	want := psqlCopy(t, database, "(SELECT id, n FROM public.nasty WHERE n > 0)")
	expectCSV(t, func() source.Rows { return query(t, db, "SELECT id, n FROM nasty WHERE n > 0;\n") }, string(want))
}

// psqlCopy is what psql prints of a table or query.
func psqlCopy(tb testing.TB, database *testkit.PostgresDatabase, from string) []byte {
	tb.Helper()
	cmd := database.PsqlCommand(tb, "-c", plainSQL, "-c", `\copy `+from+` to stdout csv header`)
	output, err := cmd.Output()
	if err != nil {
		tb.Fatal("psql:", err)
	}
	return output
}

// TestEncodings reads databases that do not hold UTF-8.
func TestEncodings(t *testing.T) {
	server := testkit.Postgres(t)
	for _, test := range []struct{ encoding, client, want string }{
		{"LATIN1", "LATIN1", "t\n\u00e9\u00ff\n"}, // converted
		{"SQL_ASCII", "UTF8", "t\n\xe9\xff\n"},    // any bytes, as they are
	} {
		database := server.NewDatabase(t, "ENCODING", test.encoding, "TEMPLATE template0")
		database.Exec(t, `CREATE TABLE t (t text);
			INSERT INTO t VALUES (convert_from('\xe9ff', '`+test.encoding+`'));
			ALTER DATABASE `+database.Name+` SET client_encoding = '`+test.client+`'`)
		db := openAgain(t, database.ConnString())
		expectCSV(t, func() source.Rows { return table(t, db, "t") }, test.want)
	}
}

// TestHugeValue reads a value of 60 MB, and goes on behind it.
func TestHugeValue(t *testing.T) {
	const size = 60_000_000
	db, _ := openNew(t, "")
	const sql = "SELECT 1, repeat('0123456789', 6000000) UNION ALL SELECT 2, 'small'"

	var out lengths
	n, err := query(t, db, sql).(source.CSVWriter).WriteCSV(&out)
	if n != 2 || err != nil || len(out) != 2 || out[0] != size+len("1,\n") || out[1] != len("2,small\n") {
		t.Errorf("WriteCSV gives %d rows of the lengths %d and the error %v", n, out, err)
	}
	rows := query(t, db, sql)
	var b source.Batch
	if err := rows.Next(&b); err != nil {
		t.Fatal(err)
	}
	if _, value := b.Value(0, 1); len(value) != size || string(value[size-10:]) != "0123456789" {
		t.Errorf("the value has %d bytes", len(value))
	}
	if err := rows.Next(&b); err != nil {
		t.Fatal(err)
	}
	if _, value := b.Value(0, 1); string(value) != "small" {
		t.Errorf("the value behind it is %q", value)
	}
	if err := rows.Next(&b); err != io.EOF {
		t.Error(err)
	}
}

// lengths keeps the length of each row.
type lengths []int

func (l *lengths) Write(p []byte) (int, error) {
	*l = append(*l, len(p))
	return len(p), nil
}

func TestWriteCSVIsInPlaceOfNext(t *testing.T) {
	db, _ := openNew(t, "CREATE TABLE t AS SELECT i FROM generate_series(1, 10) AS i")
	rows := table(t, db, "t")
	var b source.Batch
	if err := rows.Next(&b); err != nil {
		t.Fatal(err)
	}
	if n, err := rows.(source.CSVWriter).WriteCSV(io.Discard); n != 0 || err == nil {
		t.Errorf("WriteCSV after Next: %d rows and the error %v", n, err)
	}
	rows = table(t, db, "t")
	if n, err := rows.(source.CSVWriter).WriteCSV(io.Discard); n != 10 || err != nil {
		t.Errorf("WriteCSV: %d rows and the error %v", n, err)
	}
	if err := rows.Next(&b); err != io.EOF {
		t.Errorf("Next after WriteCSV: %v, want io.EOF", err)
	}
	if n, err := rows.(source.CSVWriter).WriteCSV(io.Discard); n != 0 || err == nil {
		t.Errorf("WriteCSV twice: %d rows and the error %v", n, err)
	}
}

// TestFailingWriter fails in the middle of a large table, and reads on with the same connection.
func TestFailingWriter(t *testing.T) {
	db, _ := openNew(t, "CREATE TABLE t AS SELECT i FROM generate_series(1, 1000000) AS i")
	errFull := errors.New("full")
	for _, test := range []struct {
		err, want error
	}{{errFull, errFull}, {nil, io.ErrShortWrite}} {
		w := &failingWriter{rows: 1000, err: test.err}
		n, err := table(t, db, "t").(source.CSVWriter).WriteCSV(w)
		if n != 1000 || !errors.Is(err, test.want) {
			t.Errorf("WriteCSV: %d rows and the error %v, want 1000 and %v", n, err, test.want)
		}
		if w.rows != -1 {
			t.Errorf("the writer was called %d times after its error", -1-w.rows)
		}
	}
	if n, err := drain(table(t, db, "t")); n != 1_000_000 || err != io.EOF {
		t.Errorf("afterwards: %d rows and the error %v", n, err)
	}
}

// failingWriter takes so many rows and then writes nothing.
type failingWriter struct {
	rows int
	err  error
}

func (w *failingWriter) Write(p []byte) (int, error) {
	w.rows--
	if w.rows < 0 {
		return 0, w.err
	}
	return len(p), nil
}

// TestMemory reads 200 MB of rows by each way.
func TestMemory(t *testing.T) {
	db, _ := openNew(t, "")
	rows := testkit.Fewer(200_000)
	sql := fmt.Sprintf("SELECT repeat('0123456789', 100) FROM generate_series(1, %d)", rows)
	testkit.MemoryCeiling(t, 64<<20, func() {
		if n, err := query(t, db, sql).(source.CSVWriter).WriteCSV(io.Discard); n != int64(rows) || err != nil {
			t.Error(n, err)
		}
		if n, err := drain(query(t, db, sql)); n != rows || err != io.EOF {
			t.Error(n, err)
		}
	})
}

func TestWriteAllocations(t *testing.T) {
	const rows = 5000
	db, _ := openNew(t, "CREATE TABLE t AS SELECT i, 'some text' AS t FROM generate_series(1, 5000) AS i")
	testkit.Allocs(t, rows/10, func() {
		if n, err := table(t, db, "t").(source.CSVWriter).WriteCSV(io.Discard); n != rows || err != nil {
			t.Fatal(n, err)
		}
	})
	testkit.Allocs(t, rows/10, func() {
		if n, err := table(t, db, "t").(source.BinaryWriter).WriteBinary(io.Discard); n != rows || err != nil {
			t.Fatal(n, err)
		}
	})
}
