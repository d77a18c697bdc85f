package sqldb_test

import (
	"context"
	"database/sql"
	"errors"
	"io"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	_ "github.com/jackc/pgx/v5/stdlib"
	_ "github.com/ncruces/go-sqlite3/driver"

	"culvert/internal/testkit"
	"culvert/source"
	"culvert/source/sourcetest"
	"culvert/sqldb"
)

// sqliteConfig is what SQLite needs, which has no information_schema.
var sqliteConfig = sqldb.Config{
	Tables: "SELECT name FROM sqlite_schema WHERE type IN ('table', 'view')",
}

func TestSQLite(t *testing.T) {
	path := filepath.Join(t.TempDir(), "test.db")
	writer := openSQLite(t, path)
	sourcetest.Run(t, sourcetest.Fixture{
		Open: func(t *testing.T) source.Source { return sqliteConfig.New(openSQLite(t, path)) },
		Exec: func(t *testing.T, query string) { execute(t, writer, query) },
		FailingQuery: "WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n LIMIT 200000)" +
			" SELECT CASE i WHEN 199999 THEN abs(-9223372036854775807 - 1) ELSE i END FROM n",
		EndlessQuery: "WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n) SELECT i FROM n WHERE i < 0",
		FailingWhere: "abs(CASE id WHEN 3 THEN -9223372036854775807 - 1 ELSE id END) < 9",
		Values: []sourcetest.Value{
			{
				Type: "INTEGER", Logical: "int64", SQL: "9223372036854775807",
				Kind: source.Number, Text: "9223372036854775807", Column: "INTEGER",
			},
			{Type: "INTEGER", Logical: "int64", SQL: "'not a number'", Kind: source.Text, Text: "not a number"},
			{Type: "REAL", Logical: "float64", SQL: "0.1 + 0.2", Kind: source.Number, Text: "0.30000000000000004"},
			{Type: "REAL", Logical: "float64", SQL: "9e999", Kind: source.Number, Text: "Infinity"},
			{Type: "BOOLEAN", Logical: "bool", SQL: "TRUE", Kind: source.Bool, Text: "t"},
			{Type: "BOOLEAN", Logical: "bool", SQL: "0", Kind: source.Bool, Text: "f"},
			{Type: "BLOB", Logical: "bytes", SQL: "x'00ff'", Kind: source.Bytes, Text: "\x00\xff"},
			{Type: "BLOB", Logical: "bytes", SQL: "x''", Kind: source.Bytes, Text: ""},
			{Type: "TEXT", Logical: "string", SQL: "'7'", Kind: source.Text, Text: "7"},
			{Type: "JSON", Logical: "json", SQL: `'{"a": [1]}'`, Kind: source.JSON, Text: `{"a": [1]}`},
			{Type: "JSON", Logical: "json", SQL: `'{"a": '`, Kind: source.Text, Text: `{"a": `},
			{
				Type: "DATETIME", Logical: "timestamp", SQL: "'2026-01-02 03:04:05.12'",
				Kind: source.Text, Text: "2026-01-02 03:04:05.12",
			},
			{Type: "DATE", Logical: "date", SQL: "'2026-01-02'", Kind: source.Text, Text: "2026-01-02"},
		},
	})
}

func TestPostgres(t *testing.T) {
	db := testkit.Postgres(t).NewDatabase(t)
	sourcetest.Run(t, sourcetest.Fixture{
		Open: func(t *testing.T) source.Source {
			// The driver leaves a canceled query to a goroutine, until the server has ended it.
			const running = `SELECT count(*) FROM pg_stat_activity
				WHERE datname = current_database() AND state = 'active' AND pid <> pg_backend_pid()`
			t.Cleanup(func() {
				testkit.WaitFor(t, "queries to end", func() bool { return db.Query(t, running)[0][0] == "0" })
			})
			return sqldb.New(openDB(t, "pgx", db.ConnString()))
		},
		Exec:         func(t *testing.T, query string) { db.Exec(t, query) },
		FailingQuery: "SELECT 1 / (100000 - i) FROM generate_series(1, 200000) i",
		EndlessQuery: "SELECT pg_sleep(3600)",
		FailingWhere: "1 / (id - 2) < 1",
		NoColumns:    true,
		Values: []sourcetest.Value{
			{
				Type: "bigint", Logical: "int64", SQL: "-9223372036854775808",
				Kind: source.Number, Text: "-9223372036854775808", Column: "INT8",
			},
			{Type: "smallint", Logical: "int16", SQL: "-7", Kind: source.Number, Text: "-7"},
			{
				Type: "numeric(40,20)", Logical: "decimal(40,20)", SQL: "12345678901234567890.00000000000000000001",
				Kind: source.Number, Text: "12345678901234567890.00000000000000000001", Column: "NUMERIC",
			},
			{Type: "numeric", Logical: "decimal", SQL: "'NaN'", Kind: source.Number, Text: "NaN"},
			{Type: "numeric", Logical: "decimal", SQL: "'-Infinity'", Kind: source.Number, Text: "-Infinity"},
			{Type: "double precision", Logical: "float64", SQL: "'1e300'", Kind: source.Number, Text: "1e+300"},
			{Type: "double precision", Logical: "float64", SQL: "'-Infinity'", Kind: source.Number, Text: "-Infinity"},
			{Type: "boolean", Logical: "bool", SQL: "true", Kind: source.Bool, Text: "t"},
			{Type: "bytea", Logical: "bytes", SQL: `'\x00ff'`, Kind: source.Bytes, Text: "\x00\xff"},
			{Type: "bytea", Logical: "bytes", SQL: "''", Kind: source.Bytes, Text: ""},
			{Type: "jsonb", Logical: "json", SQL: `'{"a": [1]}'`, Kind: source.JSON, Text: `{"a": [1]}`},
			{Type: "json", Logical: "json", SQL: "'null'", Kind: source.JSON, Text: "null"},
			{Type: "varchar(9)", Logical: "string(9)", SQL: `'a\b ''c'`, Kind: source.Text, Text: `a\b 'c`},
			{
				Type: "timestamptz", Logical: "instant", SQL: "'2026-01-02 03:04:05.123456+00'",
				Kind: source.Text, Text: "2026-01-02 03:04:05.123456+00",
			},
			{Type: "date", Logical: "date", SQL: "'2026-01-02'", Kind: source.Text, Text: "2026-01-02"},
			{
				Type: "uuid", Logical: "uuid", SQL: "'7b0d2a5e-0c1f-4e6b-9a55-0123456789ab'",
				Kind: source.Text, Text: "7b0d2a5e-0c1f-4e6b-9a55-0123456789ab",
			},
			{Type: "integer[]", Logical: "list(int32)", SQL: "'{1,NULL,3}'", Kind: source.Text, Text: "{1,NULL,3}"},
		},
	})
}

// TestSelectNames finds columns without regard to case, but those that are written so first.
func TestSelectNames(t *testing.T) {
	server := testkit.Postgres(t).NewDatabase(t)
	server.Exec(t, `CREATE TABLE t (id int, "ID" int, total int); INSERT INTO t VALUES (1, 2, 3)`)
	src := sqldb.New(openDB(t, "pgx", server.ConnString()))
	for _, test := range []struct{ columns, want []string }{
		{[]string{"ID", "id"}, []string{"ID", "id"}},
		{[]string{"Total", "Id"}, []string{"total", "id"}},
	} {
		rows, err := src.Select(t.Context(), "t", source.Selection{Columns: test.columns})
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, column := range rows.Columns() {
			got = append(got, column.Name)
		}
		if !slices.Equal(got, test.want) {
			t.Errorf("%q gives the columns %q, want %q", test.columns, got, test.want)
		}
		if err := rows.Close(); err != nil {
			t.Error(err)
		}
	}
	if _, err := src.Select(t.Context(), "t", source.Selection{Columns: []string{"total", "TOTAL"}}); err == nil {
		t.Error("a column can be asked for twice")
	}
}

// TestTransaction reads two tables of one transaction, which sees neither what is written meanwhile nor an end of its
// own by what the source does.
func TestTransaction(t *testing.T) {
	server := testkit.Postgres(t).NewDatabase(t)
	server.Exec(t, `CREATE SCHEMA audit; CREATE TABLE orders (id int); CREATE TABLE audit."Log" (id int);
		INSERT INTO orders VALUES (1), (2); INSERT INTO audit."Log" VALUES (3)`)
	tx, err := openDB(t, "pgx", server.ConnString()).BeginTx(t.Context(), &sql.TxOptions{
		Isolation: sql.LevelRepeatableRead, ReadOnly: true,
	})
	if err != nil {
		t.Fatal(err)
	}
	src := sqldb.New(tx)
	expectInts(t, src, "orders", 1, 2)
	server.Exec(t, `INSERT INTO orders VALUES (9); INSERT INTO audit."Log" VALUES (9)`)
	expectInts(t, src, "ORDERS", 1, 2)
	expectInts(t, src, "public.orders", 1, 2)
	expectInts(t, src, "audit.Log", 3)
	expectInts(t, src, "AUDIT.log", 3)
	if err := src.Close(); err != nil {
		t.Fatal(err)
	}
	if err := tx.Commit(); err != nil {
		t.Errorf("the transaction did not outlive the source: %v", err)
	}
}

// TestTablesUnknown leaves the list of tables to the default, which SQLite does not have.
func TestTablesUnknown(t *testing.T) {
	db := openSQLite(t, filepath.Join(t.TempDir(), "test.db"))
	execute(t, db, "CREATE TABLE t (a)", "INSERT INTO t VALUES (1)")
	src := sqldb.New(db)
	expectInts(t, src, "t", 1)
	if _, err := src.Table(t.Context(), "u"); err == nil {
		t.Error("a table that is not there was given")
	}
	expectInts(t, src, "main.t", 1)
}

func TestKnownNames(t *testing.T) {
	server := testkit.Postgres(t).NewDatabase(t)
	server.Exec(t, "CREATE SCHEMA audit; CREATE TABLE orders (id int); CREATE TABLE audit.log (id int)")
	src := sqldb.New(openDB(t, "pgx", server.ConnString()))
	for name, want := range map[string]string{
		"order": "orders", "audit.lag": "audit.log", "publik.orders": "public.orders",
	} {
		_, err := src.Table(t.Context(), name)
		unknown, ok := errors.AsType[*source.UnknownError](err)
		if !ok || !slices.Contains(unknown.Known, want) {
			t.Errorf("Table(%q): %v, want *source.UnknownError that knows %q", name, err, want)
		}
	}
}

func TestUnavailable(t *testing.T) {
	src := sqldb.New(openDB(t, "pgx", "host=/nonexistent user=nobody"))
	if _, err := src.Table(t.Context(), "t"); !errors.Is(err, source.ErrUnavailable) {
		t.Errorf("Table of a server that is not there: %v, want source.ErrUnavailable", err)
	}
}

func TestOneRowsAtATime(t *testing.T) {
	db := openSQLite(t, filepath.Join(t.TempDir(), "test.db"))
	execute(t, db, "CREATE TABLE t (a)", "INSERT INTO t VALUES (1)")
	src := sqliteConfig.New(db)
	rows, err := src.Table(t.Context(), "t")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := src.Query(t.Context(), "SELECT 1"); err == nil {
		t.Error("a second query was run while rows are open")
	}
	if err := src.Close(); err != nil {
		t.Fatal(err)
	}
	var b source.Batch
	if err := rows.Next(&b); err == nil || err == io.EOF {
		t.Errorf("Next after the source was closed: %v", err)
	}
	expectInts(t, src, "t", 1)
}

func TestRows(t *testing.T) {
	db := openDB(t, "pgx", testkit.Postgres(t).NewDatabase(t).ConnString())
	rows, err := sqldb.Rows(t.Context(), func(ctx context.Context) (*sql.Rows, error) {
		return db.QueryContext(ctx, "SELECT i * $1 FROM generate_series(1, 3) i", 7)
	})
	if err != nil {
		t.Fatal(err)
	}
	expectRows(t, rows, 7, 14, 21)

	broken := errors.New("broken")
	canceled, cancel := context.WithCancel(t.Context())
	cancel()
	for _, test := range []struct {
		name  string
		ctx   context.Context
		query func(context.Context) (*sql.Rows, error)
		want  string
	}{
		{"error", t.Context(), func(context.Context) (*sql.Rows, error) { return nil, broken }, "sqldb: broken"},
		{"rows and error", t.Context(), func(ctx context.Context) (*sql.Rows, error) {
			rows, err := db.QueryContext(ctx, "SELECT 1")
			return rows, errors.Join(err, broken)
		}, "sqldb: broken"},
		{"nothing", t.Context(), func(context.Context) (*sql.Rows, error) { return nil, nil }, "neither rows nor"},
		{"no rows", t.Context(), func(ctx context.Context) (*sql.Rows, error) {
			return db.QueryContext(ctx, "SET LOCAL work_mem = 1024")
		}, "returns no rows"},
		{"canceled", canceled, func(context.Context) (*sql.Rows, error) { return nil, broken }, "context canceled"},
	} {
		rows, err := sqldb.Rows(test.ctx, test.query)
		if rows != nil || err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: rows %v and the error %v, want one with %q", test.name, rows, err, test.want)
		}
	}
	if n := db.Stats().InUse; n > 0 {
		t.Errorf("%d connections were not given back", n)
	}
}

func TestStatementWithoutRows(t *testing.T) {
	src := sqliteConfig.New(openSQLite(t, filepath.Join(t.TempDir(), "test.db")))
	if _, err := src.Query(t.Context(), "CREATE TABLE t (a)"); err == nil {
		t.Error("a statement without rows gave some")
	}
}

// closing closes what has nothing more to say.
func closing(tb testing.TB, c io.Closer) {
	tb.Helper()
	if err := c.Close(); err != nil {
		tb.Error(err)
	}
}

func openSQLite(t *testing.T, path string) *sql.DB {
	t.Helper()
	return openDB(t, "sqlite3", "file:"+path+"?_pragma=busy_timeout(10000)&_pragma=synchronous(0)")
}

func openDB(t *testing.T, driver, dsn string) *sql.DB {
	t.Helper()
	db, err := sql.Open(driver, dsn)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { closing(t, db) })
	return db
}

func execute(t *testing.T, db *sql.DB, statements ...string) {
	t.Helper()
	for _, query := range statements {
		if _, err := db.ExecContext(context.Background(), query); err != nil {
			t.Fatalf("%.200s: %v", query, err)
		}
	}
}

// expectInts checks a table with a column of integers.
func expectInts(t *testing.T, src source.Source, table string, want ...int) {
	t.Helper()
	rows, err := src.Table(context.Background(), table)
	if err != nil {
		t.Fatal(err)
	}
	expectRows(t, rows, want...)
}

// expectRows reads rows with a column of integers, and closes them.
func expectRows(t *testing.T, rows source.Rows, want ...int) {
	t.Helper()
	defer closing(t, rows)
	var got []int
	var b source.Batch
	for {
		err := rows.Next(&b)
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		for row := range b.Rows() {
			_, text := b.Value(row, 0)
			n, err := strconv.Atoi(string(text))
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, n)
		}
	}
	if !slices.Equal(got, want) {
		t.Errorf("the rows are %d, want %d", got, want)
	}
}
