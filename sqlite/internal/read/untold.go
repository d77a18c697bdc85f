package read

import (
	"culvert/format"
	"culvert/internal/sqlsource"
	"culvert/source"
	"culvert/sqlite/internal/valuetext"
)

var _ source.Untold = (*rows)(nil)

// told says what the text of the values of a column tells of their types.
type told struct {
	kind     source.Kind // of the values that a column of this type is taken to have
	affinity valuetext.Affinity

	numbers bool // there was a number that reads as a string
	others  bool // there was another value that reads as one of another type
}

func newTold(columns []source.Column) []told {
	all := make([]told, len(columns))
	for i, c := range columns {
		all[i] = told{kind: sqlsource.KindOf(c.Type), affinity: valuetext.AffinityOf(c.Type)}
	}
	return all
}

// look looks at the values of a batch.
func look(all []told, b *source.Batch) {
	for column := range all {
		c := &all[column]
		for row := range b.Rows() {
			switch kind, value := b.AnyValue(row, column); kind {
			case source.Bytes:
				c.others = c.others || c.kind != source.Bytes
			case source.Number:
				c.numbers = c.numbers || c.affinity == valuetext.None && c.kind != source.Number
			case source.Text:
				c.others = c.others || c.changes(value)
			}
		}
	}
}

// changes reports whether a text reads as something else. A numeric column has no text that is a number, except the
// names of infinity, and stores no NaN.
func (c *told) changes(text []byte) bool {
	switch c.kind {
	case source.Bytes:
		return format.KindOf(c.kind, text) == source.Bytes
	case source.Bool:
		return c.affinity != valuetext.Textual && format.KindOf(c.kind, text) == source.Bool
	case source.Number:
		return c.affinity != valuetext.Textual && format.KindOf(c.kind, text) == source.Number && string(text) != "NaN"
	}
	return false
}

// Untold returns the columns of a table whose values the text does not tell.
func (r *rows) Untold(numbers bool) (names []string) {
	for i, c := range r.told {
		if c.others || c.numbers && !numbers {
			names = append(names, r.columns[i].Name)
		}
	}
	return names
}
