package fill

import (
	"bytes"

	"culvert/sink"
	"culvert/source"
)

var _ sink.Fitter = (*table)(nil)

// Fit returns the rows with the values that the writer sends in place of others: text as binary data, BOOL as a number,
// and times without their zone. What it refuses is left as it is.
func (t *table) Fit(b *source.Batch) (*source.Batch, error) {
	for row := range b.Rows() {
		for i := range t.columns {
			kind, value := b.AnyValue(row, i)
			if same, sent := t.columns[i].fit(kind, value); same != kind || !bytes.Equal(sent, value) {
				return t.fitAll(b), nil
			}
		}
	}
	return b, nil
}

// fitAll returns another batch with the values that are sent.
func (t *table) fitAll(b *source.Batch) *source.Batch {
	made := new(source.Batch)
	made.Reset(b.Columns())
	for row := range b.Rows() {
		for i := range t.columns {
			made.Append(t.columns[i].fit(b.AnyValue(row, i)))
		}
		made.EndRow()
	}
	return made
}

// fit returns the value that is sent in place of one.
func (c *column) fit(kind source.Kind, value []byte) (source.Kind, []byte) {
	switch {
	case kind == source.Null:
	case c.class == octets:
		return source.Bytes, value
	case kind == source.Bool && c.class != words:
		return source.Number, numberOf(value)
	case c.class == moment && kind == source.Text:
		return kind, withoutZone(value)
	}
	return kind, value
}

// numberOf returns the number that stands for a BOOL.
func numberOf(value []byte) []byte {
	if string(value) == "t" {
		return []byte{'1'}
	}
	return []byte{'0'}
}
