package load_test

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"culvert/load"
	"culvert/sink"
	"culvert/source"
)

// The least and the greatest UUID.
const (
	noUUID   = "'00000000-0000-0000-0000-000000000000'"
	lastUUID = "'ffffffff-ffff-ffff-ffff-ffffffffffff'"
)

// extremes are values of the types in the table of package dialect, as literals of the system, which both systems of a
// row have. The key is the type, and the target if it has fewer values than the other one.
var extremes = map[string]map[string][]string{
	"PostgreSQL": {
		"smallint":                            {"-32768", "32767"},
		"integer":                             {"-2147483648", "2147483647"},
		"bigint":                              {"-9223372036854775808", "9223372036854775807"},
		"boolean":                             {"true", "false"},
		"numeric(p,s)":                        {"-99999.99", "0.01", "0"},
		"numeric":                             {"123456789012345678901234567890.123456789", "1e-30", "'NaN'", "-1e300"},
		"real":                                {"3.4028235e38", "-1.1754944e-38", "0.1", "16777217"},
		"double precision":                    {"1.7976931348623157e308", "-2.2250738585072014e-308", "0.1"},
		"character(n)":                        {"'ab'", "'😀😀😀😀😀😀😀'", "''"},
		"character varying(n)":                {"'ab  '", "'😀😀😀😀😀😀😀'", "''"},
		"character varying":                   {"repeat('é', 70000)", "''"},
		"text":                                {"E'\\t\\r\\n\\\\ \"\\001'", "repeat('😀', 70000)", "'NULL'", "'\\N'"},
		"citext":                              {"'Éé'", "''"},
		`"char"`:                              {`'\377'`, "'a'", "''"},
		"bytea":                               {`'\x00ff0a0d5c22'`, `'\x'`, "decode(repeat('00ff', 70000), 'hex')"},
		"json":                                {`'{"a": 1.50, "a":null}'`, `'"\u00e9"'`, "'[]'", "'null'"},
		"jsonb":                               {`'{"a": [1.50, null]}'`, "'1e3'"},
		"uuid":                                {noUUID, lastUUID},
		"an enum type":                        {"'so so'", "'it''s'"},
		"date":                                {"'0001-01-01'", "'9999-12-31'", "'2024-02-29'"},
		"time without time zone":              {"'00:00'", "'23:59:59.999999'", "'24:00:00'"},
		"time(p) without time zone":           {"'00:00:00.001'", "'23:59:59.999'"},
		"timestamp without time zone":         {"'0001-01-01 00:00:00.000001'", "'9999-12-31 23:59:59.999999'"},
		"timestamp(p) without time zone":      {"'0001-01-01 00:00:00.001'", "'9999-12-31 23:59:59.999'"},
		"timestamp with time zone":            {"'0001-01-01 00:00:00+00'", "'9999-12-31 23:59:59.999999+00'"},
		"timestamp with time zone > MySQL":    {"'1970-01-01 00:00:01+00'", "'2038-01-19 03:14:07.999999+00'"},
		"timestamp(p) with time zone":         {"'0001-01-01 00:00:00.001+00'", "'9999-12-31 23:59:59.999+00'"},
		"timestamp(p) with time zone > MySQL": {"'1970-01-01 00:00:01+00'", "'2038-01-19 03:14:07.999+00'"},
	},
	"MySQL": {
		"tinyint":            {"-128", "127"},
		"tinyint unsigned":   {"0", "255"},
		"smallint":           {"-32768", "32767"},
		"smallint unsigned":  {"0", "65535"},
		"mediumint":          {"-8388608", "8388607"},
		"mediumint unsigned": {"0", "16777215"},
		"int":                {"-2147483648", "2147483647"},
		"int unsigned":       {"0", "4294967295"},
		"bigint":             {"-9223372036854775808", "9223372036854775807"},
		"bigint unsigned":    {"0", "9223372036854775807", "9223372036854775808", "18446744073709551615"},
		"bit(n)":             {"b'0'", "b'1111111'"},
		"year":               {"1901", "2155", "0"},
		"decimal(p,s)":       {"-99999.99", "0.01", "0"},
		"float":              {"3.40282e38", "-1.17549e-38", "0.1", "16777216"},
		"double":             {"1.7976931348623157e308", "-2.2250738585072014e-308", "0.1"},
		"char(n)":            {"'ab'", "'😀😀😀😀😀😀😀'", "''"},
		"varchar(n)":         {"'ab  '", "'😀😀😀😀😀😀😀'", "''"},
		"tinytext":           {"repeat('é', 127)", "''"},
		"text":               {"repeat('é', 32767)", `'\t\r\n\\ \"'`},
		"mediumtext":         {"repeat('😀', 70000)", "'NULL'"},
		"longtext":           {"repeat('😀', 70000)", `'\\N'`},
		"enum":               {"'a'", "'it''s'", "''"},
		"set":                {"''", "'a'", "'a,it''s'"},
		"binary(n)":          {"x'00ff0a0d5c2200'", "''"},
		"varbinary(n)":       {"x'00'", "''"},
		"tinyblob":           {"repeat(x'00ff', 127)", "''"},
		"blob":               {"repeat(x'00ff', 32767)", "x'5c22'"},
		"mediumblob":         {"repeat(x'00ff', 70000)"},
		"longblob":           {"repeat(x'00ff', 70000)"},
		"geometry":           {"ST_GeomFromText('POINT(1 -2)', 7)"},
		"geometrycollection": {"ST_GeomFromText('GEOMETRYCOLLECTION(POINT(1 1))')"},
		"json":               {"concat('{', char(34), 'a', char(34), ':  1.50}')", "'[]'", "'null'"},
		"uuid":               {noUUID, lastUUID},
		"inet4":              {"'0.0.0.0'", "'255.255.255.255'"},
		"inet6":              {"'::'", "'ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff'", "'::ffff:1.2.3.4'"},
		"date":               {"'0001-01-01'", "'9999-12-31'"},
		"time":               {"'00:00:00'", "'23:59:59'"},
		"time > SQLite":      {"'-838:59:59'", "'838:59:59'"},
		"time(p)":            {"'00:00:00.001'", "'23:59:59.999'"},
		"datetime":           {"'0001-01-01 00:00:00'", "'9999-12-31 23:59:59'"},
		"datetime(p)":        {"'0001-01-01 00:00:00.001'", "'9999-12-31 23:59:59.999'"},
		"timestamp":          {"'1970-01-01 00:00:01'", "'2038-01-19 03:14:07'"},
		"timestamp(p)":       {"'1970-01-01 00:00:01.001'", "'2038-01-19 03:14:07.999'"},
	},
	"SQLite": {
		"INTEGER":          {"-9223372036854775808", "9223372036854775807"},
		"INT":              {"-9223372036854775808", "9223372036854775807"},
		"TINYINT":          {"-9223372036854775808", "9223372036854775807"},
		"SMALLINT":         {"-9223372036854775808", "9223372036854775807"},
		"MEDIUMINT":        {"-9223372036854775808", "9223372036854775807"},
		"BIGINT":           {"-9223372036854775808", "9223372036854775807"},
		"BOOLEAN":          {"0", "1"},
		"BOOL":             {"0", "1"},
		"REAL":             {"1.7976931348623157e308", "-2.2250738585072014e-308", "0.1"},
		"DOUBLE":           {"1.7976931348623157e308", "0.1"},
		"DOUBLE PRECISION": {"1.7976931348623157e308", "0.1"},
		"FLOAT":            {"1.7976931348623157e308", "0.1"},
		"NUMERIC":          {"9223372036854775807", "0.1", "-123456.789"},
		"NUMERIC(p,s)":     {"-99999.99", "0.01", "0"},
		"DECIMAL":          {"9223372036854775807", "0.1", "-123456.789"},
		"DECIMAL(p,s)":     {"-99999.99", "0.01", "0"},
		"CHAR(n)":          {"'ab  '", "'😀😀😀😀😀😀😀'", "''"},
		"VARCHAR(n)":       {"'ab  '", "'😀😀😀😀😀😀😀'", "''"},
		"NVARCHAR(n)":      {"'ab  '", "'😀😀😀😀😀😀😀'", "''"},
		"VARCHAR":          {"printf('%.*c', 70000, 'é')", "'NULL'"},
		"TEXT":             {"char(9, 13, 10, 92, 34, 1)", `'\N'`, "''", "'007'"},
		"CLOB":             {"printf('%.*c', 70000, '😀')"},
		"BLOB":             {"x'00ff0a0d5c22'", "x''", "zeroblob(70000)"},
		"JSON":             {`'{"a": 1.50, "a":null}'`, "'[]'"},
		"UUID":             {"'ffffffff-ffff-ffff-ffff-ffffffffffff'"},
		"DATE":             {"'0001-01-01'", "'9999-12-31'"},
		"TIME":             {"'00:00:00'", "'23:59:59.999999'"},
		"DATETIME":         {"'0001-01-01 00:00:00'", "'9999-12-31 23:59:59.999999'"},
		"TIMESTAMP":        {"'0001-01-01 00:00:00'", "'9999-12-31 23:59:59.999999'"},
		"TIMESTAMPTZ":      {"'1970-01-01 00:00:01+00'", "'2038-01-19 03:14:07.999999+00'"},
	},
}

// systemsOfTable are the systems as the table names them.
var systemsOfTable = map[string]func(*testing.T) side{
	"PostgreSQL": postgresSide, "MySQL": mariaDBSide, "SQLite": sqliteSide,
}

// typesOfTable reads the rows of the table: the types of a system, and which of the other systems have an equal.
func typesOfTable(t *testing.T) map[string]map[string][]string {
	t.Helper()
	text, err := os.ReadFile("../sink/dialect/doc.go")
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]map[string][]string{}
	gap := regexp.MustCompile(`  +`)
	var head []string
	for line := range strings.Lines(string(text)) {
		row, is := strings.CutPrefix(strings.TrimRight(line, "\n"), "//\t")
		cells := gap.Split(row, -1)
		switch {
		case !is || len(cells) != 3:
		case systemsOfTable[cells[0]] != nil:
			head = cells
			all[head[0]] = map[string][]string{}
		default:
			for i, cell := range cells[1:] {
				if cell != "-" {
					all[head[0]][head[i+1]] = append(all[head[0]][head[i+1]], cells[0])
				}
			}
		}
	}
	return all
}

// TestAcrossTypes takes the extreme values of each type in the table of package dialect to each other system, in a
// table that is made there, and back into one of the same types: the rows are the same.
func TestAcrossTypes(t *testing.T) {
	t.Parallel()
	for from, targets := range typesOfTable(t) {
		for to, types := range targets {
			t.Run(from+"/"+to, func(t *testing.T) { acrossTypes(t, from, to, types, directly) })
		}
	}
}

// byAffinity are types of SQLite that other programs write, with extreme values.
var byAffinity = map[string][]string{
	"datetime(6)":          {"'0001-01-01 00:00:00.000001'", "'9999-12-31 23:59:59.999999'"},
	"integer unsigned":     {"-9223372036854775808", "9223372036854775807"},
	"INT(11)":              {"-9223372036854775808", "9223372036854775807"},
	"UNSIGNED BIG INT":     {"9223372036854775807"},
	"VARYING CHARACTER(5)": {"'ab  '", "'😀😀😀😀😀'"},
	"NATIVE CHARACTER":     {"printf('%.*c', 70000, 'é')"},
	"text(100)":            {"printf('%.*c', 70000, 'é')", "'007'"},
	"long blob":            {"x'00ff'", "zeroblob(70000)"},
	"floating":             {"1.7976931348623157e308", "0.1"},
	"double precision(7)":  {"1.7976931348623157e308", "0.1"},
}

// TestAcrossAffinities is TestAcrossTypes for types of SQLite that only their affinity tells.
func TestAcrossAffinities(t *testing.T) {
	for _, to := range []string{"PostgreSQL", "MySQL"} {
		t.Run(to, func(t *testing.T) {
			acrossTypes(t, "SQLite", to, slices.Sorted(maps.Keys(byAffinity)), directly)
		})
	}
}

// way is how a table t goes from one database into another.
type way func(t *testing.T, plan load.Plan, dst sink.Sink, src source.Source) error

func directly(t *testing.T, plan load.Plan, dst sink.Sink, src source.Source) error {
	_, err := plan.Copy(t.Context(), dst, src, "t", "t")
	return err
}

func acrossTypes(t *testing.T, from, to string, types []string, take way, without ...string) {
	before := ""
	if from == "PostgreSQL" {
		before = "CREATE TYPE mood AS ENUM ('so so', 'it''s'); CREATE EXTENSION citext; "
	}
	named := strings.NewReplacer("(p,s)", "(7,2)", "(n)", "(7)", "(p)", "(3)")
	columns, rows := []string{"id int PRIMARY KEY"}, [][]string{}
	for i, name := range types {
		sql := named.Replace(name)
		switch name {
		case "enum", "set":
			sql += "('','a','it''s')"
		case "an enum type":
			sql = "mood"
		}
		if from == "MySQL" && strings.HasPrefix(sql, "timestamp") {
			sql += " NULL DEFAULT NULL"
		}
		columns = append(columns, fmt.Sprintf("c%d %s", i, sql))
		values := extremes[from][name+" > "+to]
		if values == nil {
			values = extremes[from][name]
		}
		if values == nil {
			values = byAffinity[name]
		}
		values = slices.DeleteFunc(slices.Clone(values), func(v string) bool { return slices.Contains(without, v) })
		if values == nil {
			t.Errorf("there are no values of %s", name)
		}
		for at, value := range values {
			if at == len(rows) {
				rows = append(rows, slices.Repeat([]string{"NULL"}, len(types)))
			}
			rows[at][i] = value
		}
	}
	sql := "CREATE TABLE t (" + strings.Join(columns, ", ") + ")"
	was, there, again := systemsOfTable[from](t), systemsOfTable[to](t), systemsOfTable[from](t)
	for _, s := range []side{was, again} {
		if err := s.try(before + sql); err != nil {
			t.Fatalf("%v: %s", err, sql)
		}
	}
	if from == to && before != "" {
		if err := there.try(before); err != nil {
			t.Fatal(err)
		}
	}
	for i, row := range rows {
		if err := was.try(fmt.Sprintf("INSERT INTO t VALUES (%d, %s)", i, strings.Join(row, ", "))); err != nil {
			t.Fatalf("%v: %q", err, row)
		}
	}
	plan := load.Plan{Create: true}
	if err := take(t, plan, there.dst, was.open()); err != nil {
		t.Fatal(err)
	}
	plan.Create = false
	if err := take(t, plan, again.dst, there.open()); err != nil {
		t.Fatal(err)
	}
	want, got := valuesOf(t, was.open()), valuesOf(t, again.open())
	for row := range want {
		for column := range want[row] {
			value, is := want[row][column], got[row][column]
			if from == "SQLite" && to == "MySQL" { // which prints six digits of a second, and no zone
				value = strings.TrimSuffix(value, "+00")
				is = strings.TrimSuffix(strings.TrimSuffix(is, "+00"), ".000000")
			}
			if column > 0 && value != is {
				t.Errorf("%s: %.60q has become %.60q", types[column-1], value, is)
			}
		}
	}
}

// valuesOf returns the values of the table t, with their kinds.
func valuesOf(t *testing.T, src source.Source) (all [][]string) {
	t.Helper()
	rows, err := src.Table(t.Context(), "t")
	if err != nil {
		t.Fatal(err)
	}
	defer closing(t, rows)
	var b source.Batch
	for {
		if err := rows.Next(&b); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		for row := range b.Rows() {
			var values []string
			for column := range b.Columns() {
				kind, value := b.AnyValue(row, column)
				values = append(values, fmt.Sprintf("%v %s", kind, value))
			}
			all = append(all, values)
		}
	}
	slices.SortFunc(all, func(a, b []string) int { return strings.Compare(a[0], b[0]) })
	return all
}
