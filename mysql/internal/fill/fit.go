package fill

import (
	"culvert/sink"
	"culvert/source"
)

var _ sink.Fitter = (*table)(nil)

// Fit returns the rows with the values that the writer sends in place of others: text as binary data, BOOL as a number,
// and times without their zone. What it refuses is left as it is.
func (t *table) Fit(b *source.Batch) (*source.Batch, error) {
	return sink.FitValues(b, func(i int, kind source.Kind, value []byte) (source.Kind, []byte) {
		return t.columns[i].fit(kind, value)
	}), nil
}

// fit returns the value that is sent in place of one.
func (c *column) fit(kind source.Kind, value []byte) (source.Kind, []byte) {
	switch {
	case kind == source.Null:
	case c.class == octets:
		return source.Bytes, value
	case kind == source.Bool && c.class != words:
		return source.Number, sink.NumberOf(value)
	case c.class == moment && kind == source.Text:
		return kind, withoutZone(value)
	}
	return kind, value
}
