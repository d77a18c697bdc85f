package arrow_test

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"testing"

	"culvert/format"
	"culvert/format/arrow"
	"culvert/format/arrow/arrowtest"
	"culvert/format/internal/typed/typedtest"
	"culvert/internal/testkit"
	"culvert/source"
)

type cell = typedtest.Cell

var (
	null      = cell{}
	columnsOf = typedtest.Columns
	batchOf   = typedtest.Batch
)

func write(tb testing.TB, f arrow.Format, columns []source.Column, size int, batches ...*source.Batch) []byte {
	tb.Helper()
	return typedtest.Write(tb, f, columns, size, batches...)
}

// formats are all that there are.
var formats = []arrow.Format{{}, {Uncompressed: true}, {Stream: true}, {Stream: true, Uncompressed: true}}

var allTypes = []string{
	"bool", "int16", "int32", "int64", "float32", "float64", "decimal(9,2)", "decimal(38,10)", "decimal(20,20)",
	"decimal", "decimal(39,1)", "string", "bytes", "date", "time", "timestamp", "instant", "uuid", "json", "enum",
	"list(int32)", "list(string)", "list(bool)", "list(bytes)", "list(decimal(20,2))", "list(decimal)", "list(uuid)",
	"list(json)", "list(instant)", "list(float64)", "list(enum)", "list(unknown)", "unknown",
}

// batchesOf returns rows of columns: without NULL, with some, and with nothing else.
func batchesOf(columns []source.Column) (batches []*source.Batch) {
	for nulls := range 3 {
		var rows [][]cell
		for n := range 1 + 500*nulls {
			row := make([]cell, len(columns))
			for i, c := range columns {
				if c.NotNull || nulls == 0 || nulls == 1 && (n+i)%7 > 0 {
					row[i] = typedtest.CellOf(c.Logical, 997*(n+i))
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
	columns := typedtest.Require(columnsOf(t, allTypes...), 4)
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
		"fixed_size_binary[16]", "utf8", "utf8",
		"list<item: int32, nullable>", "list<item: utf8, nullable>", "list<item: bool, nullable>",
		"list<item: binary, nullable>", "list<item: decimal(20, 2), nullable>", "list<item: utf8, nullable>",
		"list<item: fixed_size_binary[16], nullable>", "list<item: utf8, nullable>",
		"list<item: timestamp[us, tz=UTC], nullable>", "list<item: float64, nullable>", "list<item: utf8, nullable>",
		"utf8", "utf8",
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

// TestLargeLists passes lists of many elements on in pieces.
func TestLargeLists(t *testing.T) {
	columns, b := typedtest.LargeLists(t)
	for _, f := range formats[:2] {
		arrowtest.Expect(t, write(t, arrow.InPieces(f, 1), columns, 1<<10, b), columns, b)
	}
}

func TestRefusedColumns(t *testing.T) { typedtest.ExpectRefusedColumns(t, arrow.Format{}) }

func TestRefusedNull(t *testing.T) {
	typedtest.ExpectRefusedNull(t, arrow.Format{}, arrow.InPieces(arrow.Format{}, 1))
}

// TestUnfit names the column and the row of a value that does not fit. Parquet's tests have all kinds of them.
func TestUnfit(t *testing.T) {
	columns := columnsOf(t, "int32", "int16", "string")
	for column, bad := range map[int]cell{1: {source.Number, "32768"}, 2: {source.Text, "\xff"}} {
		row := []cell{null, null, null}
		row[column] = bad
		b := batchOf([]cell{null, null, null}, row)
		for _, f := range []arrow.Format{{}, arrow.InPieces(arrow.Format{}, 1)} {
			unfit, err := typedtest.Unfit(t, f, columns, b)
			if unfit == nil || unfit.Row != 2 || unfit.Column != columns[column].Name {
				t.Errorf("error %v, want one about row 2 of %q", err, columns[column].Name)
			}
		}
	}
}

func TestWriteErrors(t *testing.T) {
	columns := columnsOf(t, allTypes...)
	typedtest.ExpectWriteErrors(t, arrow.Format{}, columns, batchesOf(columns)[1])
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
