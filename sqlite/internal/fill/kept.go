package fill

import (
	"bytes"
	"math"
	"strconv"

	"culvert/sink"
	"culvert/sink/grammar"
	"culvert/source"
	"culvert/sqlite/internal/valuetext"
)

// The reasons why a column refuses a value.
const (
	asNumber = "the column would store the text as another number"
	rounded  = "the column would round the number"
	padded   = "the column would drop the zeros or the sign before the digits"
	unsigned = "the column would drop the sign of the zero"
)

// grammars returns what the values of each column are checked with: nil if it changes none of them, or if the caller
// says that it may.
func (t *table) grammars() []grammar.Grammar {
	all := make([]grammar.Grammar, len(t.plan.Columns))
	for i, c := range t.plan.Columns {
		if t.affinities[i] == valuetext.Numeric && !t.filling.Converts(c.Name) {
			all[i] = grammar.Narrow(grammarOf(c.Type), source.SQLite, c.Type, t.filling.Origin(i))
		}
	}
	return all
}

// grammarOf returns the grammar of a numeric column.
func grammarOf(declared string) grammar.Grammar {
	isReal := grammar.IsReal(declared)
	return func(kind source.Kind, value []byte) string { return changed(isReal, kind, value) }
}

// check returns the error of the first value of a batch that its column would change.
func (l *loader) check(b *source.Batch) error {
	for column, check := range l.grammars {
		if check == nil {
			continue
		}
		for row := range b.Rows() {
			kind, value := b.AnyValue(row, column)
			if reason := check(kind, value); reason != "" {
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
		switch {
		case grammar.IsPadded(value):
			return padded
		case !grammar.KeptByFloat(value, 64):
			return rounded
		case grammar.IsSignedZero(value):
			return unsigned
		}
	case source.Text:
		trimmed := bytes.Trim(value, " \t\n\v\f\r")
		if !grammar.SameNumber(trimmed, trimmed) {
			return "" // no number, which stays a text
		}
		if _, ok := integer(value); ok && !isReal {
			return ""
		}
		number, _ := strconv.ParseFloat(string(trimmed), 64) // of what is too large, infinity
		var text [32]byte
		if number == 0 {
			number = 0 // SQLite stores no zero with a sign in such a column
		}
		printed := valuetext.RealText(text[:0], number)
		if !isReal && !math.IsInf(number, 0) && number == float64(int64(number)) {
			printed = strconv.AppendInt(text[:0], int64(number), 10)
		}
		if !bytes.Equal(printed, value) {
			return asNumber
		}
	}
	return ""
}
