package gormdb_test

import (
	"context"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"gorm.io/gorm"

	"culvert/format"
	"culvert/gormdb"
	"culvert/internal/testkit"
	"culvert/postgres"
	"culvert/source"
	"culvert/sqlite"
)

// column is a column and the values in its rows, in SQL.
type column struct {
	name, sqlType string
	values        []string

	// What the values are in the two ways to read them, if they differ.
	other, gorm []string
}

// postgresColumns has the types of PostgreSQL. The settings of the database are not those of package postgres.
var postgresColumns = []column{
	{name: "big", sqlType: "bigint", values: []string{"9223372036854775807", "-9223372036854775808", "0"}},
	{name: "small", sqlType: "smallint", values: []string{"-7"}},
	{name: "amount", sqlType: "numeric(40,20)", values: []string{"12345678901234567890.00000000000000000001"}},
	{
		name: "free", sqlType: "numeric",
		values: []string{"repeat('9', 1000)::numeric", "'NaN'", "'-Infinity'", "1.50", "1e-30"},
	},
	{
		name: "single", sqlType: "real",
		values: []string{"0.1", "'NaN'", "'Infinity'", "1e6", "123456", "1234567", "-0.0001", "1e-5", "3.4028235e38"},
	},
	{
		name: "double", sqlType: "double precision",
		values: []string{
			"0.1", "1e6", "'-Infinity'", "'-0'", "1e15", "123456789012345", "0.0001", "1e-5", "1e300", "5e-324",
		},
	},
	{name: "flag", sqlType: "boolean", values: []string{"TRUE", "FALSE"}},
	{
		name: "free_text", sqlType: "text",
		values: []string{"''", "'NULL'", `E'a "quoted", \n line\r'`, `'\.'`, `'\N'`, "'grüße ✓'", "' '"},
	},
	{name: "padded", sqlType: "char(5)", values: []string{"'ab'"}},
	{name: "bits", sqlType: "bit varying(9)", values: []string{"B'0101'"}},
	{name: "binary_", sqlType: "bytea", values: []string{"''", `'\x00ff0a'`}},
	{name: "js", sqlType: "json", values: []string{`'{"a": 1,  "a": 1e400}'`, "'null'", "'7'"}},
	{name: "jsb", sqlType: "jsonb", values: []string{`'{"b": [1.50, null]}'`}},
	{name: "id", sqlType: "uuid", values: []string{"'7b0d2a5e-0c1f-4e6b-9a55-0123456789ab'"}},
	{
		name: "day", sqlType: "date",
		values: []string{
			"'2026-01-02'", "'0044-03-15 BC'", "'0001-02-29 BC'", "'infinity'", "'-infinity'", "'12026-01-02'",
		},
	},
	{
		name: "wall", sqlType: "timestamp",
		values: []string{
			"'2026-01-02 03:04:05.12'", "'2026-01-02'", "'0044-03-15 12:00 BC'", "'infinity'", "'0999-01-01'",
			"'294276-12-31 23:59:59.999999'",
		},
	},
	{
		name: "moment", sqlType: "timestamptz",
		values: []string{
			"'2026-01-02 03:04:05.123456+05:30'", "'2026-07-02 00:00:00+00'", "'-infinity'", "'0044-03-15 12:00+00 BC'",
		},
	},
	{name: "clock", sqlType: "time", values: []string{"'03:04:05.12'", "'24:00'"}},
	{name: "zoned", sqlType: "timetz", values: []string{"'03:04:05+05:30'"}},
	{name: "list", sqlType: "integer[]", values: []string{"'{1,NULL,3}'", "'[0:1]={7,8}'", "'{}'"}},
	{name: "texts", sqlType: "text[]", values: []string{`ARRAY['a,b', NULL, '', '"']`}},
	{name: "span", sqlType: "int4range", values: []string{"'[1,9)'", "'empty'"}},
	{name: "net", sqlType: "inet", values: []string{"'10.0.0.1/8'"}},
	{name: "oid_", sqlType: "oid", values: []string{"4294967295"}},
	{name: "markup", sqlType: "xml", values: []string{"'<a/>'"}},
	{name: "mood_", sqlType: "mood", values: []string{"'so so'"}},
	{name: "cents_", sqlType: "cents", values: []string{"1.50"}},
	{name: "pair_", sqlType: "pair", values: []string{"ROW(1, 'a,b')"}},

	{
		name: "lasts", sqlType: "interval", values: []string{"'1 mon 2 days 03:04:05.6'"},
		other: []string{`text "1 mon 2 days 03:04:05.6"`}, gorm: []string{`text "P1M2DT3H4M5.6S"`},
	},
	{
		name: "period", sqlType: "tstzrange", values: []string{"'[2026-01-02 03:04:05+00,)'"},
		other: []string{`text "[\"2026-01-02 03:04:05+00\",)"`}, gorm: []string{`text "[\"2026-01-01 22:04:05-05\",)"`},
	},
	{
		name: "moments", sqlType: "timestamptz[]", values: []string{"'{2026-01-02 03:04:05+00}'"},
		other: []string{`text "{\"2026-01-02 03:04:05+00\"}"`}, gorm: []string{`text "{\"2026-01-01 22:04:05-05\"}"`},
	},
	{
		name: "xid_", sqlType: "xid", values: []string{"'7'"},
		other: []string{`text "7"`}, gorm: []string{`number "7"`},
	},
}

func TestAsFromPostgres(t *testing.T) {
	server := testkit.Postgres(t).NewDatabase(t)
	server.Exec(t, `CREATE TYPE mood AS ENUM ('so so'); CREATE DOMAIN cents AS numeric(9,2);
		CREATE TYPE pair AS (a integer, b text)`)
	for setting, value := range map[string]string{"TimeZone": "America/New_York", "IntervalStyle": "iso_8601"} {
		server.Exec(t, fmt.Sprintf("ALTER DATABASE %s SET %s = '%s'", server.Name, setting, value))
	}
	db := postgresDB(t, server.ConnString(), &gorm.Config{})
	createColumns(t, db, postgresColumns)
	other, err := postgres.OpenSource(t.Context(), server.ConnString())
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := other.Close(); err != nil {
			t.Error(err)
		}
	}()
	compareSources(t, db, other, postgresColumns)
}

var sqliteColumns = []column{
	{name: "big", sqlType: "INTEGER", values: []string{"9223372036854775807", "-9223372036854775808", "'no number'"}},
	{name: "amount", sqlType: "NUMERIC", values: []string{"12345678901234567", "0.1", "1.5", "'many'"}},
	{
		name: "free_text", sqlType: "TEXT",
		values: []string{"''", "'NULL'", "'a \"quoted\",' || char(10) || 'line'", "'7'"},
	},
	{name: "binary_", sqlType: "BLOB", values: []string{"x''", "x'00ff0a'", "7", "'text'"}},
	{name: "day", sqlType: "DATE", values: []string{"'2026-01-02'"}},
	{
		name: "wall", sqlType: "DATETIME",
		values: []string{"'2026-01-02 03:04:05.12'", "'2026-01-02 00:00:00'", "'soon'"},
	},
	{name: "moment", sqlType: "timestamp", values: []string{"'2026-01-02 03:04:05'", "'2026-01-02T03:04:05+05:30'"}},
	{name: "flag_text", sqlType: "BOOLEAN", values: []string{"'yes'", "2"}},
	{name: "digits", sqlType: "DECIMAL TEXT", values: []string{"'007'"}},
	{name: "any_", sqlType: "", values: []string{"1", "0.5", "'a'", "x'00'"}},

	{
		name: "real_", sqlType: "REAL", values: []string{"7", "1e16", "9e999"},
		other: []string{`number "7.0"`, `number "10000000000000000.0"`, `number "9.0e+999"`},
		gorm:  []string{`number "7"`, `number "1e+16"`, `number "Infinity"`},
	},
	{
		name: "flag", sqlType: "BOOLEAN", values: []string{"TRUE", "FALSE"},
		other: []string{`number "1"`, `number "0"`}, gorm: []string{`bool "t"`, `bool "f"`},
	},
	{
		name: "js", sqlType: "JSON", values: []string{`'{"a":1}'`, `'{"a":'`},
		other: []string{`text "{\"a\":1}"`, `text "{\"a\":"`}, gorm: []string{`json "{\"a\":1}"`, `text "{\"a\":"`},
	},
	{
		name: "utc", sqlType: "DATETIME", values: []string{"'2026-01-02T03:04:05Z'"},
		other: []string{`text "2026-01-02T03:04:05Z"`}, gorm: []string{`text "2026-01-02 03:04:05"`},
	},
}

func TestAsFromSQLite(t *testing.T) {
	db := sqliteDB(t, &gorm.Config{})
	createColumns(t, db, sqliteColumns)
	var file string
	if err := db.Raw("SELECT file FROM pragma_database_list").Scan(&file).Error; err != nil {
		t.Fatal(err)
	}
	other, err := sqlite.OpenSource(filepath.Clean(file))
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := other.Close(); err != nil {
			t.Error(err)
		}
	}()
	compareSources(t, db, other, sqliteColumns)
}

// createColumns makes a table t with a row for each value, beside a NULL in all other columns, and a row of NULLs.
func createColumns(t *testing.T, db *gorm.DB, columns []column) {
	t.Helper()
	var types []string
	for _, c := range columns {
		types = append(types, c.name+" "+c.sqlType)
	}
	execute(t, db, "CREATE TABLE t (row_ integer, "+strings.Join(types, ", ")+")", "INSERT INTO t (row_) VALUES (0)")
	row := 0
	for _, c := range columns {
		for _, value := range c.values {
			row++
			execute(t, db, fmt.Sprintf("INSERT INTO t (row_, %s) VALUES (%d, %s)", c.name, row, value))
		}
	}
}

// compareSources reads the columns in both ways. Those that do not differ are the same in each format to the byte.
func compareSources(t *testing.T, db *gorm.DB, other source.Source, columns []column) {
	t.Helper()
	same := []string{"row_"}
	for _, c := range columns {
		if c.gorm == nil {
			same = append(same, c.name)
			continue
		}
		query := fmt.Sprintf("SELECT %s FROM t WHERE %[1]s IS NOT NULL ORDER BY row_", c.name)
		if got := readValues(t, func(ctx context.Context) (source.Rows, error) {
			return other.Query(ctx, query)
		}); !slices.Equal(got, c.other) {
			t.Errorf("%s is %s from the database, want %s", c.sqlType, got, c.other)
		}
		if got := readValues(t, gormdb.Query(db.Raw(query))); !slices.Equal(got, c.gorm) {
			t.Errorf("%s is %s from GORM, want %s", c.sqlType, got, c.gorm)
		}
	}
	for _, f := range []format.Format{format.CSV{}, format.JSONL{}} {
		query := "SELECT " + strings.Join(same, ", ") + " FROM t ORDER BY row_"
		want, err := text(t.Context(), f, func(ctx context.Context) (source.Rows, error) {
			return other.Query(ctx, query)
		})
		if err != nil {
			t.Fatal(err)
		}
		got, err := text(t.Context(), f, gormdb.Query(db.Table("t").Select(same).Order("row_")))
		if err != nil {
			t.Fatal(err)
		}
		if got == want {
			continue
		}
		gotLines, wantLines := strings.Split(got, "\n"), strings.Split(want, "\n")
		for i := range min(len(gotLines), len(wantLines)) {
			if gotLines[i] != wantLines[i] {
				t.Errorf("%T: got %s, want %s", f, gotLines[i], wantLines[i])
			}
		}
		t.Errorf("%T: got %d lines, want %d, and not the same", f, len(gotLines), len(wantLines))
	}
}

// readValues returns the kinds and texts of rows of one column.
func readValues(t *testing.T, open func(context.Context) (source.Rows, error)) []string {
	t.Helper()
	rows, err := open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := rows.Close(); err != nil {
			t.Error(err)
		}
	}()
	var all []string
	var b source.Batch
	for {
		err := rows.Next(&b)
		if err == io.EOF {
			return all
		}
		if err != nil {
			t.Fatal(err)
		}
		for row := range b.Rows() {
			kind, value := b.Value(row, 0)
			all = append(all, fmt.Sprintf("%v %q", kind, value))
		}
	}
}
