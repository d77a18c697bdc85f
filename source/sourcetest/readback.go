package sourcetest

import (
	"bytes"
	"errors"
	"slices"
	"strings"
	"testing"

	"culvert/format"
	"culvert/format/arrow"
	"culvert/format/arrow/arrowtest"
	"culvert/format/parquet"
	"culvert/format/parquet/parquettest"
	"culvert/source"
)

// expectReadBack writes rows in each format that can be read, and compares what a decoder makes of the text. The kinds
// are those of the columns.
func expectReadBack(t *testing.T, columns []source.Column, kinds []source.Kind, rows [][]value) {
	t.Helper()
	var batch source.Batch
	batch.Reset(len(columns))
	for _, row := range rows {
		for _, v := range row {
			if v.kind == source.Null {
				batch.AppendNull()
			} else {
				batch.Append(v.kind, []byte(v.text))
			}
		}
		batch.EndRow()
	}
	fields := make([]format.Field, len(columns))
	for i, c := range columns {
		fields[i] = format.Field{Name: c.Name, Kind: kinds[i]}
	}
	readBack(t, format.CSV{}, columns, fields, &batch, rows)
	if !slices.ContainsFunc(rows, func(row []value) bool { return slices.ContainsFunc(row, changesInJSONL) }) {
		readBack(t, format.JSONL{InvalidUTF8: format.Base64Invalid}, columns, fields, &batch, rows)
	}
	expectTyped(t, parquet.Format{}, parquettest.Expect, columns, rows)
	expectTyped(t, arrow.Format{}, arrowtest.Expect, columns, rows)
}

// expectTyped writes each row in a format that has columns of one type each. It refuses the values that its types do
// not have, and keeps all others.
func expectTyped(
	t *testing.T, f format.Format, expect func(testing.TB, []byte, []source.Column, ...*source.Batch),
	columns []source.Column, rows [][]value,
) {
	t.Helper()
	encoder, err := f.Encoder(columns)
	if err != nil {
		return // names that are the same, or no columns
	}
	var one, kept source.Batch
	kept.Reset(len(columns))
	for r, row := range rows {
		fits := true
		one.Reset(len(columns))
		for i, v := range row {
			if v.kind == source.Null {
				one.AppendNull()
				continue
			}
			one.Append(v.kind, []byte(v.text))
			fits = fits && parquettest.Fits(columns[i].Logical, v.kind, []byte(v.text))
		}
		one.EndRow()
		if fits {
			kept.AppendFrom(&one, 0, 0, len(columns))
			kept.EndRow()
		}
		_, err := encoder.AppendRows(nil, &one)
		if _, refused := errors.AsType[*format.ValueError](err); refused == fits || refused != (err != nil) {
			t.Errorf("%s: row %d, %v: error %v, and its values fit: %v", f.Extension(), r, row, err, fits)
		}
	}
	if t.Failed() {
		return
	}
	block, err := encoder.AppendRows(nil, &kept)
	if err != nil {
		t.Fatal(err)
	}
	var file bytes.Buffer
	w := encoder.(format.Assembled).Assemble(&file)
	if kept.Rows() > 0 {
		if _, err := w.Write(block); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	expect(t, file.Bytes(), columns, &kept)
}

// changesInJSONL reports whether a value is JSON with white space that a line does not keep.
func changesInJSONL(v value) bool {
	return v.kind == source.JSON && (strings.TrimSpace(v.text) != v.text || strings.ContainsAny(v.text, "\n\r"))
}

func readBack(
	t *testing.T, f interface {
		format.Format
		format.Readable
	}, columns []source.Column, fields []format.Field, batch *source.Batch, rows [][]value,
) {
	t.Helper()
	encoder, err := f.Encoder(columns)
	if err != nil {
		t.Fatal(err)
	}
	text, err := encoder.AppendRows(nil, batch)
	if err != nil {
		t.Fatal(err)
	}
	decoder, err := f.Decoder(fields)
	if err != nil {
		t.Fatal(err)
	}
	var got source.Batch
	if n, err := decoder.Decode(&got, text); err != nil || n != len(text) || got.Rows() != len(rows) {
		t.Fatalf("%T %q: %d rows of %d bytes, error %v", f, text, got.Rows(), n, err)
	}
	for r, row := range rows {
		for c, want := range row {
			if kind, text := got.Value(r, c); kind != want.kind || string(text) != want.text {
				t.Errorf("%T: row %d, column %d is read back as %v, want %v", f, r, c, value{kind, string(text)}, want)
			}
		}
	}
}
