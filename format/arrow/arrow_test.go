package arrow_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	"culvert/format"
	"culvert/format/arrow"
	"culvert/format/arrow/arrowtest"
	"culvert/internal/testkit"
	"culvert/source"
)

// cell is a value of a test.
type cell struct {
	kind source.Kind
	text string
}

var null = cell{}

func columnsOf(tb testing.TB, types ...string) []source.Column {
	tb.Helper()
	columns := make([]source.Column, len(types))
	for i, text := range types {
		columns[i].Name = fmt.Sprintf("%d %s", i, text)
		if err := columns[i].Logical.UnmarshalText([]byte(text)); err != nil {
			tb.Fatal(err)
		}
	}
	return columns
}

func batchOf(rows ...[]cell) *source.Batch {
	b := new(source.Batch)
	b.Reset(len(rows[0]))
	for _, row := range rows {
		for _, v := range row {
			if v.kind == source.Null {
				b.AppendNull()
			} else {
				b.Append(v.kind, []byte(v.text))
			}
		}
		b.EndRow()
	}
	return b
}

// write writes batches to a file, in pieces of so many bytes if they are large.
func write(tb testing.TB, f arrow.Format, columns []source.Column, size int, batches ...*source.Batch) []byte {
	tb.Helper()
	encoder, err := f.Encoder(columns)
	if err != nil {
		tb.Fatal(err)
	}
	var file bytes.Buffer
	w := encoder.(format.Assembled).Assemble(&file)
	for _, b := range batches {
		last, err := encoder.AppendPieces(nil, b, size, func(piece []byte) ([]byte, error) {
			if len(piece) > size+400<<10 {
				tb.Errorf("a piece of %d bytes, of %d", len(piece), size)
			}
			_, err := w.Write(piece)
			return piece[:0], err
		})
		if err != nil {
			tb.Fatal(err)
		}
		if _, err := w.Write(last); err != nil {
			tb.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		tb.Fatal(err)
	}
	return file.Bytes()
}

// formats are all that there are.
var formats = []arrow.Format{{}, {Uncompressed: true}, {Stream: true}, {Stream: true, Uncompressed: true}}

var allTypes = []string{
	"bool", "int16", "int32", "int64", "float32", "float64", "decimal(9,2)", "decimal(38,10)", "decimal(20,20)",
	"decimal", "decimal(39,1)", "string", "bytes", "date", "time", "timestamp", "instant", "uuid", "json", "enum",
	"list(int32)", "unknown",
}

// cellOf returns the value of a type that has a number.
func cellOf(t source.Type, n int) cell {
	switch t.Class {
	case source.BoolClass:
		return cell{source.Bool, "tf"[n%2:][:1]}
	case source.IntClass:
		return cell{source.Number, fmt.Sprint(n%30000 - 10000)}
	case source.FloatClass:
		return cell{source.Number, fmt.Sprint(float32(n)/8 - 1000)}
	case source.DecimalClass:
		if t.Scale == t.Precision && t.Scale > 0 {
			return cell{source.Number, fmt.Sprintf("-0.%d", n)}
		}
		return cell{source.Number, fmt.Sprintf("%d.5", n%100000-50000)}
	case source.BytesClass:
		return cell{source.Bytes, strings.Repeat("\x00\xff", n%50)}
	case source.DateClass:
		return cell{source.Text, fmt.Sprintf("%04d-%02d-%02d", 1+n%9999, 1+n%12, 1+n%28)}
	case source.TimeClass:
		return cell{source.Text, fmt.Sprintf("%02d:%02d:%02d.%03d", n%24, n%60, n%59, n%1000)}
	case source.TimestampClass:
		return cell{source.Text, fmt.Sprintf("%04d-%02d-%02d 23:59:%02d", 1+n%9999, 1+n%12, 1+n%28, n%60)}
	case source.InstantClass:
		return cell{source.Text, fmt.Sprintf("%04d-%02d-%02d 23:59:59.%06d+05:30", 2+n%9990, 1+n%12, 1+n%28, n)}
	case source.UUIDClass:
		return cell{source.Text, fmt.Sprintf("0123abcd-00ff-4000-8000-%012x", n)}
	case source.JSONClass:
		return cell{source.JSON, fmt.Sprintf(`{"n": %d}`, n)}
	default:
		return cell{source.Text, strings.Repeat(fmt.Sprintf("é%d ", n), n%30)}
	}
}

// batchesOf returns rows of columns: without NULL, with some, and with nothing else.
func batchesOf(columns []source.Column) (batches []*source.Batch) {
	for nulls := range 3 {
		var rows [][]cell
		for n := range 1 + 500*nulls {
			row := make([]cell, len(columns))
			for i, c := range columns {
				if nulls == 0 || nulls == 1 && (n+i)%7 > 0 {
					row[i] = cellOf(c.Logical, 997*(n+i))
				}
			}
			rows = append(rows, row)
		}
		batches = append(batches, batchOf(rows...))
	}
	return batches
}

// TestAllTypes takes rows of all types to files and streams and back, in messages and in pieces.
func TestAllTypes(t *testing.T) {
	columns := columnsOf(t, allTypes...)
	batches := batchesOf(columns)
	for _, f := range formats {
		arrowtest.Expect(t, write(t, f, columns, 1<<20, batches...), columns, batches...)
		inPieces := write(t, arrow.InPieces(f, 1), columns, 1000, batches...)
		arrowtest.Expect(t, inPieces, columns, batches...)
		arrowtest.Expect(t, write(t, f, columns, 1<<20), columns)
	}
}

// TestSchema has the types that the package comment lists.
func TestSchema(t *testing.T) {
	columns := columnsOf(t, allTypes...)
	schema, _ := arrowtest.Read(t, write(t, arrow.Format{}, columns, 1<<20))
	want := []string{
		"bool", "int16", "int32", "int64", "float32", "float64", "decimal(9, 2)", "decimal(38, 10)", "decimal(20, 20)",
		"utf8", "utf8", "utf8", "binary", "date32", "time64[us]", "timestamp[us]", "timestamp[us, tz=UTC]",
		"fixed_size_binary[16]", "utf8", "utf8", "utf8", "utf8",
	}
	for i, field := range schema.Fields() {
		if got := field.Type.String(); got != want[i] {
			t.Errorf("%s is %s, want %s", field.Name, got, want[i])
		}
		extension, _ := field.Metadata.GetValue("ARROW:extension:name")
		if got := map[string]string{"uuid": "arrow.uuid", "json": "arrow.json"}[allTypes[i]]; got != extension {
			t.Errorf("%s has the extension %q, want %q", field.Name, extension, got)
		}
	}
}

func TestManyColumns(t *testing.T) {
	const n = 1600
	columns := columnsOf(t, slices.Repeat([]string{"int32", "string"}, n/2)...)
	row := make([]cell, n)
	for i := range row {
		row[i] = cell{source.Number, fmt.Sprint(i)}
	}
	b := batchOf(row, make([]cell, n), row)
	arrowtest.Expect(t, write(t, arrow.Format{}, columns, 1<<20, b, b), columns, b, b)
}

// TestLimit passes a batch on in pieces that is a value larger than the limit.
func TestLimit(t *testing.T) {
	columns := columnsOf(t, "string")
	b := batchOf([]cell{{source.Text, "12345678"}}, []cell{{source.Text, "9"}})
	for limit, pieces := range map[int]int{9: 1, 8: 5} {
		encoder, err := arrow.InPieces(arrow.Format{Uncompressed: true}, limit).Encoder(columns)
		if err != nil {
			t.Fatal(err)
		}
		got := 0
		if _, err := encoder.AppendPieces(nil, b, 1, func(piece []byte) ([]byte, error) {
			if len(piece) > 0 {
				got++
			}
			return piece[:0], nil
		}); err != nil || (got > 1) != (pieces > 1) {
			t.Errorf("with a limit of %d bytes, %d pieces, error %v", limit, got, err)
		}
	}
}

func TestLarge(t *testing.T) {
	columns := columnsOf(t, "int32", "string", "bytes", "bool")
	large := new(source.Batch)
	large.SetLending(true)
	large.Reset(4)
	data := make([]byte, 5<<20)
	for i := range data {
		data[i] = byte(i * i >> 8)
	}
	large.Lend(source.Number, []byte("1"))
	large.Lend(source.Text, bytes.Repeat([]byte("é large "), 1<<19))
	large.Lend(source.Bytes, data)
	large.Lend(source.Bool, []byte("t"))
	large.EndRow()
	small := batchOf([]cell{{source.Number, "2"}, {source.Text, ""}, null, {source.Bool, "f"}})
	for _, f := range formats[:2] {
		file := write(t, f, columns, 1<<20, small, large, small)
		arrowtest.Expect(t, file, columns, small, large, small)
	}
}

func TestRefusedColumns(t *testing.T) {
	for want, columns := range map[string][]source.Column{
		"have none":      nil,
		"have the name":  {{Name: "a"}, {Name: "a"}},
		"not valid UTF-": {{Name: "a\xff"}},
	} {
		if _, err := (arrow.Format{}).Encoder(columns); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: error %v, want one of %q", columns, err, want)
		}
	}
}

// TestUnfit names the column and the row of a value that does not fit. Parquet's tests have all kinds of them.
func TestUnfit(t *testing.T) {
	columns := columnsOf(t, "int32", "int16", "string")
	for column, bad := range map[int]cell{1: {source.Number, "32768"}, 2: {source.Text, "\xff"}} {
		row := []cell{null, null, null}
		row[column] = bad
		b := batchOf([]cell{null, null, null}, row)
		for _, f := range []arrow.Format{{}, arrow.InPieces(arrow.Format{}, 1)} {
			encoder, err := f.Encoder(columns)
			if err != nil {
				t.Fatal(err)
			}
			next := func(piece []byte) ([]byte, error) { return piece[:0], nil }
			_, err = encoder.AppendPieces(nil, b, 1<<20, next)
			unfit, is := errors.AsType[*format.ValueError](err)
			if !is || unfit.Row != 2 || unfit.Column != columns[column].Name {
				t.Errorf("error %v, want one about row 2 of %q", err, columns[column].Name)
			}
		}
	}
}

// failing fails after n bytes.
type failing struct{ n int }

var errFull = errors.New("full")

func (f *failing) Write(p []byte) (int, error) {
	if f.n -= len(p); f.n < 0 {
		return 0, errFull
	}
	return len(p), nil
}

func TestWriteErrors(t *testing.T) {
	columns := columnsOf(t, allTypes...)
	batches := batchesOf(columns)
	whole := len(write(t, arrow.Format{}, columns, 1<<20, batches...))
	encoder, err := arrow.Format{}.Encoder(columns)
	if err != nil {
		t.Fatal(err)
	}
	block, err := encoder.AppendRows(nil, batches[1])
	if err != nil {
		t.Fatal(err)
	}
	for n := 0; n < whole; n += whole/7 + 1 {
		w := encoder.(format.Assembled).Assemble(&failing{n: n})
		_, writeErr := w.Write(block)
		if err := w.Close(); err != nil && !errors.Is(err, errFull) || writeErr != nil && err != writeErr {
			t.Errorf("after %d bytes: errors %v and %v", n, writeErr, err)
		}
	}
	w := encoder.(format.Assembled).Assemble(io.Discard)
	if err := w.Close(); err != nil {
		t.Error(err)
	}
	if _, err := w.Write(block); err == nil {
		t.Error("a write after Close does not fail")
	}
}

func TestAllocations(t *testing.T) {
	columns := columnsOf(t, allTypes...)
	batch := batchesOf(columns)[1]
	encoder, err := arrow.Format{}.Encoder(columns)
	if err != nil {
		t.Fatal(err)
	}
	w := encoder.(format.Assembled).Assemble(io.Discard)
	var block []byte
	testkit.Allocs(t, 1, func() { // the index grows
		if block, err = encoder.AppendRows(block[:0], batch); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write(block); err != nil {
			t.Fatal(err)
		}
	})
}
