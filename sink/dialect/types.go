package dialect

import (
	"errors"
	"fmt"
	"strings"

	"culvert/internal/typename"
	"culvert/source"
)

// TypeError is the error of a column whose type has no equal.
type TypeError struct {
	Table, Column, Type string
	To                  source.Dialect
}

func (e *TypeError) Error() string {
	if e.Type == "" {
		return fmt.Sprintf("dialect: column %q of table %q has no type, for which %s has no equal",
			e.Column, e.Table, Name(e.To))
	}
	return fmt.Sprintf("dialect: column %q of table %q has type %s, which %s has no equal for",
		e.Column, e.Table, e.Type, Name(e.To))
}

// Is reports that the error is [errors.ErrUnsupported].
func (e *TypeError) Is(target error) bool { return target == errors.ErrUnsupported }

// Name returns the name of a system as people write it.
func Name(d source.Dialect) string {
	switch d {
	case source.PostgreSQL:
		return "PostgreSQL"
	case source.MySQL:
		return "MySQL"
	case source.MariaDB:
		return "MariaDB"
	case source.SQLite:
		return "SQLite"
	}
	return string(d)
}

// equals are the equals of a type. A modifier is (n), (p) or (p,s) on both sides. "" is none.
type equals struct{ postgres, mysql, sqlite string }

// untyped is the type of a column of SQLite that stores values as they are.
const untyped = "untyped"

// types are the equals of the types of each system, in lower case.
var types = map[source.Dialect]map[string]equals{
	source.PostgreSQL: {
		"smallint":                       {"", "smallint", "INTEGER"},
		"integer":                        {"", "int", "INTEGER"},
		"bigint":                         {"", "bigint", "INTEGER"},
		"boolean":                        {"", "tinyint(1)", "BOOLEAN"},
		"numeric(p,s)":                   {"", "decimal(p,s)", "NUMERIC(p,s)"},
		"numeric":                        {"", "", "TEXT"},
		"real":                           {"", "float", "REAL"},
		"double precision":               {"", "double", "REAL"},
		"character(n)":                   {"", "char(n)", "CHAR(n)"},
		"character varying(n)":           {"", "varchar(n)", "VARCHAR(n)"},
		"character varying":              {"", "longtext", "TEXT"},
		"text":                           {"", "longtext", "TEXT"},
		"citext":                         {"", "longtext", "TEXT"},
		"bytea":                          {"", "longblob", "BLOB"},
		"json":                           {"", "json", "TEXT"},
		"jsonb":                          {"", "json", "TEXT"},
		"uuid":                           {"", "char(36)", "TEXT"},
		"date":                           {"", "date", "DATE"},
		"time without time zone":         {"", "time(6)", "TIME"},
		"time without time zone(p)":      {"", "time(p)", "TIME"},
		"timestamp without time zone":    {"", "datetime(6)", "TIMESTAMP"},
		"timestamp without time zone(p)": {"", "datetime(p)", "TIMESTAMP"},
		"timestamp with time zone":       {"", "timestamp(6)", "TIMESTAMPTZ"},
		"timestamp with time zone(p)":    {"", "timestamp(p)", "TIMESTAMPTZ"},
	},
	source.MySQL: {
		"tinyint":            {"smallint", "", "INTEGER"},
		"tinyint unsigned":   {"smallint", "", "INTEGER"},
		"smallint":           {"smallint", "", "INTEGER"},
		"smallint unsigned":  {"integer", "", "INTEGER"},
		"mediumint":          {"integer", "", "INTEGER"},
		"mediumint unsigned": {"integer", "", "INTEGER"},
		"int":                {"integer", "", "INTEGER"},
		"int unsigned":       {"bigint", "", "INTEGER"},
		"bigint":             {"bigint", "", "INTEGER"},
		"bigint unsigned":    {"numeric(20,0)", "", untyped},
		"bit(n)":             {"bigint", "", "INTEGER"},
		"year":               {"smallint", "", "INTEGER"},
		"decimal(p,s)":       {"numeric(p,s)", "", "NUMERIC(p,s)"},
		"float":              {"real", "", "REAL"},
		"double":             {"double precision", "", "REAL"},
		"char(n)":            {"character(n)", "", "CHAR(n)"},
		"varchar(n)":         {"varchar(n)", "", "VARCHAR(n)"},
		"tinytext":           {"text", "", "TEXT"},
		"text":               {"text", "", "TEXT"},
		"mediumtext":         {"text", "", "TEXT"},
		"longtext":           {"text", "", "TEXT"},
		"enum":               {"text", "", "TEXT"},
		"set":                {"text", "", "TEXT"},
		"binary(n)":          {"bytea", "", "BLOB"},
		"varbinary(n)":       {"bytea", "", "BLOB"},
		"tinyblob":           {"bytea", "", "BLOB"},
		"blob":               {"bytea", "", "BLOB"},
		"mediumblob":         {"bytea", "", "BLOB"},
		"longblob":           {"bytea", "", "BLOB"},
		"json":               {"json", "", "TEXT"},
		"uuid":               {"uuid", "", "TEXT"},
		"inet4":              {"inet", "", "TEXT"},
		"inet6":              {"inet", "", "TEXT"},
		"date":               {"date", "", "DATE"},
		"time":               {"time(0)", "", "TIME"},
		"time(p)":            {"time(p)", "", "TIME"},
		"datetime":           {"timestamp(0)", "", "TIMESTAMP"},
		"datetime(p)":        {"timestamp(p)", "", "TIMESTAMP"},
		"timestamp":          {"timestamptz(0)", "", "TIMESTAMP"},
		"timestamp(p)":       {"timestamptz(p)", "", "TIMESTAMP"},
	},
	source.SQLite: {
		"integer":          {"bigint", "bigint", ""},
		"int":              {"bigint", "bigint", ""},
		"tinyint":          {"bigint", "bigint", ""},
		"smallint":         {"bigint", "bigint", ""},
		"mediumint":        {"bigint", "bigint", ""},
		"bigint":           {"bigint", "bigint", ""},
		"boolean":          {"boolean", "tinyint(1)", ""},
		"bool":             {"boolean", "tinyint(1)", ""},
		"real":             {"double precision", "double", ""},
		"double":           {"double precision", "double", ""},
		"double precision": {"double precision", "double", ""},
		"float":            {"double precision", "double", ""},
		"numeric":          {"numeric", "", ""},
		"numeric(p,s)":     {"numeric", "decimal(p,s)", ""},
		"decimal":          {"numeric", "", ""},
		"decimal(p,s)":     {"numeric", "decimal(p,s)", ""},
		"char(n)":          {"varchar(n)", "varchar(n)", ""},
		"varchar(n)":       {"varchar(n)", "varchar(n)", ""},
		"nvarchar(n)":      {"varchar(n)", "varchar(n)", ""},
		"varchar":          {"text", "longtext", ""},
		"text":             {"text", "longtext", ""},
		"clob":             {"text", "longtext", ""},
		"blob":             {"bytea", "longblob", ""},
		"json":             {"json", "json", ""},
		"uuid":             {"uuid", "char(36)", ""},
		"date":             {"date", "date", ""},
		"time":             {"time", "time(6)", ""},
		"datetime":         {"timestamp", "datetime(6)", ""},
		"timestamp":        {"timestamp", "datetime(6)", ""},
		"timestamptz":      {"timestamptz", "timestamp(6)", ""},
	},
}

// key returns the name under which a type is listed, and its modifiers.
func key(from source.Dialect, name string) (listed string, modifiers []int) {
	base, modifiers := typename.Cut(name)
	if from.Family() == source.MySQL {
		base = strings.TrimSuffix(base, " zerofill")
		word, _, _ := strings.Cut(strings.TrimSuffix(base, " unsigned"), "(")
		switch word {
		case "enum", "set", "float", "double":
			return word, nil
		case "tinyint", "smallint", "mediumint", "int", "bigint", "year":
			return base, nil // a width says nothing about the values
		case "decimal":
			base = word
		}
	}
	if from == source.PostgreSQL && strings.HasSuffix(base, ".citext") {
		base = "citext" // whatever the schema of the extension
	}
	if modifiers == nil {
		return base, nil
	}
	shape := "(n)"
	switch {
	case base == "numeric" || base == "decimal":
		shape = "(p,s)"
		if len(modifiers) == 1 {
			modifiers = append(modifiers, 0)
		}
	case strings.HasPrefix(base, "time") || base == "datetime":
		shape = "(p)"
	}
	return base + shape, modifiers
}

// typeOf returns the type of a column in the other system, or false if there is none.
func (t *translation) typeOf(c source.ColumnDefinition) (string, bool) {
	if c.As != "" {
		return c.As, true
	}
	if len(c.Values) == 0 || t.from.Dialect != source.PostgreSQL {
		return equal(t.from.Dialect, t.to, c.Type)
	}
	if t.to == source.SQLite {
		return "TEXT", true
	}
	return enumOf(c.Values), true
}

// enumOf returns the type of some values in MySQL. It is longtext if these would not stay as they are in an ENUM: it
// drops spaces at the end, and reads a backslash in two ways.
func enumOf(values []string) string {
	var all []string
	for _, value := range values {
		if strings.Contains(value, `\`) || strings.HasSuffix(value, " ") || !isBasic(value) {
			return "longtext"
		}
		all = append(all, text(value))
	}
	return "enum(" + strings.Join(all, ",") + ")"
}

// equal returns the type in another system, or false if there is none.
func equal(from, to source.Dialect, name string) (string, bool) {
	listed, modifiers := key(from, name)
	known, is := types[from.Family()][listed]
	if !is && from == source.SQLite {
		known = byAffinity(name, modifiers)
	}
	found := ""
	switch to.Family() {
	case source.PostgreSQL:
		found = known.postgres
	case source.MySQL:
		found = known.mysql
	case source.SQLite:
		found = known.sqlite
	}
	if found == "" {
		return "", false
	}
	const bits = 63
	if listed == "bit(n)" && modifiers[0] > bits {
		return "", false
	}
	return limit(to, found, modifiers)
}

// byAffinity returns the equals of a type of SQLite that is not listed: without its modifiers, or else those of the
// affinity that its words give it (https://sqlite.org/datatype3.html, 3.1). Any type that no word is about is numeric
// there, and holds texts in practice, so it has no equals.
func byAffinity(name string, modifiers []int) equals {
	base, _ := typename.Cut(name)
	if known, is := types[source.SQLite][base]; is {
		return known
	}
	listed := ""
	switch typename.AffinityOf(base) {
	case typename.Integer:
		listed = "integer"
	case typename.Textual:
		listed = "text"
		if strings.Contains(base, "char") && len(modifiers) == 1 {
			listed = "varchar(n)"
		}
	case typename.Blob:
		if base != "" { // without a type, a column has no equals either
			listed = "blob"
		}
	case typename.Real:
		listed = "real"
	default: // a number, or anything
	}
	return types[source.SQLite][listed]
}

// limit fills in the modifiers of a type, as far as the system allows them.
func limit(to source.Dialect, found string, modifiers []int) (string, bool) {
	const digitsOfReal, digitsOfInteger, digits, scale, chars, varchars = 15, 18, 65, 30, 255, 16383
	base, shape, _ := strings.Cut(found, "(")
	switch shape {
	case "n)":
		n := modifiers[0]
		if to.Family() == source.MySQL && (n > varchars || base == "char" && n > chars) {
			return "longtext", true
		}
		return fmt.Sprintf("%s(%d)", base, n), true
	case "p)":
		return fmt.Sprintf("%s(%d)", base, modifiers[0]), true
	case "p,s)":
		p, s := modifiers[0], modifiers[1]
		switch {
		case s < 0, to.Family() == source.MySQL && (p > digits || s > scale || s > p):
			return "", false
		case to == source.SQLite && p > digitsOfReal && (s != 0 || p > digitsOfInteger):
			return "TEXT", true
		}
		return fmt.Sprintf("%s(%d,%d)", base, p, s), true
	}
	return found, true
}
