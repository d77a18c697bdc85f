package parquet

import (
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"culvert/format"
	"culvert/format/internal/typed/typedtest"
	"culvert/format/parquet/parquettest"
	"culvert/internal/testkit"
	"culvert/source"
)

type cell = typedtest.Cell

var (
	null      = cell{}
	columnsOf = typedtest.Columns
	batchOf   = typedtest.Batch
)

func write(tb testing.TB, f Format, columns []source.Column, batches ...*source.Batch) []byte {
	tb.Helper()
	return typedtest.Write(tb, f, columns, 1<<20, batches...)
}

var allTypes = []string{
	"bool", "int16", "int32", "int64", "float32", "float64", "decimal(9,2)", "decimal(18,0)", "decimal(38,10)",
	"decimal(20,20)", "decimal", "decimal(39,1)", "string", "char(3)", "bytes", "date", "time", "timestamp", "instant",
	"interval", "uuid", "json", "enum", "list(int32)", "list(string)", "list(bool)",
	"list(bytes)", "list(decimal(20,2))", "list(decimal)", "list(uuid)", "list(json)", "list(instant)", "list(float64)",
	"list(enum)", "list(unknown)", "unknown",
}

// TestRandom takes random rows of all types to a file and back, through row groups, dictionaries that become too large,
// and pages without values.
func TestRandom(t *testing.T) {
	t.Parallel()
	columns := typedtest.Require(columnsOf(t, append(allTypes, allTypes...)...), 4)
	small := Format{limits: limits{groupText: 1 << 18, dictionary: 1 << 12, all: 1 << 16}}
	for round, f := range []Format{
		{},
		small,
		{limits: limits{groupBytes: 1}},
		{limits: limits{whole: 1}},
		{limits: limits{groupPages: 1, all: 1, indexes: 1 << 14}},
	} {
		batches := randomBatches(rand.New(rand.NewPCG(uint64(round), 0)), columns)
		parquettest.Expect(t, write(t, f, columns, batches...), columns, batches...)
	}
}

// randomBatches returns rows of all types, twice: with few values, and with many.
func randomBatches(r *rand.Rand, columns []source.Column) (batches []*source.Batch) {
	for range 1 + r.IntN(8) {
		var rows [][]cell
		nulls := r.IntN(3)
		for range 1 + r.IntN(800) {
			row := make([]cell, len(columns))
			for i, c := range columns {
				repeats := 1 << 30
				if i < len(allTypes) {
					repeats = 100
				}
				row[i] = typedtest.CellOf(c.Logical, r.IntN(repeats)) // of how many it is one
				if !c.NotNull && (nulls == 1 && r.IntN(9) == 0 || nulls == 2 && i%3 == 0) {
					row[i] = null
				}
			}
			rows = append(rows, row)
		}
		batches = append(batches, batchOf(rows...))
	}
	return batches
}

func TestNoRows(t *testing.T) {
	columns := columnsOf(t, allTypes...)
	file := write(t, Format{}, columns)
	parquettest.Expect(t, file, columns)
	if groups := len(parquettest.Open(t, file).RowGroups()); groups != 0 {
		t.Errorf("%d row groups", groups)
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
	parquettest.Expect(t, write(t, Format{}, columns, b, b), columns, b, b)
}

// TestGroupLimit ends a row group with the block that reaches the limit.
func TestGroupLimit(t *testing.T) {
	columns := columnsOf(t, "int64")
	row := []cell{{source.Number, "1"}}
	one := batchOf(row)
	const size = 4 + 2 + 8 // of a page: levels and the value
	for text, groups := range map[int]int{size: 4, size + 1: 2, 2 * size: 2, 4 * size: 1, 4*size + 1: 1} {
		file := write(t, Format{limits: limits{groupText: text}}, columns, one, one, one, one)
		parquettest.Expect(t, file, columns, one, one, one, one)
		if got := len(parquettest.Open(t, file).RowGroups()); got != groups {
			t.Errorf("with a limit of %d bytes, %d row groups, want %d", text, got, groups)
		}
	}
}

// TestRowGroup ends a row group with the block that reaches the size that is stated.
func TestRowGroup(t *testing.T) {
	columns := columnsOf(t, "int64")
	one := batchOf([]cell{{source.Number, "1"}})
	for size, groups := range map[int64]int{1: 4, 1 << 20: 1, MaxRowGroup: 1} {
		file := write(t, Format{RowGroup: size}, columns, one, one, one, one)
		if got := len(parquettest.Open(t, file).RowGroups()); got != groups {
			t.Errorf("with a size of %d bytes, %d row groups, want %d", size, got, groups)
		}
	}
	for _, size := range []int64{-1, MaxRowGroup + 1} {
		if _, err := (Format{RowGroup: size}).Encoder(columns); err == nil {
			t.Errorf("a row group of %d bytes is not refused", size)
		}
	}
}

func TestRefusedColumns(t *testing.T) { typedtest.ExpectRefusedColumns(t, Format{}) }

func TestRefusedNull(t *testing.T) {
	typedtest.ExpectRefusedNull(t, Format{}, Format{limits: limits{whole: 1}})
}

// TestUnfit refuses each value that its type does not have, by row and column, whether it is in a block or in pieces.
func TestUnfit(t *testing.T) {
	for _, test := range []struct{ logical, good, bad string }{
		{"bool", "t", "2"},
		{"int16", "32767", "32768"},
		{"int16", "-32768", "-32769"},
		{"int32", "-2147483648", "2147483648"},
		{"int64", "9223372036854775807", "9223372036854775808"},
		{"int64", "-9223372036854775808", "1.5"},
		{"int64", "0000000000000000000007", ""},
		{"float32", "3.4e38", "1e39"},
		{"float64", "-Infinity", "0x10"},
		{"float64", "NaN", "1_0"},
		{"decimal(3,1)", "-99.9", "100.0"},
		{"decimal(3,1)", "1.50", "1.55"},
		{"decimal(3,1)", "1e1", "1e2"},
		{"decimal(3,1)", "-.5", "NaN"},
		{"decimal(38,0)", strings.Repeat("9", 38), "1" + strings.Repeat("0", 38)},
		{"decimal(38,38)", "-0." + strings.Repeat("9", 38), "Infinity"},
		{"date", "0001-01-01", "0044-03-15 BC"},
		{"date", "9999-12-31", "10000-01-01"},
		{"date", "2024-02-29", "2023-02-29"},
		{"date", "2026/1/2", "infinity"},
		{"time", "23:59:59.999999", "24:00:00"},
		{"time", "00:00:00", "-01:00:00"},
		{"time", "12:00:00.5000000", "12:00:00.1234567"},
		{"timestamp", "9999-12-31 23:59:59.999999", "-infinity"},
		{"timestamp", "2026-01-02T03:04:05", "2026-01-02 03:04:05+01"},
		{"instant", "2026-01-02 03:04:05-05:30", "0001-01-01 00:00:00+01"},
		{"instant", "9999-12-31 23:59:59Z", "9999-12-31 23:59:59-00:00:01"},
		{"uuid", "{0123ABCD00ff40008000000000000001}", "0123abcd-00ff-4000-8000-00000000000g"},
		{"json", "1", "{"},
		{"string", "é", "\xff"},
		{"list(string)", "{é}", "{\xff}"},
		{"list(string)", `{"a, b","\"\\",NULL,"NULL"}`, "{{a},{b}}"},
		{"list(string)", "{}", "[0:1]={a,b}"},
		{"list(string)", "{a}", "{a"},
		{"list(string)", "{a}", `{"a}`},
		{"list(string)", "{a}", `{"a"b}`},
		{"list(string)", "{a}", "{a,}"},
		{"list(string)", "{a}", "{,a}"},
		{"list(int32)", "{-1,NULL}", "{1,2147483648}"},
		{"list(date)", "{2026-01-02}", "{2026-01-02,infinity}"},
		{"list(bytes)", `{"\\x00ff"}`, `{"\\x0"}`},
		{"list(json)", `{"{\"a\": 1}"}`, "{a}"},
	} {
		for _, f := range []Format{{}, {limits: limits{whole: 1}}} {
			columns := columnsOf(t, "int32", test.logical)
			first, good := []cell{{source.Number, "1"}, null}, cell{source.Text, test.good}
			bad := cell{source.Text, test.bad}
			b := batchOf(first, []cell{null, good})
			parquettest.Expect(t, write(t, f, columns, b), columns, b)
			b = batchOf(first, []cell{null, good}, []cell{null, bad})
			expectUnfit(t, f, columns, b, 3)
			if test.logical != "string" {
				b = batchOf([]cell{null, {source.Bytes, test.good}})
				expectUnfit(t, f, columns, b, 1)
			}
		}
	}
	columns := columnsOf(t, "int32", "bytes")
	expectUnfit(t, Format{}, columns, batchOf([]cell{null, {source.Text, "x"}}), 1)
}

// TestLossyLists writes an array that is no list as NULL, or its column as text.
func TestLossyLists(t *testing.T) {
	columns := typedtest.Require(columnsOf(t, "int32", "list(bytes)"), 1)
	arrays := []cell{
		{source.Text, `{"\\x00"}`}, {source.Text, `{{"\\x00"}}`}, {source.Text, `{"\\x0"}`}, {source.Text, "{}"},
	}
	var rows [][]cell
	for i, array := range arrays {
		rows = append(rows, []cell{{source.Number, fmt.Sprint(i)}, array})
	}
	for how, logical := range map[format.Lossy]string{
		format.LossyNull: "list(bytes)", format.LossyString: "string",
	} {
		fitter, written, err := Format{}.Fitter(columns, source.PostgreSQL, how)
		if err != nil {
			t.Fatal(err)
		}
		var changed source.Batch
		got := fitter.Fit(&changed, batchOf(rows...))
		parquettest.Expect(t, write(t, Format{}, written, got), written, got)
		for row, want := range arrays {
			if how == format.LossyNull && (row == 1 || row == 2) {
				want = null
			}
			if kind, text := got.Value(row, 1); (cell{kind, string(text)}) != want {
				t.Errorf("%s: row %d is %v %q, want %q", how, row, kind, text, want)
			}
		}
		unfit, isText := fitter.Unfit(), how == format.LossyString
		if unfit[1] != 2 || written[1].Logical.String() != logical || written[1].NotNull != isText {
			t.Errorf("%s: %v do not fit, %+v", how, unfit, written[1])
		}
	}
}

func expectUnfit(t *testing.T, f Format, columns []source.Column, b *source.Batch, row int64) {
	t.Helper()
	unfit, err := typedtest.Unfit(t, f, columns, b)
	if unfit == nil || unfit.Row != row || unfit.Column != columns[1].Name || unfit.Reason == "" {
		_, text := b.Value(int(row-1), 1)
		t.Errorf("%s, %q: error %v, want one about row %d", columns[1].Name, text, err, row)
	}
}

// TestLarge passes large values through in pieces of bounded size.
func TestLarge(t *testing.T) {
	columns := columnsOf(t, "int32", "string", "bytes", "bool")
	text, data := strings.Repeat("é large ", 1<<20), make([]byte, 9<<20)
	for i := range data {
		data[i] = byte(i * i >> 8)
	}
	large := new(source.Batch)
	large.SetLending(true)
	large.Reset(4)
	for _, v := range []cell{
		{source.Number, "1"}, {source.Text, text}, {source.Bytes, string(data)}, {source.Bool, "t"},
	} {
		large.Lend(v.Kind, []byte(v.Text))
	}
	large.EndRow()
	small := batchOf([]cell{{source.Number, "2"}, {source.Text, ""}, null, {source.Bool, "f"}})
	parquettest.Expect(t, write(t, Format{}, columns, small, large, large, small), columns, small, large, large, small)

	encoder, err := Format{}.Encoder(columns)
	if err != nil {
		t.Fatal(err)
	}
	const size = 1 << 20
	piece := make([]byte, 0, 2*size)
	last, err := encoder.AppendPieces(piece, large, size, func(piece []byte) ([]byte, error) {
		if len(piece) > size+400<<10 {
			t.Errorf("a piece of %d bytes", len(piece))
		}
		return piece[:0], nil
	})
	if err != nil || len(last) >= size {
		t.Errorf("a last piece of %d bytes, error %v", len(last), err)
	}
	failure := errors.New("full")
	_, err = encoder.AppendPieces(piece, large, size, func([]byte) ([]byte, error) { return nil, failure })
	if err != failure {
		t.Errorf("error %v, want that of next", err)
	}
}

// TestLargeLists passes lists of many elements on in pieces.
func TestLargeLists(t *testing.T) {
	columns, b := typedtest.LargeLists(t)
	for _, f := range []Format{{}, {limits: limits{whole: 1}}} {
		parquettest.Expect(t, typedtest.Write(t, f, columns, 1<<10, b), columns, b)
	}
}

func TestWriteErrors(t *testing.T) {
	var rows [][]cell
	for i := range 20000 {
		rows = append(rows, []cell{{source.Number, fmt.Sprint(i * i)}, {source.Text, fmt.Sprint(i * i * i)}})
	}
	typedtest.ExpectWriteErrors(t, Format{}, columnsOf(t, "int32", "string"), batchOf(rows...))
}

// typicalBatch has rows as most tables have them.
func typicalBatch(tb testing.TB) ([]source.Column, *source.Batch) {
	tb.Helper()
	columns := columnsOf(tb, "int64", "int32", "string", "decimal(10,2)", "timestamp", "bool", "enum", "float64")
	r := rand.New(rand.NewPCG(1, 2))
	b := new(source.Batch)
	b.Reset(len(columns))
	for id := int64(1); !b.Full(); id++ {
		b.AppendInt(id)
		b.AppendInt(r.Int64N(50000))
		b.Append(source.Text, fmt.Appendf(nil, "an item of the order %d", r.IntN(1<<20)))
		b.Append(source.Number, fmt.Appendf(nil, "%d.%02d", r.IntN(1000), r.IntN(100)))
		b.Append(source.Text, fmt.Appendf(nil, "2026-01-%02d %02d:%02d:00", 1+r.IntN(28), r.IntN(24), r.IntN(60)))
		b.Append(source.Bool, []byte("tf")[id%2:][:1])
		b.Append(source.Text, []byte([]string{"new", "paid", "sent"}[r.IntN(3)]))
		b.AppendFloat(r.Float64())
		b.EndRow()
	}
	return columns, b
}

func TestAllocations(t *testing.T) {
	columns, b := typicalBatch(t)
	encoder, err := Format{limits: limits{groupBytes: 1 << 18}}.Encoder(columns)
	if err != nil {
		t.Fatal(err)
	}
	w := encoder.(format.Assembled).Assemble(io.Discard)
	var block []byte
	testkit.Allocs(t, 1, func() { // the footer grows
		if block, err = encoder.AppendRows(block[:0], b); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write(block); err != nil {
			t.Fatal(err)
		}
	})
}

func BenchmarkAppendRows(b *testing.B) {
	columns, batch := typicalBatch(b)
	csv, err := format.CSV{}.Encoder(columns)
	if err != nil {
		b.Fatal(err)
	}
	text, err := csv.AppendRows(nil, batch)
	if err != nil {
		b.Fatal(err)
	}
	encoder, err := Format{}.Encoder(columns)
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(int64(len(text)))
	var block []byte
	for b.Loop() {
		if block, err = encoder.AppendRows(block[:0], batch); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(len(text))/float64(len(block)), "ratio")
}

// TestFitLent makes a value of a row that is lent fit, and keeps the others.
func TestFitLent(t *testing.T) {
	fitter, columns, err := Format{}.Fitter(columnsOf(t, "int32", "date"), source.PostgreSQL, format.LossyNull)
	if err != nil {
		t.Fatal(err)
	}
	b, dst := new(source.Batch), new(source.Batch)
	b.SetLending(true)
	b.Reset(2)
	b.Append(source.Number, []byte("1"))
	b.Append(source.Text, []byte("2026-01-02"))
	b.EndRow()
	b.Lend(source.Number, []byte("2"))
	b.Lend(source.Text, []byte("infinity"))
	b.EndRow()
	want := batchOf([]cell{{source.Number, "1"}, {source.Text, "2026-01-02"}}, []cell{{source.Number, "2"}, null})
	fitted := fitter.Fit(dst, b)
	if !fitted.HasLent() || !slices.Equal(fitter.Unfit(), []int64{0, 1}) {
		t.Errorf("lent: %v, unfit: %v", fitted.HasLent(), fitter.Unfit())
	}
	parquettest.Expect(t, write(t, Format{}, columns, fitted), columns, want)
	if again := fitter.Fit(dst, want); again != want {
		t.Error("rows that fit are copied")
	}
}

// TestFitNotNull makes NULL of a text that is not UTF-8, which a column that is NOT NULL in the database may have, in
// one of many rows.
func TestFitNotNull(t *testing.T) {
	of := typedtest.Require(columnsOf(t, "int32", "string", "json"), 1)
	fitter, columns, err := Format{}.Fitter(of, source.PostgreSQL, format.LossyNull)
	if err != nil {
		t.Fatal(err)
	}
	if !columns[0].NotNull {
		t.Error("numbers, all of which fit, may be NULL")
	}
	one, bad := cell{source.Number, "1"}, cell{source.Text, "\xff"}
	document := cell{source.Text, "{}"}
	fitted := fitter.Fit(new(source.Batch), batchOf([]cell{one, bad, bad}, []cell{one, {source.Text, "a"}, document}))
	want := batchOf([]cell{one, null, null}, []cell{one, {source.Text, "a"}, document})
	parquettest.Expect(t, write(t, Format{}, columns, fitted), columns, want)
}
