package read_test

import (
	"context"
	"errors"
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"culvert/internal/testkit"
	"culvert/mysql/internal/read"
	"culvert/source"
	"culvert/source/sourcetest"
)

// TestMain keeps the environment and the option file of the developer out of all tests.
func TestMain(m *testing.M) {
	err := os.Setenv("HOME", "/nowhere")
	for _, variable := range os.Environ() {
		if name, _, _ := strings.Cut(variable, "="); strings.HasPrefix(name, "MYSQL_") {
			err = errors.Join(err, os.Unsetenv(name))
		}
	}
	if err != nil {
		panic(err)
	}
	m.Run()
}

func TestSource(t *testing.T) {
	for name, connections := range map[string]int{"One": 1, "Several": 3} {
		t.Run(name, func(t *testing.T) { testSource(t, connections) })
	}
}

func testSource(t *testing.T, connections int) {
	if connections > 1 {
		read.SetRangeBytes(t, 4<<10) // so that tables of some rows have several ranges
	}
	database := testkit.MariaDB(t).NewDatabase(t)
	sourcetest.Run(t, sourcetest.Fixture{
		Open:    func(t *testing.T) source.Source { return openTogether(t, database.URL(), connections) },
		Divides: connections > 1,
		Beside:  connections - 1,
		Exec:    func(t *testing.T, sql string) { database.Exec(t, sql) },
		Quote:   quote,
		Text:    "longtext",
		FailingQuery: testkit.ForMySQL("SELECT IF(seq < 200000, seq, (SELECT 1 UNION SELECT 2))" +
			" FROM seq_1_to_200000"),
		EndlessQuery: "SELECT SLEEP(3600)",
		ShowingQuery: "SELECT extractvalue('<a/>', concat('~', 'secret-4711'))",
		FailingWhere: "IF(id = 2, (SELECT id UNION SELECT 3), 1)",
		Values:       valuesHere(),
		RefusedNames: []string{" edge "}, // no name may end in a space
		Parting: &sourcetest.Parting{
			Size: 512 << 10, Column: " PRIMARY KEY", Keys: keys, OneRow: 1 << 10, Writers: true,
			Analyze: "ANALYZE TABLE ",
		},
	})
}

// valuesHere are the values of the server that is tested. MySQL names types in another way, knows where a place is, and
// has JSON as a type, also in a query.
func valuesHere() (here []sourcetest.Value) {
	for _, value := range values {
		switch {
		case testkit.MySQL() == "":
		case value.Column == "bigint(20) unsigned":
			value.Column = "bigint unsigned"
		case value.Type == "double" && value.SQL == "'-0'":
			value.Text = "-0"
		case value.Type == "json":
			value.Queried = ""
		case value.Type == "point":
			continue
		}
		here = append(here, value)
	}
	return here
}

// values are what a column can hold, and how it must come.
var values = []sourcetest.Value{
	{
		Type: "bigint unsigned", Logical: "decimal(20,0)", SQL: "18446744073709551615",
		Kind: source.Number, Text: "18446744073709551615", Column: "bigint(20) unsigned",
	},
	{Type: "bigint", Logical: "int64", SQL: "-9223372036854775808", Kind: source.Number, Text: "-9223372036854775808"},
	{Type: "int unsigned", Logical: "int64", SQL: "4294967295", Kind: source.Number, Text: "4294967295"},
	{Type: "mediumint", Logical: "int32", SQL: "-8388608", Kind: source.Number, Text: "-8388608"},
	{Type: "smallint unsigned", Logical: "int32", SQL: "65535", Kind: source.Number, Text: "65535"},
	{Type: "tinyint(1)", Logical: "int16", SQL: "-128", Kind: source.Number, Text: "-128", Column: "tinyint(1)"},
	{Type: "bool", Logical: "int16", SQL: "TRUE", Kind: source.Number, Text: "1", Column: "tinyint(1)"},
	{Type: "int(5) zerofill", Logical: "int64", SQL: "42", Kind: source.Number, Text: "42"},
	{Type: "bigint(22) zerofill", Logical: "decimal(20,0)", SQL: "42", Kind: source.Number, Text: "42"},
	{Type: "float zerofill", Logical: "float32", SQL: "1.5", Kind: source.Number, Text: "1.5"},
	{Type: "double(9,2) zerofill", Logical: "float64", SQL: "1.5", Kind: source.Number, Text: "1.5"},
	{
		Type: "decimal(65,30)", Logical: "decimal(65,30)", Queried: "decimal",
		SQL:  "-12345678901234567890123456789012345.000000000000000000000000000001",
		Kind: source.Number, Text: "-12345678901234567890123456789012345.000000000000000000000000000001",
		Column: "decimal(65,30)",
	},
	{
		Type: "decimal(6,2) zerofill", Logical: "decimal(6,2)", Queried: "decimal", SQL: "1.5",
		Kind: source.Number, Text: "0001.50",
	},
	{Type: "float", Logical: "float32", SQL: "0.1", Kind: source.Number, Text: "0.1"},
	{Type: "float", Logical: "float32", SQL: "16777217", Kind: source.Number, Text: "1.6777216e+07"},
	{Type: "float", Logical: "float32", SQL: "3.4028234663852886e38", Kind: source.Number, Text: "3.4028235e+38"},
	{Type: "float", Logical: "float32", SQL: "1.00000012", Kind: source.Number, Text: "1.0000001"},
	{Type: "double", Logical: "float64", SQL: "0.1e0 + 0.2e0", Kind: source.Number, Text: "0.30000000000000004"},
	{
		Type: "double", Logical: "float64", SQL: "-1.7976931348623157e308",
		Kind: source.Number, Text: "-1.7976931348623157e+308",
	},
	{Type: "double", Logical: "float64", SQL: "5e-324", Kind: source.Number, Text: "5e-324"},
	{Type: "double", Logical: "float64", SQL: "'-0'", Kind: source.Number, Text: "0"},
	{Type: "year", Logical: "int16", SQL: "1901", Kind: source.Number, Text: "1901"},
	{Type: "year", Logical: "int16", SQL: "0", Kind: source.Number, Text: "0000"},
	{Type: "bit(1)", Logical: "int16", Queried: "decimal(20,0)", SQL: "b'1'", Kind: source.Number, Text: "1"},
	{
		Type: "bit(12)", Logical: "int16", Queried: "decimal(20,0)", SQL: "b'101000000001'",
		Kind: source.Number, Text: "2561", Column: "bit(12)",
	},
	{Type: "bit(64)", Logical: "decimal(20,0)", SQL: "~0", Kind: source.Number, Text: "18446744073709551615"},
	{Type: "date", Logical: "date", SQL: "'0000-00-00'", Kind: source.Text, Text: "0000-00-00"},
	{Type: "date", Logical: "date", SQL: "'2026-00-00'", Kind: source.Text, Text: "2026-00-00"},
	{Type: "date", Logical: "date", SQL: "'9999-12-31'", Kind: source.Text, Text: "9999-12-31"},
	{Type: "datetime", Logical: "timestamp(0)", SQL: "'0000-00-00'", Kind: source.Text, Text: "0000-00-00 00:00:00"},
	{
		Type: "datetime(6)", Logical: "timestamp", SQL: "'0000-00-00'",
		Kind: source.Text, Text: "0000-00-00 00:00:00.000000",
	},
	{Type: "datetime", Logical: "timestamp(0)", SQL: "'2026-01-02'", Kind: source.Text, Text: "2026-01-02 00:00:00"},
	{
		Type: "datetime(6)", Logical: "timestamp", SQL: "'2026-01-02 03:04:05.000001'",
		Kind: source.Text, Text: "2026-01-02 03:04:05.000001", Column: "datetime(6)",
	},
	{
		Type: "datetime(3)", Logical: "timestamp(3)", SQL: "'2026-01-02 03:04:05.12'",
		Kind: source.Text, Text: "2026-01-02 03:04:05.120",
	},
	{
		Type: "timestamp(6) null", Logical: "instant", SQL: "FROM_UNIXTIME(86400.5)",
		Kind: source.Text, Text: "1970-01-02 00:00:00.500000",
	},
	{Type: "time", Logical: "time(0)", SQL: "'838:59:59'", Kind: source.Text, Text: "838:59:59"},
	{Type: "time", Logical: "time(0)", SQL: "'-838:59:59'", Kind: source.Text, Text: "-838:59:59"},
	{Type: "time(6)", Logical: "time", SQL: "'-00:00:00.000001'", Kind: source.Text, Text: "-00:00:00.000001"},
	{Type: "time", Logical: "time(0)", SQL: "0", Kind: source.Text, Text: "00:00:00"},
	{Type: "time(2)", Logical: "time(2)", SQL: "'25:00:00.5'", Kind: source.Text, Text: "25:00:00.50"},
	{Type: "char(5)", Logical: "char(5)", Queried: "char", SQL: "'a  '", Kind: source.Text, Text: "a"},
	{
		Type: "varchar(9)", Logical: "string(9)", Queried: "string", SQL: `'a\\b ''c'`,
		Kind: source.Text, Text: `a\b 'c`, Column: "varchar(9)",
	},
	{
		Type: "varchar(9) collate utf8mb4_bin", Logical: "string(9)", Queried: "string", SQL: "'bin'",
		Kind: source.Text, Text: "bin",
	},
	{Type: "text collate utf8mb4_bin", Logical: "string", SQL: "'bin'", Kind: source.Text, Text: "bin"},
	{
		Type: "text", Logical: "string", SQL: `'line\r\nline\ttab "quote", \\N'`,
		Kind: source.Text, Text: "line\r\nline\ttab \"quote\", \\N",
	},
	{Type: "text", Logical: "string", SQL: "CONCAT('a', CHAR(0), 'b')", Kind: source.Text, Text: "a\x00b"},
	{Type: "mediumtext", Logical: "string", SQL: "'€ 😀'", Kind: source.Text, Text: "€ 😀"},
	{
		Type: "varchar(20) character set latin1", Logical: "string(20)", Queried: "string", SQL: "'äö€'",
		Kind: source.Text, Text: "äö€",
	},
	{Type: "text character set latin1 collate latin1_bin", Logical: "string", SQL: "'é'", Kind: source.Text, Text: "é"},
	{
		Type: "varchar(20) character set utf8mb3", Logical: "string(20)", Queried: "string", SQL: "'表'",
		Kind: source.Text, Text: "表",
	},
	{
		Type: "varchar(20) character set ucs2", Logical: "string(20)", Queried: "string", SQL: "'表'",
		Kind: source.Text, Text: "表",
	},
	{
		Type: "varchar(20) character set sjis", Logical: "string(20)", Queried: "string", SQL: "'表'",
		Kind: source.Text, Text: "表",
	},
	{
		Type: "enum('a','b''c','')", Logical: "enum", SQL: `'b''c'`,
		Kind: source.Text, Text: "b'c", Column: "enum('a','b''c','')",
	},
	{Type: "enum('1','0')", Logical: "enum", SQL: "'0'", Kind: source.Text, Text: "0"},
	{Type: "set('x','y','z')", Logical: "string", SQL: "'z,x'", Kind: source.Text, Text: "x,z"},
	{Type: "set('x')", Logical: "string", SQL: "''", Kind: source.Text, Text: ""},
	{
		Type: "json", Logical: "json", Queried: "string", SQL: `'{"a": [1], "a": 1e400}'`,
		Kind: source.JSON, Text: `{"a": [1], "a": 1e400}`,
	},
	{Type: "json", Logical: "json", Queried: "string", SQL: "'null'", Kind: source.JSON, Text: "null"},
	{Type: "binary(4)", Logical: "bytes", SQL: "x'00ff'", Kind: source.Bytes, Text: "\x00\xff\x00\x00"},
	{Type: "varbinary(9)", Logical: "bytes", SQL: "''", Kind: source.Bytes, Text: ""},
	{Type: "varbinary(9)", Logical: "bytes", SQL: "x'00ff0a'", Kind: source.Bytes, Text: "\x00\xff\n"},
	{Type: "longblob", Logical: "bytes", SQL: "x'c0af'", Kind: source.Bytes, Text: "\xc0\xaf"},
	{Type: "tinyblob", Logical: "bytes", SQL: "'text'", Kind: source.Bytes, Text: "text"},
	{
		Type: "point", Logical: "bytes", SQL: "ST_GeomFromText('POINT(1 -2)', 7)", Kind: source.Bytes,
		Text: "\x07\x00\x00\x00\x01\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\xf0\x3f\x00\x00\x00\x00\x00\x00\x00\xc0",
	},
	{
		Type: "uuid", Logical: "uuid", Queried: "char", SQL: "'7b0d2a5e-0c1f-4e6b-9a55-0123456789ab'",
		Kind: source.Text, Text: "7b0d2a5e-0c1f-4e6b-9a55-0123456789ab",
	},
	{Type: "inet6", Queried: "char", SQL: "'2001:db8::1'", Kind: source.Text, Text: "2001:db8::1"},
}

func quote(name string) string {
	quoted := "`"
	for _, r := range name {
		if r == '`' {
			quoted += "`"
		}
		quoted += string(r)
	}
	return quoted + "`"
}

// open opens a database.
func open(tb testing.TB, address string) *read.DB {
	tb.Helper()
	db, err := read.Open(context.Background(), address)
	if err != nil {
		tb.Fatal(err)
	}
	return db
}

// openTogether opens a database with several connections.
func openTogether(tb testing.TB, address string, connections int) *read.DB {
	tb.Helper()
	db, err := read.Config{Connections: connections, LockWait: patience}.Open(context.Background(), address)
	if err != nil {
		tb.Fatal(err)
	}
	return db
}

// patience is for locks that a test does not expect to wait for.
const patience = time.Minute

// openNew opens a new database in which the statements have been run, and closes it at the end of the test.
func openNew(tb testing.TB, sql string) (*read.DB, *testkit.MariaDBDatabase) {
	tb.Helper()
	database := testkit.MariaDB(tb).NewDatabase(tb)
	database.Exec(tb, sql)
	return openAgain(tb, database.URL()), database
}

func openAgain(tb testing.TB, address string) *read.DB {
	tb.Helper()
	db := open(tb, address)
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

// expectRows reads rows to their end and compares how many there are.
func expectRows(tb testing.TB, rows source.Rows, want int) {
	tb.Helper()
	if count, err := drain(rows); err != io.EOF || count != want {
		tb.Errorf("%d rows and the error %v, want %d rows", count, err, want)
	}
	if err := rows.Close(); err != nil {
		tb.Error(err)
	}
}
