package sinktest

import (
	"bytes"
	"errors"
	"testing"

	"culvert/format"
	"culvert/sink"
	"culvert/source"
)

// testRefusedLine has the database refuse a row that comes after rows of several lines. The number of the row, or of
// the line at which it ends, is that of the text, whatever the database takes for a line.
func testRefusedLine(t *testing.T, f *Fixture) {
	if f.RowsUntold {
		t.Skip("the database does not say which row it refuses")
	}
	f.create(t, "line_t", "id", "bigint NOT NULL PRIMARY KEY", "a", f.Text)
	db := f.open(t)
	for _, first := range []string{"x", "two\nlines", "two\r\nlines", "\r", "a\r\n\nb\n"} {
		for _, second := range []string{"x", "y\nz", "\r\r", "\r\n"} {
			rows := batch([]string{"1", first}, []string{"2", second}, []string{"3", "z"}, []string{"2", "again\n"})
			filled := table(t, db, "line_t", sink.Filling{})
			refusedLine(t, filled.Loaders()[0], rows)
			discard(t, filled)
			filled = table(t, db, "line_t", sink.Filling{})
			refusedLine(t, asCSV(t, filled, filled.Loaders()[0], filled.Columns()), rows)
			discard(t, filled)
			if _, is := filled.(sink.TextTable); !is {
				continue
			}
			for _, end := range []string{"\n", "\r\n"} {
				filled := table(t, db, "line_t", sink.Filling{})
				refusedLineOfText(t, filled.(sink.TextTable), rows, end)
				discard(t, filled)
			}
		}
	}
}

func refusedLine(t *testing.T, loader sink.Loader, rows *source.Batch) {
	t.Helper()
	err := loader.Load(rows)
	if err == nil {
		_, err = loader.Flush()
	}
	refused, is := errors.AsType[*sink.RowError](err)
	if !is || refused.Row != int64(rows.Rows()) && refused.Line == 0 {
		t.Errorf("the last of %d rows is refused as %#v", rows.Rows(), err)
	}
}

// refusedLineOfText has the rows of the text end with end, if they are lines of CSV.
func refusedLineOfText(t *testing.T, filled sink.TextTable, rows *source.Batch, end string) {
	t.Helper()
	encoder, err := filled.Format().Encoder(filled.Columns())
	if err != nil {
		t.Fatal(err)
	}
	var text []byte
	for row := range rows.Rows() {
		var one source.Batch
		one.Reset(rows.Columns())
		one.AppendFrom(rows, row, 0, rows.Columns())
		one.EndRow()
		if text, err = encoder.AppendRows(text, &one); err != nil {
			t.Fatal(err)
		}
		if filled.Format() == (format.CSV{}) {
			text = append(text[:len(text)-1], end...)
		}
	}
	lines := int64(bytes.Count(text, []byte("\n")))
	err = filled.Loaders()[0].(sink.TextLoader).LoadText(bytes.NewReader(text))
	refused, is := errors.AsType[*sink.RowError](err)
	if !is || refused.Line != lines && refused.Row != int64(rows.Rows()) {
		t.Errorf("line %d of the text %q is refused as %#v", lines, text, err)
	}
}
