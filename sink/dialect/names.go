package dialect

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"culvert/source"
)

// The longest names: in bytes in PostgreSQL, which cuts longer ones, and in characters in MySQL.
const (
	mostBytes      = 63
	mostCharacters = 64
)

// NameError is the error of a table or a column that cannot be made under its name.
type NameError struct {
	Table  string
	Column string
	Number int // of the column, from 1; 0 if it is the name of the table
	To     source.Dialect
	Reason string // why not
}

func (e *NameError) Error() string {
	what := fmt.Sprintf("table %q", e.Table)
	if e.Number > 0 {
		what = fmt.Sprintf("column %q of %s", e.Column, what)
	}
	return fmt.Sprintf("dialect: %s cannot be made in %s: %s", what, Name(e.To), e.Reason)
}

// Is reports that the error is [errors.ErrUnsupported].
func (e *NameError) Is(target error) bool { return target == errors.ErrUnsupported }

// CheckTable returns a [*NameError] if a system cannot have a table of a name, which is without a schema.
func CheckTable(to source.Dialect, name string) error {
	if reason := unnameable(to, name); reason != "" {
		return &NameError{Table: name, To: to, Reason: reason}
	}
	return nil
}

// unnameable returns why a system cannot have a name, or would cut it, or "" if it can.
func unnameable(to source.Dialect, name string) string {
	switch to.Family() {
	case source.PostgreSQL:
		if len(name) > mostBytes {
			return fmt.Sprintf("the name has %d bytes, and names are cut after %d", len(name), mostBytes)
		}
	case source.MySQL:
		switch count := utf8.RuneCountInString(name); {
		case count > mostCharacters:
			return fmt.Sprintf("the name has %d characters, and names have %d at most", count, mostCharacters)
		case strings.HasSuffix(name, " "):
			return "the name ends with a space"
		case !isBasic(name):
			return "the name has a character beyond U+FFFF"
		}
	case source.SQLite:
		return ""
	}
	if name == "" {
		return "the name is empty"
	}
	return ""
}

// isBasic reports whether a text has only characters up to U+FFFF, as all that describes a table of MySQL.
func isBasic(value string) bool {
	const beyond = 0x10000
	return !strings.ContainsFunc(value, func(r rune) bool { return r >= beyond })
}

// checkColumns returns a [*NameError] for the first column that cannot be made under its name, or would have the name
// of another one.
func (t *translation) checkColumns() error {
	for i, c := range t.result.Columns {
		reason := unnameable(t.to, c.Name)
		same := func(other source.ColumnDefinition) bool { return sameName(t.to, other.Name, c.Name) }
		if at := slices.IndexFunc(t.result.Columns[:i], same); reason == "" && at >= 0 {
			reason = fmt.Sprintf("it has the name of column %q there", t.result.Columns[at].Name)
		}
		if reason != "" {
			return &NameError{Table: t.result.Name, Column: c.Name, Number: i + 1, To: t.to, Reason: reason}
		}
	}
	return nil
}

// sameName reports whether two names mean one column, or one index of a table. In MySQL, letter case does not count,
// and in SQLite not that of ASCII.
func sameName(to source.Dialect, a, b string) bool {
	switch to.Family() {
	case source.MySQL:
		return strings.EqualFold(a, b)
	case source.SQLite:
		lower := func(r rune) rune {
			if r >= 'A' && r <= 'Z' {
				r += 'a' - 'A'
			}
			return r
		}
		return strings.Map(lower, a) == strings.Map(lower, b)
	}
	return a == b
}

// indexName returns the name of an index in MySQL, where each table has names of its own. It is "", so that the server
// chooses one, if the index cannot have its name.
func (t *translation) indexName(name string) string {
	taken := func(i source.Index) bool { return sameName(t.to, i.Name, name) }
	if unnameable(t.to, name) != "" || strings.EqualFold(name, "PRIMARY") ||
		slices.ContainsFunc(t.result.Indexes, taken) {
		t.leave("the name of the index %q", name)
		return ""
	}
	return name
}
