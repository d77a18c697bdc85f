package sink

import (
	"bytes"

	"culvert/source"
)

// FitValues returns rows with what fit returns in place of each value, for a [Fitter]. If that is the value itself
// everywhere, it returns the batch itself.
func FitValues(
	b *source.Batch, fit func(column int, kind source.Kind, value []byte) (source.Kind, []byte),
) *source.Batch {
	for row := range b.Rows() {
		for column := range b.Columns() {
			kind, value := b.AnyValue(row, column)
			if same, fitted := fit(column, kind, value); same != kind || !bytes.Equal(fitted, value) {
				return fitAll(b, fit)
			}
		}
	}
	return b
}

func fitAll(b *source.Batch, fit func(int, source.Kind, []byte) (source.Kind, []byte)) *source.Batch {
	made := new(source.Batch)
	made.Reset(b.Columns())
	for row := range b.Rows() {
		for column := range b.Columns() {
			kind, value := b.AnyValue(row, column)
			made.Append(fit(column, kind, value))
		}
		made.EndRow()
	}
	return made
}

// NumberOf returns the number that stands for a value of the kind BOOL.
func NumberOf(truth []byte) []byte {
	if string(truth) == "t" {
		return []byte{'1'}
	}
	return []byte{'0'}
}
