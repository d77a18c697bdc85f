package read_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"culvert/format"
	"culvert/internal/testkit"
	"culvert/postgres/internal/read"
	"culvert/source"
	"culvert/source/sourcetest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestSource(t *testing.T) {
	// A snapshot is the same only while nobody writes into any database of the server.
	db := testkit.NewPostgres(t, testkit.PostgresConfig{}).NewDatabase(t)
	db.Exec(t, "CREATE EXTENSION citext")
	values, parting := values, &sourcetest.Parting{Size: 512 << 10, OneRow: 8192, Writers: true, Shares: true}
	hasPages := testkit.PostgresVersion(t) >= 14
	if !hasPages {
		parting = nil
		values = slices.DeleteFunc(slices.Clone(values), func(v sourcetest.Value) bool {
			return v.Type == "numeric" && v.Text == "Infinity"
		})
	}
	sourcetest.Run(t, sourcetest.Fixture{
		Open:           func(t *testing.T) source.Source { return open(t, db.ConnString()) },
		Exec:           func(t *testing.T, sql string) { db.Exec(t, sql) },
		Values:         values,
		FailingQuery:   "SELECT 1000 / (1000 - i) FROM generate_series(1, 2000) AS i",
		EndlessQuery:   "SELECT count(*) FROM generate_series(1, 1000000000000)",
		ShowingQuery:   "SELECT v::int FROM (VALUES ('secret-4711')) AS t (v)",
		FailingWhere:   "1 / (id - 2) < 1",
		NoColumns:      true,
		Divides:        hasPages,
		Parting:        parting,
		AllocationFree: true,
	})
}

var values = []sourcetest.Value{
	{Type: "boolean", Logical: "bool", SQL: "true", Kind: source.Bool, Text: "t"},
	{Type: "boolean", Logical: "bool", SQL: "false", Kind: source.Bool, Text: "f"},
	{Type: "smallint", Logical: "int16", SQL: "-32768", Kind: source.Number, Text: "-32768"},
	{Type: "integer", Logical: "int32", SQL: "2147483647", Kind: source.Number, Text: "2147483647"},
	{Type: "bigint", Logical: "int64", SQL: "-9223372036854775808", Kind: source.Number, Text: "-9223372036854775808"},
	{Type: "oid", Logical: "int64", SQL: "4294967295", Kind: source.Number, Text: "4294967295"},
	{Type: "real", Logical: "float32", SQL: "0.1", Kind: source.Number, Text: "0.1"},
	{
		Type: "double precision", Logical: "float64", SQL: "0.1::float8 + 0.2::float8",
		Kind: source.Number, Text: "0.30000000000000004",
	},
	{Type: "double precision", Logical: "float64", SQL: "5e-324", Kind: source.Number, Text: "5e-324"},
	{Type: "double precision", Logical: "float64", SQL: "'-0'", Kind: source.Number, Text: "-0"},
	{Type: "double precision", Logical: "float64", SQL: "'NaN'", Kind: source.Number, Text: "NaN"},
	{Type: "double precision", Logical: "float64", SQL: "'-Infinity'", Kind: source.Number, Text: "-Infinity"},
	{
		Type: "numeric(10,2)", Logical: "decimal(10,2)", SQL: "1.5",
		Kind: source.Number, Text: "1.50", Column: "numeric(10,2)",
	},
	{
		Type: "numeric", Logical: "decimal", SQL: "1" + strings.Repeat("0", 999) + ".25", Kind: source.Number,
		Text: "1" + strings.Repeat("0", 999) + ".25",
	},
	{Type: "numeric", Logical: "decimal", SQL: "'NaN'", Kind: source.Number, Text: "NaN"},
	{Type: "numeric", Logical: "decimal", SQL: "'Infinity'", Kind: source.Number, Text: "Infinity"},
	{Type: "money", SQL: "12.5::money", Kind: source.Text, Text: "$12.50"},
	{
		Type: "varchar(20)", Logical: "string(20)", SQL: "'grüße ✓ 表 🜄'", Kind: source.Text, Text: "grüße ✓ 表 🜄",
		Column: "character varying(20)",
	},
	{Type: "char(4)", Logical: "char(4)", SQL: "'ab'", Kind: source.Text, Text: "ab  ", Column: "character(4)"},
	{Type: `"char"`, Logical: "string", SQL: "'x'", Kind: source.Text, Text: "x"},
	{
		Type: "text", Logical: "string", SQL: `'a,b"c' || chr(10) || '\.' || chr(13)`,
		Kind: source.Text, Text: "a,b\"c\n\\.\r",
	},
	{Type: "bytea", Logical: "bytes", SQL: `'\x00ff5c0a'`, Kind: source.Bytes, Text: "\x00\xff\\\n"},
	{Type: "bytea", Logical: "bytes", SQL: "''", Kind: source.Bytes, Text: ""},
	{Type: "json", Logical: "json", SQL: `'{"a": 1.0, "a":2}'`, Kind: source.JSON, Text: `{"a": 1.0, "a":2}`},
	{Type: "jsonb", Logical: "json", SQL: `'{"b":1,"a":[null]}'`, Kind: source.JSON, Text: `{"a": [null], "b": 1}`},
	{
		Type: "timestamptz", Logical: "instant", SQL: "'2024-02-29 23:59:59.123456+05:30'", Kind: source.Text,
		Text: "2024-02-29 18:29:59.123456+00", Column: "timestamp with time zone",
	},
	{
		Type: "timestamp", Logical: "timestamp", SQL: "'0044-03-15 12:00 BC'",
		Kind: source.Text, Text: "0044-03-15 12:00:00 BC",
	},
	{Type: "date", Logical: "date", SQL: "'12024-01-02'", Kind: source.Text, Text: "12024-01-02"},
	{Type: "date", Logical: "date", SQL: "'-infinity'", Kind: source.Text, Text: "-infinity"},
	{Type: "timetz", SQL: "'12:30+02'", Kind: source.Text, Text: "12:30:00+02"},
	{
		Type: "interval", Logical: "interval", SQL: "'1 year -2 days 03:04:05'",
		Kind: source.Text, Text: "1 year -2 days +03:04:05",
	},
	{
		Type: "uuid", Logical: "uuid", SQL: "'A0EEBC99-9C0B-4EF8-BB6D-6BB9BD380A11'", Kind: source.Text,
		Text: "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11",
	},
	{
		Type: "text[]", Logical: "list(string)", SQL: `'{NULL,"NULL","",a b}'`,
		Kind: source.Text, Text: `{NULL,"NULL","","a b"}`,
	},
	{
		Type: "int[]", Logical: "list(int32)", SQL: `'[0:1]={1,2}'`,
		Kind: source.Text, Text: `[0:1]={1,2}`, Column: "integer[]",
	},
	{Type: "int4range", SQL: "'(1,5]'", Kind: source.Text, Text: "[2,6)"},
	{Type: "bit(3)", SQL: "B'101'", Kind: source.Text, Text: "101"},
	{Type: "inet", SQL: "'10.0.0.1/8'", Kind: source.Text, Text: "10.0.0.1/8"},
	{Type: "point", SQL: "'(0.1,-2)'", Kind: source.Text, Text: "(0.1,-2)"},
}

// open opens a database.
func open(tb testing.TB, connString string) *read.DB {
	tb.Helper()
	db, err := read.Open(context.Background(), connString)
	if err != nil {
		tb.Fatal(err)
	}
	return db
}

// openNew opens a new database in which the statements have been run, and closes it at the end of the test.
func openNew(tb testing.TB, sql string) (*read.DB, *testkit.PostgresDatabase) {
	tb.Helper()
	database := testkit.Postgres(tb).NewDatabase(tb)
	database.Exec(tb, sql)
	return openAgain(tb, database.ConnString()), database
}

func openAgain(tb testing.TB, connString string) *read.DB {
	tb.Helper()
	db := open(tb, connString)
	tb.Cleanup(func() {
		if err := db.Close(); err != nil {
			tb.Error(err)
		}
	})
	return db
}

func table(tb testing.TB, db *read.DB, name string) source.Rows {
	tb.Helper()
	rows, err := db.Table(context.Background(), name)
	if err != nil {
		tb.Fatal(err)
	}
	return rows
}

func query(tb testing.TB, db *read.DB, sql string) source.Rows {
	tb.Helper()
	rows, err := db.Query(context.Background(), sql)
	if err != nil {
		tb.Fatal(err)
	}
	return rows
}

// copied is the CSV that the server prints, with the header that format.CSV makes.
func copied(tb testing.TB, rows source.Rows) string {
	tb.Helper()
	encoder, err := format.CSV{}.Encoder(rows.Columns())
	if err != nil {
		tb.Fatal(err)
	}
	var out bytes.Buffer
	out.Write(encoder.AppendHeader(nil))
	n, err := rows.(source.CSVWriter).WriteCSV(&out)
	if err != nil {
		tb.Fatalf("after %d rows: %v", n, err)
	}
	if err := rows.Close(); err != nil {
		tb.Fatal(err)
	}
	return out.String()
}

// encoded is the CSV that format.CSV makes of the values.
func encoded(tb testing.TB, rows source.Rows) string {
	tb.Helper()
	encoder, err := format.CSV{}.Encoder(rows.Columns())
	if err != nil {
		tb.Fatal(err)
	}
	out := encoder.AppendHeader(nil)
	var b source.Batch
	for {
		err := rows.Next(&b)
		if err == io.EOF {
			break
		}
		if err == nil {
			out, err = encoder.AppendRows(out, &b)
		}
		if err != nil {
			tb.Fatal(err)
		}
	}
	if err := rows.Close(); err != nil {
		tb.Fatal(err)
	}
	return string(out)
}

// drain reads rows to their end and counts them.
func drain(rows source.Rows) (count int, err error) {
	var b source.Batch
	for {
		if err := rows.Next(&b); err != nil {
			return count, err
		}
		count += b.Rows()
	}
}

// expectCSV compares both ways to CSV with a text.
func expectCSV(tb testing.TB, rows func() source.Rows, want string) {
	tb.Helper()
	if got := copied(tb, rows()); got != want {
		tb.Errorf("WriteCSV gives %s", difference(got, want))
	}
	if got := encoded(tb, rows()); got != want {
		tb.Errorf("Next and format.CSV give %s", difference(got, want))
	}
}

// difference shows where two texts part.
func difference(got, want string) string {
	i := 0
	for i < min(len(got), len(want)) && got[i] == want[i] {
		i++
	}
	cut := func(s string) string { return s[max(0, i-40):min(len(s), i+40)] }
	return fmt.Sprintf("%d bytes, want %d; at byte %d:\n got %q\nwant %q", len(got), len(want), i, cut(got), cut(want))
}
