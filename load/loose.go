package load

import (
	"bytes"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"culvert/format"
	"culvert/source"
)

// timed is a column of a table whose type would drop a part of a text without a word.
type timed struct {
	source.Column
	index int
	lost  *regexp.Regexp // what would be lost
	what  string
}

// An offset, and the time of a day, that are not zero.
var (
	offset    = regexp.MustCompile(`:[0-9.]+ ?[+-][0-9:]*[1-9]`)
	timeOfDay = regexp.MustCompile(`[0-9][ T](?:0*[1-9][0-9]*:|[0-9]+:[0-9:.]*[1-9])[0-9:.]*(?:$|[ Z+-])`)
)

// timedOf finds these columns. PostgreSQL reads an offset in a time without time zone, and a time in a date, and
// ignores them. Only a source that does not enforce its types, such as SQLite, has such values.
func timedOf(table []source.Column) []timed {
	var found []timed
	for i, c := range table {
		switch {
		case c.Type == "date":
			found = append(found, timed{c, i, timeOfDay, "time"})
		case strings.HasSuffix(c.Type, " without time zone"):
			found = append(found, timed{c, i, offset, "offset"})
		}
	}
	return found
}

// mayLose is a quick answer, which is no for nearly all values.
func (c *timed) mayLose(value []byte) bool {
	const day, month = "2026-01-01", "2026-01-"
	switch {
	case c.what == "time":
		return len(value) > len(day)
	case strings.HasPrefix(c.Type, "timestamp"):
		return len(value) > len(day) && bytes.ContainsAny(value[len(month):], "+-")
	}
	return bytes.ContainsAny(value, "+-")
}

// keeps returns an error for the first value of which a part would be lost.
func keeps(columns []timed, b *source.Batch) error {
	for row := range b.Rows() {
		for _, c := range columns {
			if _, value := b.AnyValue(row, c.index); c.mayLose(value) && c.lost.Match(value) {
				return &format.RowError{Row: int64(row) + 1, Column: c.Name, Reason: fmt.Sprintf(
					"a column of type %s would not keep its %s", c.Type, c.what)}
			}
		}
	}
	return nil
}

// infinity is how SQLite, which reads no name for it, prints an infinite number.
var infinity = []byte("9.0e+999")

// infiniteOf finds the columns of a table in which an infinite number has a name.
func infiniteOf(table []source.Column) []int {
	var found []int
	for i, c := range table {
		if c.Type == "real" || c.Type == "double precision" || strings.HasPrefix(c.Type, "numeric") {
			found = append(found, i)
		}
	}
	return found
}

// named returns the rows with the names of infinite numbers: in the same batch, unless it has any.
func named(columns []int, b *source.Batch) *source.Batch {
	isInfinite := func(row, column int) bool {
		kind, value := b.AnyValue(row, column)
		return kind == source.Number && bytes.Equal(bytes.TrimPrefix(value, []byte("-")), infinity)
	}
	found := false
	for row := range b.Rows() {
		for _, column := range columns {
			found = found || isInfinite(row, column)
		}
	}
	if !found {
		return b
	}
	renamed := new(source.Batch)
	renamed.Reset(b.Columns())
	for row := range b.Rows() {
		for column := range b.Columns() {
			kind, value := b.AnyValue(row, column)
			switch {
			case kind == source.Null:
				renamed.AppendNull()
				continue
			case slices.Contains(columns, column) && isInfinite(row, column):
				value = bytes.Replace(value, infinity, []byte("Infinity"), 1)
			}
			renamed.Append(kind, value)
		}
		renamed.EndRow()
	}
	return renamed
}
