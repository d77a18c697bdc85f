// Package sqlsource holds what the sources of SQL databases have in common: how they select a part of a table, how they
// keep a connection alive, and an error.
//
// A condition is text that becomes part of a statement, so it must be a single expression. A source has the database
// parse it twice: behind WHERE as it is, and in parentheses, as [Select] writes it. As it is, it cannot close a
// parenthesis that it has not opened. So the parentheses enclose all of it, and they allow nothing but an expression.
package sqlsource

import (
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"
	"time"

	"culvert/source"
)

// KeepAlive detects within two minutes that the peer is gone while nothing is sent, such as during a long query.
var KeepAlive = net.KeepAliveConfig{Enable: true, Idle: time.Minute, Interval: 15 * time.Second, Count: 4}

// Check returns an error if no table can meet a selection. The error begins with the name of the source's package.
func Check(name string, s source.Selection) error {
	switch {
	case s.Limit < 0:
		return fmt.Errorf("%s: the limit of %d rows is negative", name, s.Limit)
	case strings.IndexByte(s.Where, 0) >= 0:
		return fmt.Errorf("%s: the condition contains a NUL character", name)
	}
	return nil
}

// Column is a column of a table.
type Column struct {
	source.Column
	Generated bool   // rows with a value for it cannot be loaded back
	JSON      bool   // holds JSON, whatever its type
	Charset   string // of text, if the database says it
}

// Columns returns columns of which only the names are known.
func Columns(names []string) []Column {
	columns := make([]Column, len(names))
	for i, name := range names {
		columns[i].Name = name
	}
	return columns
}

// Choose returns the columns that have the given names, in the order of the names, or all that are not generated if
// there are no names. An exact match comes first; after that, names that are the same for the database match, if same
// is not nil. An unknown name is a [*source.UnknownError]. A column can be chosen once; that error begins with prefix.
func Choose(
	prefix string, columns []Column, names []string, same func(a, b string) bool,
) ([]Column, error) {
	var chosen []Column
	if len(names) == 0 {
		for _, c := range columns {
			if !c.Generated {
				chosen = append(chosen, c)
			}
		}
		return chosen, nil
	}
	for _, name := range names {
		at := slices.IndexFunc(columns, func(c Column) bool { return c.Name == name })
		if at < 0 && same != nil {
			at = slices.IndexFunc(columns, func(c Column) bool { return same(c.Name, name) })
		}
		if at < 0 {
			unknown := &source.UnknownError{What: "column", Name: name}
			for _, c := range columns {
				unknown.Known = append(unknown.Known, c.Name)
			}
			return nil, unknown
		}
		if slices.Contains(chosen, columns[at]) {
			return nil, fmt.Errorf("%s: column %q is selected twice", prefix, name)
		}
		chosen = append(chosen, columns[at])
	}
	return chosen, nil
}

// List returns the names of columns as SQL, with commas between them.
func List(columns []Column, quote func(name string) string) string {
	names := make([]string, len(columns))
	for i, c := range columns {
		names[i] = quote(c.Name)
	}
	return strings.Join(names, ", ")
}

// Select returns the statement that reads the rows of a selection. The list of columns and the table are SQL.
func Select(list, table string, s source.Selection) string {
	sql := "SELECT " + list + " FROM " + table
	if s.Where != "" {
		sql += " WHERE (" + s.Where + "\n)" // it may end in a comment
	}
	if s.Limit > 0 {
		sql += " LIMIT " + strconv.FormatInt(s.Limit, 10)
	}
	return sql
}

// Unavailable returns a [source.ErrUnavailable] with the given text, which wraps cause.
func Unavailable(text string, cause error) error { return &unavailableError{text, cause} }

type unavailableError struct {
	text  string
	cause error
}

func (e *unavailableError) Error() string   { return e.text }
func (e *unavailableError) Unwrap() []error { return []error{source.ErrUnavailable, e.cause} }
