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
	watches [source.JSON + 1]bool // the kinds of values to be looked at

	numbers bool // there was a number that reads as a string
	others  bool // there was another value that reads as one of another type
}

func newTold(columns []source.Column) []told {
	all := make([]told, len(columns))
	for i, c := range columns {
		kind := sqlsource.KindOf(c.Type) // of the values that a column of this type is taken to have
		if kind == source.Bool {
			kind = source.Number
		}
		watches := &all[i].watches
		watches[source.Bytes] = kind != source.Bytes
		watches[source.Number] = kind != source.Number && valuetext.AffinityOf(c.Type) == valuetext.None
		watches[source.Text] = kind == source.Bytes
	}
	return all
}

// look looks at the values of a batch.
func look(all []told, b *source.Batch) {
	for column := range all {
		c := &all[column]
		for row := range b.Rows() {
			if kind, value := b.AnyValue(row, column); c.watches[kind] {
				c.note(kind, value)
			}
		}
	}
}

// note looks at a value of a kind that is watched.
func (c *told) note(kind source.Kind, value []byte) {
	switch kind {
	case source.Bytes:
		c.others = true
	case source.Number:
		c.numbers = true
	case source.Text:
		c.others = c.others || format.KindOf(source.Bytes, value) == source.Bytes
	}
}

// Untold returns the columns of a table whose values the text does not tell.
func (r *rows) Untold(numbers bool) (names []string) {
	for i := range r.told {
		if c := r.toldBy(i); c.others || c.numbers && !numbers {
			names = append(names, r.columns[i].Name)
		}
	}
	return names
}

// toldBy returns what all readers have seen of a column.
func (r *rows) toldBy(column int) told {
	all := r.told[column]
	if r.division != nil {
		for _, part := range r.division.rows {
			all.numbers = all.numbers || part.told[column].numbers
			all.others = all.others || part.told[column].others
		}
	}
	return all
}
