// Package arrowtest reads Arrow files and streams by another implementation, and compares them with the rows that were
// written.
package arrowtest

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"io"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/ipc"

	"culvert/format/arrow/arrowread"
	"culvert/format/internal/typed/typedtest"
	"culvert/internal/canonical"
	"culvert/source"
)

// Read returns the schema and the record batches of a file or a stream.
func Read(tb testing.TB, data []byte) (schema *arrow.Schema, batches []arrow.RecordBatch) {
	tb.Helper()
	if !bytes.HasPrefix(data, []byte("ARROW1")) {
		r, err := ipc.NewReader(bytes.NewReader(data))
		if err != nil {
			tb.Fatalf("the stream cannot be opened: %v", err)
		}
		defer r.Release()
		for r.Next() {
			batch := r.RecordBatch()
			batch.Retain()
			batches = append(batches, batch)
		}
		if err := r.Err(); err != nil && err != io.EOF {
			tb.Fatalf("record batch %d: %v", len(batches), err)
		}
		return r.Schema(), batches
	}
	r, err := ipc.NewFileReader(bytes.NewReader(data))
	if err != nil {
		tb.Fatalf("the file cannot be opened: %v", err)
	}
	for i := range r.NumRecords() {
		batch, err := r.RecordBatchAt(i)
		if err != nil {
			tb.Fatalf("record batch %d: %v", i, err)
		}
		batches = append(batches, batch)
	}
	schema = r.Schema()
	if err := r.Close(); err != nil {
		tb.Fatal(err)
	}
	return schema, batches
}

// Expect compares a file or a stream with the rows that were written, cell by cell: the value that it has, printed as
// PostgreSQL prints it, is the canonical text of what was written.
func Expect(tb testing.TB, data []byte, columns []source.Column, batches ...*source.Batch) {
	tb.Helper()
	schema, records := Read(tb, data)
	if schema.NumFields() != len(columns) {
		tb.Fatalf("the schema has %d columns, want %d", schema.NumFields(), len(columns))
	}
	for i, c := range columns {
		if name := schema.Field(i).Name; name != c.Name || schema.Field(i).Nullable == c.NotNull {
			tb.Errorf("column %d is %v, want the name %q, NOT NULL: %v", i, schema.Field(i), c.Name, c.NotNull)
		}
		expectColumn(tb, records, i, c, batches)
	}
	typedtest.ExpectRead(tb, arrowread.Format{}, data, columns, batches)
}

func expectColumn(tb testing.TB, records []arrow.RecordBatch, column int, c source.Column, batches []*source.Batch) {
	tb.Helper()
	var values canonical.Values
	batch, row, all := 0, 0, 0
	for _, record := range records {
		got := record.Column(column)
		for i := range got.Len() {
			for batch < len(batches) && row == batches[batch].Rows() {
				batch, row = batch+1, 0
			}
			if batch == len(batches) {
				tb.Fatalf("the file has more than %d rows", all)
			}
			kind, text := batches[batch].AnyValue(row, column)
			row, all = row+1, all+1
			if got.IsNull(i) || kind == source.Null {
				if got.IsNull(i) != (kind == source.Null) {
					tb.Fatalf("column %q, row %d: NULL %v, want %v %q", c.Name, all, got.IsNull(i), kind, text)
				}
				continue
			}
			if list, is := got.(*array.List); is {
				expectList(tb, &values, list, i, c, text)
			} else {
				expectValue(tb, &values, got, i, c, text)
			}
		}
	}
	rows := 0
	for _, b := range batches {
		rows += b.Rows()
	}
	if all != rows {
		tb.Fatalf("the file has %d rows, want %d", all, rows)
	}
}

func expectValue(
	tb testing.TB, values *canonical.Values, of arrow.Array, i int, c source.Column, text []byte,
) {
	tb.Helper()
	printed, asIs := Print(of, i)
	want := string(text)
	if !asIs {
		want, printed = string(values.Text(c.Logical, text)), string(values.Text(c.Logical, []byte(printed)))
	}
	if printed != want {
		tb.Fatalf("column %q (%s), value %d: %.300q, want %.300q", c.Name, c.Logical, i, printed, want)
	}
}

// expectList compares a list with an array that was written.
func expectList(tb testing.TB, values *canonical.Values, of *array.List, i int, c source.Column, text []byte) {
	tb.Helper()
	element, want := typedtest.Elements(tb, c, text)
	begin, end := of.ValueOffsets(i)
	if int(end-begin) != len(want) {
		tb.Fatalf("column %q, row %d: %d elements, want %q", c.Name, i, end-begin, text)
	}
	for j, one := range want {
		at, items := int(begin)+j, of.ListValues()
		if items.IsNull(at) != (one.Kind == source.Null) {
			tb.Fatalf("column %q, row %d: element %d is NULL: %v, want %v", c.Name, i, j, items.IsNull(at), one)
		}
		if one.Kind != source.Null {
			expectValue(tb, values, items, at, element, []byte(one.Text))
		}
	}
}

// Print returns the text of a value by the type of its array, and whether it is that which was written, as it was.
func Print(of arrow.Array, i int) (text string, asIs bool) {
	switch of := of.(type) {
	case *array.String:
		return of.Value(i), true
	case *array.Binary:
		return string(of.Value(i)), true
	case *array.Boolean:
		return strconv.FormatBool(of.Value(i)), false
	case *array.Float32:
		return floatText(float64(of.Value(i)), 32), false
	case *array.Float64:
		return floatText(of.Value(i), 64), false
	case *array.FixedSizeBinary:
		return hex.EncodeToString(of.Value(i)), false
	case *array.Date32:
		return of.Value(i).ToTime().Format(time.DateOnly), false
	case *array.Time64:
		return of.Value(i).ToTime(arrow.Microsecond).Format("15:04:05.000000"), false
	case *array.Timestamp:
		text = time.UnixMicro(int64(of.Value(i))).UTC().Format("2006-01-02 15:04:05.000000")
		if of.DataType().(*arrow.TimestampType).TimeZone == "UTC" {
			text += "+00"
		}
		return text, false
	case *array.Int16, *array.Int32, *array.Int64, *array.Decimal128:
		return of.ValueStr(i), false
	}
	panic(fmt.Sprintf("arrowtest: no text of %T", of))
}

func floatText(v float64, bits int) string {
	text := strings.TrimPrefix(strconv.FormatFloat(v, 'g', -1, bits), "+")
	return strings.Replace(text, "Inf", "Infinity", 1)
}
