package read_test

import (
	"io"
	"path/filepath"
	"testing"

	"github.com/ncruces/go-sqlite3"

	"culvert/internal/testkit"
	"culvert/source"
	"culvert/source/sourcetest"
	"culvert/sqlite/internal/read"
)

func TestSource(t *testing.T) {
	path := filepath.Join(t.TempDir(), "it's a 100% test?#.db")
	writer := openWriter(t, path)
	read.SetConnections(t, 3)
	sourcetest.Run(t, sourcetest.Fixture{
		Open:           func(t *testing.T) source.Source { return open(t, path) },
		Exec:           func(t *testing.T, sql string) { execute(t, writer, sql) },
		AllocationFree: !testkit.RaceDetector(), // which drops what the driver keeps in a sync.Pool
		Divides:        true,
		Parting:        &sourcetest.Parting{Size: 512 << 10, OneRow: 10, Keys: keys},
		ShowingQuery:   "SELECT json_extract('{}', 'secret-4711')",
		FailingWhere:   "abs(CASE id WHEN 3 THEN -9223372036854775807 - 1 ELSE id END) < 9",
		FailingQuery: "WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n LIMIT 100000)" +
			" SELECT CASE i WHEN 99999 THEN abs(-9223372036854775807 - 1) ELSE i END FROM n",
		EndlessQuery: "WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n) SELECT i FROM n WHERE i < 0",
		Values: []sourcetest.Value{
			{
				Type: "INTEGER", Logical: "int64", SQL: "9223372036854775807",
				Kind: source.Number, Text: "9223372036854775807", Column: "INTEGER",
			},
			{
				Type: "INTEGER", Logical: "int64", SQL: "-9223372036854775808",
				Kind: source.Number, Text: "-9223372036854775808",
			},
			{Type: "INTEGER", Logical: "int64", SQL: "0", Kind: source.Number, Text: "0"},
			{Type: "INTEGER", Logical: "int64", SQL: "'not a number'", Kind: source.Text, Text: "not a number"},
			{
				Type: "INTEGER", Logical: "int64", SQL: "9223372036854775808",
				Kind: source.Number, Text: "9.223372036854776e+18",
			},
			{Type: "REAL", Logical: "float64", SQL: "1", Kind: source.Number, Text: "1.0", Column: "REAL"},
			{Type: "REAL", Logical: "float64", SQL: "-0.1", Kind: source.Number, Text: "-0.1"},
			{Type: "REAL", Logical: "float64", SQL: "0.1 + 0.2", Kind: source.Number, Text: "0.30000000000000004"},
			{Type: "REAL", Logical: "float64", SQL: "1e16", Kind: source.Number, Text: "10000000000000000.0"},
			{Type: "REAL", Logical: "float64", SQL: "1e17", Kind: source.Number, Text: "1.0e+17"},
			{
				Type: "REAL", Logical: "float64", SQL: "1.7976931348623157e308",
				Kind: source.Number, Text: "1.7976931348623157e+308",
			},
			{Type: "REAL", Logical: "float64", SQL: "5e-324", Kind: source.Number, Text: "5.0e-324"},
			{Type: "REAL", Logical: "float64", SQL: "0.0001", Kind: source.Number, Text: "0.0001"},
			{Type: "REAL", Logical: "float64", SQL: "0.00001", Kind: source.Number, Text: "1.0e-05"},
			{Type: "REAL", Logical: "float64", SQL: "9e999", Kind: source.Number, Text: "9.0e+999"},
			{Type: "REAL", Logical: "float64", SQL: "-9e999", Kind: source.Number, Text: "-9.0e+999"},
			{Type: "TEXT", Logical: "string", SQL: "'grüße \"✓\" '", Kind: source.Text, Text: "grüße \"✓\" "},
			{Type: "TEXT", Logical: "string", SQL: "char(97, 0, 98)", Kind: source.Text, Text: "a\x00b"},
			{Type: "TEXT", Logical: "string", SQL: "CAST(x'ff61c3' AS TEXT)", Kind: source.Text, Text: "\xffa\xc3"},
			{Type: "TEXT", Logical: "string", SQL: "7", Kind: source.Text, Text: "7"},
			{Type: "TEXT", Logical: "string", SQL: "x'00ff'", Kind: source.Bytes, Text: "\x00\xff"},
			{Type: "BLOB", Logical: "bytes", SQL: "x''", Kind: source.Bytes, Text: ""},
			{
				Type: "BLOB", Logical: "bytes", SQL: "x'000103fffe'",
				Kind: source.Bytes, Text: "\x00\x01\x03\xff\xfe", Column: "BLOB",
			},
			{Type: "BLOB", Logical: "bytes", SQL: "zeroblob(3)", Kind: source.Bytes, Text: "\x00\x00\x00"},
			{Type: "", SQL: "NULL", Kind: source.Null},
			{Type: "", SQL: "'1'", Kind: source.Text, Text: "1"},
			{
				Type: "NUMERIC(10,2)", Logical: "decimal(10,2)", SQL: "'12.50'",
				Kind: source.Number, Text: "12.5", Column: "NUMERIC(10,2)",
			},
			{Type: "BOOLEAN", Logical: "bool", SQL: "TRUE", Kind: source.Number, Text: "1", Column: "BOOLEAN"},
			{Type: "JSON", Logical: "json", SQL: "'{\"a\": 1}'", Kind: source.Text, Text: `{"a": 1}`, Column: "JSON"},
			{
				Type: "DATETIME", Logical: "timestamp", SQL: "'2026-01-02 03:04:05'",
				Kind: source.Text, Text: "2026-01-02 03:04:05",
			},
		},
	})
}

func open(t *testing.T, path string) *read.DB {
	t.Helper()
	db, err := read.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { closing(t, db) })
	return db
}

// openWriter opens a connection that writes, and makes the file.
func openWriter(t testing.TB, path string) *sqlite3.Conn {
	t.Helper()
	conn, err := sqlite3.OpenFlags(path, sqlite3.OPEN_READWRITE|sqlite3.OPEN_CREATE)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { closing(t, conn) })
	execute(t, conn, "PRAGMA synchronous = OFF")
	return conn
}

func execute(t testing.TB, conn *sqlite3.Conn, statements ...string) {
	t.Helper()
	for _, sql := range statements {
		if err := conn.Exec(sql); err != nil {
			t.Fatalf("%.200s: %v", sql, err)
		}
	}
}

// closing closes what has nothing more to say.
func closing(tb testing.TB, c io.Closer) {
	tb.Helper()
	if err := c.Close(); err != nil {
		tb.Error(err)
	}
}
