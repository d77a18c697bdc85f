package fill

import (
	"culvert/sink"
	"culvert/source"
	"culvert/sqlite/internal/valuetext"
)

var _ sink.Fitter = (*table)(nil)

// Fit returns the rows with the numbers that SQLite prints in place of BOOL.
func (t *table) Fit(b *source.Batch) (*source.Batch, error) {
	for column := range t.affinities {
		for row := range b.Rows() {
			if kind, _ := b.AnyValue(row, column); t.isNumber(column, kind) {
				return t.fitAll(b), nil
			}
		}
	}
	return b, nil
}

// fitAll returns another batch with the values that are stored.
func (t *table) fitAll(b *source.Batch) *source.Batch {
	made := new(source.Batch)
	made.Reset(b.Columns())
	for row := range b.Rows() {
		for column := range t.affinities {
			kind, value := b.AnyValue(row, column)
			if t.isNumber(column, kind) {
				kind, value = source.Number, numberOf(value)
			}
			made.Append(kind, value)
		}
		made.EndRow()
	}
	return made
}

// isNumber reports whether a value of a kind is stored as the number of a BOOL.
func (t *table) isNumber(column int, kind source.Kind) bool {
	return kind == source.Bool && t.affinities[column] != valuetext.Textual
}

func numberOf(truth []byte) []byte {
	if string(truth) == "t" {
		return []byte{'1'}
	}
	return []byte{'0'}
}
