package sqlite

import (
	"bytes"
	"slices"
	"strconv"
	"strings"

	"culvert/internal/sqliterow"
	"culvert/sink"
	"culvert/sink/grammar"
	"culvert/source"
)

// The reasons why a column refuses a value.
const (
	asNumber = "the column would store the text as another number"
	rounded  = "the column would round the number"
)

// converts returns for each column whether its type may change values: since it changes none, or since the caller says
// so.
func (t *table) converts() []bool {
	free := make([]bool, len(t.plan.Columns))
	for i, c := range t.plan.Columns {
		free[i] = t.affinities[i] != numeric ||
			slices.ContainsFunc(t.filling.Convert, func(name string) bool { return strings.EqualFold(name, c.Name) })
	}
	return free
}

// check returns the error of the first value of a batch that its column would change.
func (l *loader) check(b *source.Batch) error {
	for column, free := range l.free {
		if free {
			continue
		}
		isReal := isReal(l.table.plan.Columns[column].Type)
		for row := range b.Rows() {
			kind, value := b.AnyValue(row, column)
			if reason := changed(isReal, kind, value); reason != "" {
				refused := &sink.RowError{
					Table: l.table.plan.Table, Row: l.taken + int64(row) + 1, Column: l.table.plan.Columns[column].Name,
					Code: "SQLITE_MISMATCH", Err: sink.Changed(reason),
				}
				if !l.table.filling.Redact {
					refused.Value = sink.Shorten(string(value[:min(len(value), 2*sink.MaxValue)]))
				}
				return refused
			}
		}
	}
	return nil
}

// isReal reports whether a numeric column stores whole numbers as REAL, too.
func isReal(declared string) bool {
	declared = strings.ToUpper(declared)
	return !strings.Contains(declared, "INT") &&
		(strings.Contains(declared, "REAL") || strings.Contains(declared, "FLOA") || strings.Contains(declared, "DOUB"))
}

// changed returns why a numeric column would store a value as another one, or "". A number may change its digits, but
// not its value. A text that is stored as a number must be what SQLite prints for it, since it may be an identifier.
func changed(isReal bool, kind source.Kind, value []byte) string {
	switch kind {
	case source.Number:
		if _, ok := integer(value); ok && !isReal {
			return ""
		}
		switch string(value) {
		case "NaN", "Infinity", "-Infinity", "9.0e+999", "-9.0e+999":
			return ""
		}
		if !grammar.KeptByFloat(value, 64) {
			return rounded
		}
	case source.Text:
		trimmed := bytes.Trim(value, " \t\n\v\f\r")
		if !grammar.SameNumber(trimmed, trimmed) {
			return "" // no number, which stays a text
		}
		if _, ok := integer(value); ok && !isReal {
			return ""
		}
		number, err := strconv.ParseFloat(string(trimmed), 64)
		if err != nil {
			return asNumber
		}
		var text [32]byte
		printed := sqliterow.RealText(text[:0], number)
		if !isReal && number == float64(int64(number)) {
			printed = strconv.AppendInt(text[:0], int64(number), 10)
		}
		if !bytes.Equal(printed, value) {
			return asNumber
		}
	}
	return ""
}
