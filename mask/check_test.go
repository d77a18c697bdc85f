package mask

import (
	"strings"
	"testing"

	"culvert/source"
)

// TestCheckTypes refuses rules whose values a column cannot have, as only its definition shows.
func TestCheckTypes(t *testing.T) {
	whole := source.Type{Class: source.IntClass, Bits: 16}
	text := source.Type{Class: source.StringClass}
	const fts5, rtree = "CREATE VIRTUAL TABLE t USING fts5(a)", "create virtual table t using rtree(id, a, b)"
	for _, test := range []struct {
		dialect      source.Dialect
		create, name string
		of           string
		logical      source.Type
		refuses      bool // NULL
		rule, want   string
	}{
		{source.MariaDB, "", "born", "year(4)", whole, false, "round 10", "cannot mask the type year(4)"},
		{source.MySQL, "", "born", "year", whole, false, "number noise 10%", "cannot mask the type year"},
		{source.MariaDB, "", "born", "year(4)", whole, false, "fixed 7", "no year of the type year(4)"},
		{source.MariaDB, "", "born", "year(4)", whole, false, "fixed 1999", ""},
		{source.MariaDB, "", "kind", "set('x','y')", text, false, "fixed 7", "none of the values"},
		{source.MariaDB, "", "kind", "set('x','y')", text, false, "fixed y,x", ""},
		{source.PostgreSQL, "", "name", "names", text, true, "null", "must not be NULL"},
		{source.PostgreSQL, "", "name", "names", text, false, "null", ""},
		{source.SQLite, fts5, "rowid", "INTEGER", whole, false, "round 10", "is unique"},
		{source.SQLite, fts5, "rowid", "INTEGER", whole, false, "null", "must not be NULL"},
		{source.SQLite, rtree, "id", "INT", whole, false, "fixed 1", "is unique"},
		{source.SQLite, "CREATE TABLE t (id INTEGER)", "id", "INTEGER", whole, false, "fixed 1", ""},
	} {
		rule, err := ParseRule(test.rule)
		if err != nil {
			t.Fatal(err)
		}
		p := &Policy{Key: GenerateKey(), Tables: map[string]Rules{"t": {test.name: rule}}}
		_, err = p.Check([]Table{{
			Name: "t", Columns: []source.Column{{Name: test.name, Type: test.of, Logical: test.logical}},
			Definition: &source.Definition{
				Dialect: test.dialect, Name: "t", Create: test.create,
				Columns: []source.ColumnDefinition{{Name: test.name, Type: test.of, RefusesNull: test.refuses}},
			},
		}})
		if (err == nil) != (test.want == "") || err != nil && !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s of %s %s: %v, want %q", test.rule, test.dialect, test.of, err, test.want)
		}
	}
}

// TestPrintedValues makes values as the databases print them again, so that what is loaded has the same sum.
func TestPrintedValues(t *testing.T) {
	moment := source.Type{Class: source.TimestampClass}
	for _, test := range []struct{ of, rule, value, want string }{
		{"datetime(3)", "year", "2001-02-03 04:05:06.789", "2001-01-01 00:00:00.000"},
		{"timestamp(6)", "month", "2001-02-03 04:05:06.000001", "2001-02-01 00:00:00.000000"},
		{"timestamp(3) without time zone", "year", "2001-02-03 04:05:06.789", "2001-01-01 00:00:00"},
		{"datetime", "year", "2001-02-03 04:05:06", "2001-01-01 00:00:00"},
	} {
		rule, err := ParseRule(test.rule)
		if err != nil {
			t.Fatal(err)
		}
		made, err := rule.compile(GenerateKey(), source.Column{Name: "c", Type: test.of, Logical: moment})
		if err != nil {
			t.Fatal(err)
		}
		if _, got, err := made().append(nil, source.Text, []byte(test.value)); err != nil || string(got) != test.want {
			t.Errorf("%s of %s: %q, %v", test.rule, test.of, got, err)
		}
	}
	rule, err := ParseRule("name")
	if err != nil {
		t.Fatal(err)
	}
	short := source.Column{Name: "c", Type: "char(6)", Logical: source.Type{Class: source.CharClass, Length: 6}}
	made, err := rule.compile(GenerateKey(), short)
	if err != nil {
		t.Fatal(err)
	}
	mask := made()
	for i := range byte(200) {
		_, got, err := mask.append(nil, source.Text, []byte{'a', i})
		if err != nil || strings.HasSuffix(string(got), " ") {
			t.Fatalf("a name is %q, %v", got, err)
		}
	}
}
