package fill

import (
	"culvert/sink"
	"culvert/source"
	"culvert/sqlite/internal/valuetext"
)

var _ sink.Fitter = (*table)(nil)

// Fit returns the rows with the numbers that SQLite prints in place of BOOL.
func (t *table) Fit(b *source.Batch) (*source.Batch, error) {
	return sink.FitValues(b, func(column int, kind source.Kind, value []byte) (source.Kind, []byte) {
		if kind == source.Bool && t.affinities[column] != valuetext.Textual {
			return source.Number, sink.NumberOf(value)
		}
		return kind, value
	}), nil
}
