package arrowread

import (
	"bytes"
	"encoding/csv"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"culvert/format"
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

// files returns the files of a directory, which pyarrow, Polars and DuckDB have written.
func files(tb testing.TB, dir string) map[string][]byte {
	tb.Helper()
	names, err := filepath.Glob(filepath.Join(dir, "*.arrow*"))
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

// TestForeign reads files and streams of pyarrow, Polars and DuckDB: the types, codecs, dictionaries and versions that
// they write.
func TestForeign(t *testing.T) {
	dir := "testdata"
	if testkit.Soak() { // what they write today
		dir = t.TempDir()
		cmd := exec.CommandContext(t.Context(), "python3", "testdata/write.py", dir)
		cmd.Env = append(os.Environ(), "PYTHONPATH="+testkit.Readers())
		if out, err := cmd.CombinedOutput(); err != nil {
			testkit.Missing(t, "DuckDB, Polars or pyarrow", "./dev soak readers does it: "+string(out))
		}
	}
	values, err := os.ReadFile("testdata/values.csv")
	if err != nil {
		t.Fatal(err)
	}
	want := cellsOf(t, values)
	for name, data := range files(t, dir) {
		got, err := text(data, manyRows)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if strings.HasPrefix(name, "delta.") {
			const want = "dict\na\n\"a long text, behind its view\"\n\n\"é,\"\"x\"\"\"\n"
			if string(got) != want {
				t.Errorf("%s:\n%s\nwant\n%s", name, got, want)
			}
			continue
		}
		for column, cells := range cellsOf(t, got) {
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
	step := 499
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

func FuzzRead(f *testing.F) {
	for _, data := range files(f, "testdata") {
		f.Add(data)
	}
	f.Fuzz(func(_ *testing.T, data []byte) { _, _ = text(data, 1<<12) })
}
