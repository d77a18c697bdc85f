package parquetread

import (
	"bytes"
	"encoding/csv"
	"errors"
	"io"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	pq "github.com/parquet-go/parquet-go"

	"culvert/format"
	"culvert/format/internal/untyped"
	"culvert/internal/testkit"
	"culvert/source"
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
	encoder, err := format.CSV{}.Encoder(file.Columns())
	if err != nil {
		return nil, err
	}
	out := encoder.AppendHeader(nil)
	var b source.Batch
	for group := range file.Groups() {
		rows, err := file.Rows(group, make([]format.Field, len(file.Columns())))
		if err != nil {
			return nil, err
		}
		for err = rows.Next(&b); err == nil && most > 0; err = rows.Next(&b) {
			most -= b.Rows()
			if out, err = encoder.AppendRows(out, &b); err != nil {
				return nil, err
			}
		}
		if closeErr := rows.Close(); err != nil && err != io.EOF || closeErr != nil {
			return nil, errors.Join(err, closeErr)
		}
	}
	return out, nil
}

// files returns the files of a directory, which pyarrow and DuckDB have written.
func files(tb testing.TB, dir string) map[string][]byte {
	tb.Helper()
	names, err := filepath.Glob(filepath.Join(dir, "*.parquet"))
	if err != nil || len(names) == 0 {
		tb.Fatal("no files", err)
	}
	all := map[string][]byte{}
	for _, name := range names {
		if all[filepath.Base(name)], err = os.ReadFile(name); err != nil {
			tb.Fatal(err)
		}
	}
	return all
}

const manyRows = 1 << 20

// TestForeign reads files of pyarrow and DuckDB: the codecs, encodings, versions of pages and types that they write.
func TestForeign(t *testing.T) {
	dir := "testdata"
	if testkit.Soak() { // what they write today
		dir = t.TempDir()
		cmd := exec.CommandContext(t.Context(), "python3", "testdata/write.py", dir)
		cmd.Env = append(os.Environ(), "PYTHONPATH="+testkit.Readers())
		if out, err := cmd.CombinedOutput(); err != nil {
			testkit.Missing(t, "DuckDB or pyarrow", "./dev soak readers does it: "+string(out))
		}
	}
	values, err := os.ReadFile("testdata/values.csv")
	if err != nil {
		t.Fatal(err)
	}
	for name, data := range files(t, dir) {
		got, err := text(data, manyRows)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if name != "int96.parquet" {
			if !bytes.Equal(got, values) {
				t.Errorf("%s:\n%s\nwant\n%s", name, got, values)
			}
			continue
		}
		want := cellsOf(t, values)
		for column, cells := range cellsOf(t, got) { // version 1 has no integers without a sign
			if strings.Join(cells, "\n") != strings.Join(want[column], "\n") {
				t.Errorf("%s: column %s: %q, want %q", name, column, cells, want[column])
			}
		}
	}
}

// cellsOf returns the cells of each column of CSV.
func cellsOf(tb testing.TB, text []byte) map[string][]string {
	tb.Helper()
	lines, err := csv.NewReader(bytes.NewReader(text)).ReadAll()
	if err != nil {
		tb.Fatal(err)
	}
	all := map[string][]string{}
	for _, line := range lines[1:] {
		for i, cell := range line {
			all[lines[0][i]] = append(all[lines[0][i]], cell)
		}
	}
	return all
}

// TestDamaged reads files that are cut short or have a wrong byte: an error or other values, no panic, and no more
// memory than the file can fill.
func TestDamaged(t *testing.T) {
	step := 199
	if testkit.Soak() {
		step = 1
	}
	for name, data := range files(t, "testdata") {
		for n := 0; n < len(data); n += step {
			if _, err := text(data[:n], manyRows); err == nil {
				t.Errorf("%s: no error after %d bytes", name, n)
			}
		}
		for n := 0; n < len(data); n += step {
			for _, mask := range []byte{1, 0x40, 0x80, 0xff} {
				damaged := bytes.Clone(data)
				damaged[n] ^= mask
				var before, after runtime.MemStats
				runtime.ReadMemStats(&before)
				_, _ = text(damaged, 1<<12)
				runtime.ReadMemStats(&after)
				if taken := after.TotalAlloc - before.TotalAlloc; taken > 256<<20 {
					t.Errorf("%s: byte %d ^ %#x takes %d bytes of memory", name, n, mask, taken)
				}
			}
		}
	}
}

// FuzzRead reads anything.
func FuzzRead(f *testing.F) {
	for _, data := range files(f, "testdata") {
		f.Add(data)
	}
	f.Fuzz(func(_ *testing.T, data []byte) { _, _ = text(data, 1<<14) })
}

// TestRefused names what is not read.
func TestRefused(t *testing.T) {
	data := files(t, "testdata")["snappy.parquet"]
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
