package parquetread

import (
	"bytes"
	"errors"
	"math"
	"os"
	"reflect"
	"strings"
	"testing"

	pq "github.com/parquet-go/parquet-go"

	"culvert/format"
	"culvert/format/internal/typed/typedtest"
	"culvert/format/internal/untyped"
)

// text prints a file as CSV, but at most so many rows.
func text(data []byte, most int) ([]byte, error) {
	opened, err := Format{}.Open(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		return nil, err
	}
	file := opened.(*file)
	const small = 1 << 20 // a few bytes can stand for a list of millions of NULLs
	file.largest = small
	return typedtest.Text(file, most)
}

const manyRows = 1 << 20

// TestForeign reads files of pyarrow, DuckDB and Spark: the codecs, encodings, versions of pages, layouts of lists and
// types that they write.
func TestForeign(t *testing.T) {
	values, err := os.ReadFile("testdata/values.csv")
	if err != nil {
		t.Fatal(err)
	}
	without := map[string][]string{
		"int96.parquet": {"u32", "u64"}, // version 1 has no integers without a sign
		"spark.parquet": {"t"}, "sparklegacy.parquet": {"t"},
	}
	for name, data := range typedtest.ForeignFiles(t, "*.parquet", "write.py", "spark.py") {
		got, err := text(data, manyRows)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if without[name] == nil {
			if !bytes.Equal(got, values) {
				t.Errorf("%s:\n%s\nwant\n%s", name, got, values)
			}
			continue
		}
		want := typedtest.Cells(t, values)
		for _, column := range without[name] {
			delete(want, column)
		}
		if cells := typedtest.Cells(t, got); !reflect.DeepEqual(cells, want) {
			t.Errorf("%s:\n%q\nwant\n%q", name, cells, want)
		}
	}
}

// TestDamaged reads files that are cut short or have a wrong byte: an error or other values, no panic, and no more
// memory than the file can fill.
func TestDamaged(t *testing.T) { typedtest.Damaged(t, files(t), 199, text) }

func files(tb testing.TB) map[string][]byte { return typedtest.Files(tb, "testdata/*.parquet") }

// FuzzRead reads anything.
func FuzzRead(f *testing.F) {
	for _, data := range files(f) {
		f.Add(data)
	}
	f.Fuzz(func(_ *testing.T, data []byte) { _, _ = text(data, 1<<14) })
}

// TestRefused names what is not read.
func TestRefused(t *testing.T) {
	data := files(t)["snappy.parquet"]
	encrypted := append(bytes.Clone(data[:len(data)-4]), "PARE"...)
	brotli := parsed(t, data)
	brotli.groups[0].chunks[0].codec = 4
	_, err := brotli.Rows(0, make([]format.Field, len(brotli.columns)))
	_, encryptedErr := text(encrypted, manyRows)
	for want, err := range map[string]error{"brotli": err, "encrypted by the means of Parquet": encryptedErr} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want one about %s", err, want)
		}
	}
}

func parsed(tb testing.TB, data []byte) *file {
	tb.Helper()
	f, err := Format{}.Open(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		tb.Fatal(err)
	}
	return f.(*file)
}

// TestUnfitNested names the row of a value within another that has no text.
func TestUnfitNested(t *testing.T) {
	type row struct {
		S struct {
			A int64 `parquet:"a,timestamp(microsecond)"`
			B int64 `parquet:"b"`
		} `parquet:"s"`
	}
	var data bytes.Buffer
	w := pq.NewGenericWriter[row](&data)
	rows := make([]row, 2)
	rows[1].S.A = math.MaxInt64
	if _, err := w.Write(rows); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	_, err := text(data.Bytes(), manyRows)
	if unfit, is := errors.AsType[*format.RowError](err); !is || unfit.Row != 2 || unfit.Column != "s" {
		t.Errorf("error %v, want one about row 2", err)
	}
}

// TestUnfit refuses values that have no text, and never changes one.
func TestUnfit(t *testing.T) {
	for _, test := range []struct {
		element
		v    int64
		want string
	}{
		{element{physical: int32s, logical: logicalDate}, 2932896, "9999-12-31"},
		{element{physical: int32s, logical: logicalDate}, 2932897, ""},
		{element{physical: int32s, logical: logicalDate}, -719162, "0001-01-01"},
		{element{physical: int32s, logical: logicalDate}, -719163, ""},
		{element{physical: int64s, logical: logicalTime, unit: untyped.Micros}, 86399999999, "23:59:59.999999"},
		{element{physical: int64s, logical: logicalTime, unit: untyped.Micros}, 86400000000, ""},
		{
			element{physical: int64s, logical: logicalTimestamp, unit: untyped.Nanos, utc: true},
			-1,
			"1969-12-31 23:59:59.999999999+00",
		},
		{element{physical: int32s, logical: logicalDecimal, precision: 3, scale: 2}, -5, "-0.05"},
		{element{physical: int32s, logical: logicalDecimal, precision: 3, scale: 2}, 1000, ""},
		{element{physical: int32s, converted: convertedUint8}, -1, ""},
		{element{physical: int32s, logical: logicalInteger, bits: 32}, -1, "4294967295"},
		{element{physical: int32s, logical: logicalInteger, bits: 8, signed: true}, 128, ""},
	} {
		if test.converted == 0 {
			test.converted = -1
		}
		p, err := printerOf(&test.element)
		if err != nil {
			t.Fatal(err)
		}
		got, why := p.AppendInt(nil, test.v)
		if (why == "") != (test.want != "") || why == "" && string(got) != test.want {
			t.Errorf("%+v: %q, %q, want %q", test.element, got, why, test.want)
		}
	}
}
