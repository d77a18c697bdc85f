package fill_test

import (
	"context"
	"errors"
	"io"
	"os"
	"strings"
	"testing"

	"culvert/format"
	"culvert/internal/rowsum"
	"culvert/internal/testkit"
	"culvert/mysql/internal/fill"
	mysqlsource "culvert/mysql/internal/read"
	"culvert/sink"
	"culvert/sink/grammar"
	"culvert/sink/sinktest"
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

// ways are the two ways in which rows are sent. A server with --local-infile=0 takes only INSERT.
var ways = map[string]testkit.MariaDBConfig{
	"LOAD DATA": {},
	"INSERT":    {Options: []string{"--local-infile=0"}},
}

// serverFor returns the server for a way.
func serverFor(t *testing.T, way string) *testkit.MariaDBServer {
	t.Helper()
	if way == "LOAD DATA" {
		return testkit.MariaDB(t)
	}
	return testkit.NewMariaDB(t, ways[way])
}

// bothWays runs a test on a new database of a server for each way.
func bothWays(t *testing.T, test func(t *testing.T, database *testkit.MariaDBDatabase)) {
	for way := range ways {
		t.Run(way, func(t *testing.T) { test(t, serverFor(t, way).NewDatabase(t)) })
	}
}

// TestSink runs the suite.
func TestSink(t *testing.T) {
	bothWays(t, func(t *testing.T, database *testkit.MariaDBDatabase) {
		sinktest.Run(t, sinktest.Fixture{
			Open: func(t *testing.T) sink.Sink {
				db, err := fill.Open(context.Background(), database.URL())
				if err != nil {
					t.Fatal(err)
				}
				return db
			},
			Source: func(t *testing.T) source.Source {
				src, err := mysqlsource.Open(context.Background(), database.URL())
				if err != nil {
					t.Fatal(err)
				}
				return src
			},
			Exec:       func(t *testing.T, sql string) { database.Exec(t, sql) },
			Quote:      func(name string) string { return "`" + strings.ReplaceAll(name, "`", "``") + "`" },
			Text:       "longtext",
			Values:     values,
			Changes:    changes,
			RowsUntold: testkit.MySQL() != "",
			Loaders:    true, Truncates: true, Conflicts: true, Ledger: true, EachPart: true, Busy: true, Groups: true,
		})
	})
}

// changes are values that MariaDB reads as others.
var changes = []sinktest.Change{
	{Type: "float", Kind: source.Number, Value: "0.1234567890123"},
	{Type: "double(9,2)", Kind: source.Number, Value: "1.239"},
	{Type: "decimal(9,2)", Kind: source.Number, Value: "1.239"},
	{Type: "date", Kind: source.Text, Value: "1709164800"},
	{Type: "date", Kind: source.Text, Value: "2026-01-01T10:00"},
	{Type: "datetime", Kind: source.Text, Value: "2026-01-01 10:00:00.5"},
	{Type: "time", Kind: source.Text, Value: "101112"},
	{Type: "varchar(3)", Kind: source.Text, Value: "abc "},
	{Type: "char(5)", Kind: source.Text, Value: "abc "},
	{Type: "char(5)", Kind: source.Text, Value: "abc  "},
	{Type: "char(5)", Kind: source.Text, Value: " "},
	{Type: "char(5) character set ucs2", Kind: source.Text, Value: "ü "},
}

// TestGuarantees tests what is left to check if the type of the source is known.
func TestGuarantees(t *testing.T) {
	sinktest.Guarantees(t, source.MariaDB, []string{
		"tinyint(4)", "int(11)", "bigint(20) unsigned", "decimal(5,2)", "decimal(30,6)", "float", "double",
		"float(7,2)", "date", "datetime", "datetime(6)", "timestamp(3)", "time", "time(6)", "char(3)", "varchar(40)",
		"text", "json",
	}, grammar.MySQL)
}

// values are what columns can hold.
var values = []sourcetest.Value{
	{Type: "bigint unsigned", SQL: "18446744073709551615"},
	{Type: "bigint", SQL: "-9223372036854775808"},
	{Type: "tinyint(1)", SQL: "-128"},
	{Type: "int(5) zerofill", SQL: "42"},
	{Type: "decimal(65,30)", SQL: "-12345678901234567890123456789012345.000000000000000000000000000001"},
	{Type: "decimal(6,2) zerofill", SQL: "1.5"},
	{Type: "float", SQL: "0.1"},
	{Type: "float", SQL: "16777217"},
	{Type: "float", SQL: "3.4028234663852886e38"},
	{Type: "float", SQL: "1.00000012"},
	{Type: "double", SQL: "0.1e0 + 0.2e0"},
	{Type: "double", SQL: "-1.7976931348623157e308"},
	{Type: "double", SQL: "5e-324"},
	{Type: "year", SQL: "1901"},
	{Type: "year", SQL: "0"},
	{Type: "bit(1)", SQL: "b'1'"},
	{Type: "bit(12)", SQL: "b'101000000001'"},
	{Type: "bit(64)", SQL: "~0"},
	{Type: "date", SQL: "'0000-00-00'"},
	{Type: "date", SQL: "'2026-00-00'"},
	{Type: "date", SQL: "'9999-12-31'"},
	{Type: "datetime", SQL: "'0000-00-00'"},
	{Type: "datetime(6)", SQL: "'2026-01-02 03:04:05.000001'"},
	{Type: "datetime(3)", SQL: "'2026-01-02 03:04:05.12'"},
	{Type: "timestamp(6) null", SQL: "FROM_UNIXTIME(86400.5)"},
	{Type: "timestamp null", SQL: "FROM_UNIXTIME(1774746000)"}, // in the hour that summer time leaves out
	{Type: "time", SQL: "'838:59:59'"},
	{Type: "time(6)", SQL: "'-00:00:00.000001'"},
	{Type: "char(5)", SQL: "'a  '"},
	{Type: "varchar(9)", SQL: `'a\\b ''c'`},
	{Type: "varchar(9)", SQL: `'(a),\t''),'`},
	{Type: "text", SQL: `'line\r\nline\ttab "quote", \\N'`},
	{Type: "text", SQL: "CONCAT('a', CHAR(0), 'b', CHAR(26), CHAR(8))"},
	{Type: "text", SQL: "' '"},
	{Type: "mediumtext", SQL: "'€ 😀'"},
	{Type: "varchar(20) character set latin1", SQL: "'äö€'"},
	{Type: "varchar(20) character set ucs2", SQL: "'表'"},
	{Type: "varchar(20) character set sjis", SQL: "'表'"},
	{Type: "enum('a','b''c','')", SQL: `'b''c'`},
	{Type: "enum('a','b''c','')", SQL: "''"},
	{Type: "enum('1','0')", SQL: "'0'"},
	{Type: "set('x','y','z')", SQL: "'z,x'"},
	{Type: "set('x')", SQL: "''"},
	{Type: "json", SQL: `'{"a": [1], "a": 1e400, "b": "\\\\ \\n"}'`},
	{Type: "json", SQL: "'null'"},
	{Type: "binary(4)", SQL: "x'00ff'"},
	{Type: "varbinary(9)", SQL: "''"},
	{Type: "varbinary(9)", SQL: `x'00ff0a095c'`},
	{Type: "longblob", SQL: "x'c0af'"},
	{Type: "tinyblob", SQL: `'\\x41'`},
	{Type: "point", SQL: "ST_GeomFromText('POINT(1 -2)', 7)"},
	{Type: "uuid", SQL: "'7b0d2a5e-0c1f-4e6b-9a55-0123456789ab'"},
	{Type: "inet6", SQL: "'2001:db8::1'"},
}

func open(tb testing.TB, database *testkit.MariaDBDatabase) *fill.DB {
	tb.Helper()
	return openURL(tb, database.URL())
}

func openURL(tb testing.TB, url string) *fill.DB {
	tb.Helper()
	db, err := fill.Open(context.Background(), url)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := db.Close(); err != nil {
			tb.Error(err)
		}
	})
	return db
}

// begin begins to fill the table t.
func begin(tb testing.TB, db *fill.DB, f sink.Filling) (sink.Table, sink.Loader) {
	tb.Helper()
	table, err := db.Table(context.Background(), "t", f)
	if err != nil {
		tb.Fatal(err)
	}
	return table, table.Loaders()[0]
}

// texts returns rows of text, whose values are separated by spaces. A value "-" is NULL.
func texts(rows ...string) *source.Batch {
	b := new(source.Batch)
	b.Reset(len(strings.Split(rows[0], " ")))
	for _, row := range rows {
		for value := range strings.SplitSeq(row, " ") {
			if value == "-" {
				b.AppendNull()
			} else {
				b.Append(source.Text, []byte(value))
			}
		}
		b.EndRow()
	}
	return b
}

// fill fills the table t, and discards it after an error.
func fillRows(tb testing.TB, db *fill.DB, f sink.Filling, rows ...string) error {
	tb.Helper()
	table, loader := begin(tb, db, f)
	err := loader.Load(texts(rows...))
	if err == nil {
		_, err = loader.Close()
	}
	if err == nil {
		err = table.Commit()
	}
	return errors.Join(err, table.Discard())
}

// expect compares the rows of a query.
func expect(tb testing.TB, database *testkit.MariaDBDatabase, sql string, want ...string) {
	tb.Helper()
	var got []string
	for _, row := range database.Query(tb, sql) {
		got = append(got, strings.Join(row, " "))
	}
	if strings.Join(got, "; ") != strings.Join(want, "; ") {
		tb.Errorf("%s: %q, want %q", sql, got, want)
	}
}

// sumOf returns lines of CSV with their number and sum.
func sumOf(lines ...string) (text string, rows int64, sum rowsum.Sum) {
	var all rowsum.Adder
	for _, line := range lines {
		all.Line([]byte(line))
	}
	return strings.Join(lines, ""), int64(len(lines)), all.Sum
}

// export returns a table as CSV, and its sum.
func export(tb testing.TB, database *testkit.MariaDBDatabase, name string) (text []byte, sum rowsum.Sum) {
	tb.Helper()
	src, err := mysqlsource.Open(context.Background(), database.URL())
	if err != nil {
		tb.Fatal(err)
	}
	rows, err := src.Table(context.Background(), name)
	if err != nil {
		tb.Fatal(err)
	}
	encoder, err := format.CSV{}.Encoder(rows.Columns())
	if err != nil {
		tb.Fatal(err)
	}
	var lines rowsum.Adder
	var b source.Batch
	for {
		err := rows.Next(&b)
		if err == io.EOF {
			break
		}
		if err == nil {
			text, err = encoder.(format.LineEncoder).AppendLines(text, &b, 1<<30, &lines, nil)
		}
		if err != nil {
			tb.Fatal(err)
		}
	}
	if err := errors.Join(rows.Close(), src.Close()); err != nil {
		tb.Fatal(err)
	}
	return text, lines.Sum
}
