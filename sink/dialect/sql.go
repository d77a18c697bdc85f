package dialect

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"culvert/internal/lazyregexp"
	"culvert/source"
)

// sqlite returns the statement that makes the table.
func (t *translation) sqlite() string {
	var clauses []string
	numbered := ""
	for _, c := range t.result.Columns {
		clause := quote(t.to, c.Name)
		if c.Type != untyped {
			clause += " " + c.Type
		}
		if c.Identity != "" {
			clause += " PRIMARY KEY AUTOINCREMENT"
			numbered = c.Name
		}
		clauses = append(clauses, clause+options(c))
	}
	for i := range t.result.Columns {
		if c := &t.result.Columns[i]; c.Type == untyped {
			c.Type = ""
		}
	}
	for _, c := range t.result.Constraints {
		if c.Kind != source.PrimaryKey || !slices.Equal(c.Columns, []string{numbered}) {
			clauses = append(clauses, t.constraintSQL(c))
		}
	}
	return "CREATE TABLE " + quote(t.to, t.result.Name) + " (" + strings.Join(clauses, ", ") + ")"
}

// mysql returns the statement that makes the table, with a line for each clause, as the server prints it. Keys are
// compared byte by byte, as in the other systems.
func (t *translation) mysql() string {
	var clauses []string
	for _, c := range t.result.Columns {
		clause := strings.Join(append([]string{quote(t.to, c.Name) + " " + c.Type + options(c)}, c.Others...), " ")
		if c.Identity != "" {
			clause += " AUTO_INCREMENT"
		}
		if c.Comment != "" {
			clause += " COMMENT " + text(c.Comment)
		}
		clauses = append(clauses, clause)
	}
	var unnamed, last []string // since the server gives keys names that no key before them has
	for _, c := range t.result.Constraints {
		switch c.Kind {
		case source.PrimaryKey:
			clauses = append(clauses, c.Definition)
		case source.Unique:
			unnamed = append(unnamed, c.Definition)
		default:
			last = append(last, t.constraintSQL(c))
		}
	}
	for _, i := range t.result.Indexes {
		if i.Name == "" {
			unnamed = append(unnamed, i.Definition)
		} else {
			clauses = append(clauses, i.Definition)
		}
	}
	clauses = slices.Concat(clauses, unnamed, last)
	sql := "CREATE TABLE " + quote(t.to, t.result.Name) + " (\n  " + strings.Join(clauses, ",\n  ") + "\n)"
	for _, s := range t.result.Sequences {
		if s.Last != nil {
			sql += " AUTO_INCREMENT=" + strconv.FormatUint(uint64(*s.Last)+1, 10)
		}
	}
	collation := "utf8mb4_bin"
	if t.to == source.MariaDB {
		collation = "utf8mb4_nopad_bin"
	}
	sql += " DEFAULT CHARSET=utf8mb4 COLLATE=" + collation
	if t.result.Comment != "" {
		sql += " COMMENT=" + text(t.result.Comment)
	}
	return sql
}

// constraintSQL is a clause of the statement that makes the table.
func (t *translation) constraintSQL(c source.Constraint) string {
	if c.Name == "" {
		return c.Definition
	}
	return "CONSTRAINT " + quote(t.to, c.Name) + " " + c.Definition
}

// options are what follows the type of a column.
func options(c source.ColumnDefinition) string {
	sql := ""
	if c.Collation != "" {
		sql += " COLLATE " + c.Collation
	}
	switch {
	case c.NotNull:
		sql += " NOT NULL"
	case strings.HasPrefix(c.Type, "timestamp("):
		sql += " NULL" // without it, some servers of MySQL mean NOT NULL
	}
	if c.Default != "" {
		sql += " DEFAULT " + c.Default
	}
	return sql
}

// Quote writes a name as an SQL identifier.
func Quote(d source.Dialect, name string) string { return quote(d, name) }

func quote(d source.Dialect, name string) string {
	mark := `"`
	if d.Family() == source.MySQL {
		mark = "`"
	}
	return mark + strings.ReplaceAll(name, mark, mark+mark) + mark
}

func quoted(d source.Dialect, names []string) string {
	var all []string
	for _, name := range names {
		all = append(all, quote(d, name))
	}
	return strings.Join(all, ", ")
}

// text writes a literal. One with a backslash has another meaning in MySQL.
func text(value string) string { return "'" + strings.ReplaceAll(value, "'", "''") + "'" }

// literal is a default that is a plain value.
type literal struct {
	kind  kind
	value string // "true" or "false" of a boolean
}

type kind uint8

const (
	null kind = iota
	number
	boolean
	textual
)

var (
	numeral   = lazyregexp.New(`^[+-]?[0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?$`)
	casts     = lazyregexp.New(`^(?:::[a-z" ._]+(?:\([0-9, ]+\))?(?: with(?:out)? time zone)?)*$`)
	quotation = lazyregexp.New(`(?s)^'((?:[^']|'')*)'(.*)$`)
)

// literal understands the default of a column. That of an enum has the name of its type behind it, which may be any.
func (t *translation) literal(c source.ColumnDefinition) (literal, bool) {
	parts := quotation.FindStringSubmatch(c.Default)
	if len(c.Values) > 0 && parts != nil && parts[2] == "::"+c.Type {
		return literal{textual, strings.ReplaceAll(parts[1], "''", "'")}, true
	}
	found, is := literalOf(t.from.Dialect, c.Default)
	if t.to.Family() == source.MySQL && strings.HasSuffix(c.Type, " with time zone") {
		found.value = strings.TrimSuffix(found.value, "+00") // as all times are in MySQL
	}
	return found, is
}

// literalOf understands a default. PostgreSQL prints the type of a literal behind it.
func literalOf(from source.Dialect, expression string) (literal, bool) {
	if parts := quotation.FindStringSubmatch(expression); parts != nil {
		value := strings.ReplaceAll(parts[1], "''", "'")
		if from == source.PostgreSQL && casts.MatchString(parts[2]) || parts[2] == "" {
			return literal{textual, value}, from.Family() != source.MySQL || !strings.Contains(value, `\`)
		}
		return literal{kind: textual}, false
	}
	bare := expression
	if from == source.PostgreSQL {
		at := strings.Index(bare, "::")
		if at >= 0 && casts.MatchString(bare[at:]) {
			bare = bare[:at]
		}
		if inner, is := strings.CutPrefix(bare, "("); is {
			bare = strings.TrimSuffix(inner, ")")
		}
	}
	switch lower := strings.ToLower(bare); {
	case lower == "null":
		return literal{}, true
	case lower == "true" || lower == "false":
		return literal{boolean, lower}, true
	case numeral.MatchString(bare):
		return literal{number, bare}, true
	}
	return literal{kind: textual}, false
}

// layouts are what a default of a date or time may look like, in the words of package time. Others are values of one
// system alone, such as 0000-00-00, or mean the time at which the table is made, such as now.
var layouts = map[string]string{
	"date": time.DateOnly, "time": time.TimeOnly, "timestamp": time.DateTime, "timestamptz": time.DateTime,
	"datetime": time.DateTime,
}

// wholes and decimals are types of numbers.
var (
	wholes   = []string{"tinyint", "smallint", "int", "integer", "bigint"}
	decimals = []string{"numeric", "decimal", "real", "float", "double", "double precision"}
	digits   = lazyregexp.New(`^[+-]?[0-9]+$`)
)

// fits reports whether a column of a type can have a default, except in SQLite, where any can.
func (l literal) fits(to source.Dialect, column string) bool {
	base, _, _ := strings.Cut(column, "(")
	if layout := layouts[base]; layout != "" {
		at, err := time.Parse(layout, l.value)
		const epoch, end = 1970, 2038 // of a timestamp of MySQL
		isStamp := to.Family() == source.MySQL && base == "timestamp"
		return err == nil && l.kind == textual && (base == "time" || at.Year() > 0) &&
			(!isStamp || at.Year() > epoch && at.Year() < end)
	}
	switch {
	case l.kind == boolean:
	case slices.Contains(wholes, base):
		return digits.MatchString(l.value)
	case slices.Contains(decimals, base):
		return numeral.MatchString(l.value)
	}
	isNumber := l.kind == boolean || l.kind == number
	return !isNumber || column != "uuid" && column != "inet" && column != "json"
}

// isInteger reports whether a number is one of SQLite's integers.
func isInteger(value string) bool {
	_, err := strconv.ParseInt(value, 10, 64)
	return err == nil
}

// sql writes a default for a column of a type, or returns false if the value might be another one there.
func (l literal) sql(to source.Dialect, column string) (string, bool) {
	isBytes := column == "bytea" || column == "longblob" || column == "BLOB"
	switch {
	case l.kind == null || isBytes || to != source.SQLite && !l.fits(to, column):
		return "", false
	case l.kind == boolean && column == "boolean":
		return l.value, true
	case l.kind == boolean:
		return map[string]string{"true": "1", "false": "0"}[l.value], true
	case l.kind == number && to == source.SQLite && (column == "TEXT" || column == untyped && !isInteger(l.value)):
		return text(l.value), true // which a number would round
	case l.kind == number && column == "boolean":
		return text(l.value), true
	case l.kind == number:
		return l.value, true
	case to.Family() == source.MySQL && strings.Contains(l.value, `\`):
		return "", false
	case isLong(column):
		return "(" + text(l.value) + ")", true
	}
	return text(l.value), true
}
