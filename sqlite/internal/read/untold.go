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
	watches  [source.JSON + 1]bool // the kinds of values to be looked at

	numbers bool // there was a number that reads as a string
	others  bool // there was another value that reads as one of another type
}

func newTold(columns []source.Column) []told {
	all := make([]told, len(columns))
	for i, c := range columns {
		one := &all[i]
		one.kind, one.affinity = sqlsource.KindOf(c.Type), valuetext.AffinityOf(c.Type)
		if one.kind == source.Bool {
			one.kind = source.Number
		}
		one.watches[source.Bytes] = one.kind != source.Bytes
		one.watches[source.Number] = one.kind != source.Number && one.affinity == valuetext.None
		one.watches[source.Text] = one.kind == source.Bytes
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
		c.others = c.others || format.KindOf(c.kind, value) == source.Bytes
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
