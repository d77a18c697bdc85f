package sinktest

import (
	"testing"

	"culvert/format"
	"culvert/internal/canonical"
	"culvert/internal/sqlsource"
	"culvert/sink"
	"culvert/source"
)

// csvLoader is a loader that takes batches as CSV, if it can.
type csvLoader struct {
	sink.Loader
	encoder format.Encoder
	rows    sink.CSVRows
}

// asCSV returns a loader of rows with these columns that takes batches as CSV, or the loader itself if its table does
// not take CSV.
func asCSV(t *testing.T, filled sink.Table, loader sink.Loader, columns []source.Column) sink.Loader {
	t.Helper()
	table, is := filled.(sink.CSVTable)
	if !is {
		return loader
	}
	var fields []format.Field
	for _, c := range columns {
		fields = append(fields, format.Field{Name: c.Name, Kind: sqlsource.KindOf(c.Type)})
	}
	encoder, err := format.CSV{}.Encoder(columns)
	if err != nil {
		t.Fatal(err)
	}
	rows := table.FromCSV(fields)
	if rows == nil {
		return loader
	}
	return &csvLoader{loader, encoder, rows}
}

func (l *csvLoader) Load(b *source.Batch) error {
	text, err := l.encoder.AppendRows(nil, b)
	if err != nil {
		return err
	}
	made, rows, _, ok := l.rows(nil, text, new(canonical.Adder))
	if !ok {
		return l.Loader.Load(b)
	}
	return l.Loader.(sink.CSVLoader).LoadCSV(made, rows)
}
