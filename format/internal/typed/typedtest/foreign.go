package typedtest

import (
	"bytes"
	"encoding/csv"
	"errors"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"culvert/format"
	"culvert/internal/testkit"
	"culvert/source"
)

// SmallBatch is the limit of batches for small files. So many of these are read that clearing the memory of usual
// batches takes most of the time.
const SmallBatch = 16 << 10

// Text prints a file as CSV, but at most so many rows.
func Text(file format.ColumnFile, most int) ([]byte, error) {
	encoder, err := format.CSV{}.Encoder(file.Columns())
	if err != nil {
		return nil, err
	}
	out := encoder.AppendHeader(nil)
	var b source.Batch
	b.SetLimit(SmallBatch)
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

// Files returns the files that match a pattern, by name.
func Files(tb testing.TB, pattern string) map[string][]byte {
	tb.Helper()
	names, err := filepath.Glob(pattern)
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

// ForeignFiles returns the files in testdata that match a pattern. In the long form, the scripts, which are in testdata
// too, make the files anew.
func ForeignFiles(t *testing.T, pattern string, scripts ...string) map[string][]byte {
	t.Helper()
	dir := "testdata"
	if testkit.Soak() {
		dir = t.TempDir()
		for _, script := range scripts {
			if out, err := testkit.Python(t, filepath.Join("testdata", script), dir).CombinedOutput(); err != nil {
				testkit.Missing(t, "what "+script+" imports", "./dev soak readers installs it: "+string(out))
			}
		}
	}
	return Files(t, filepath.Join(dir, pattern))
}

// Cells returns the cells of each column of CSV.
func Cells(tb testing.TB, text []byte) map[string][]string {
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

// Damaged has files read that are cut short or have a wrong byte, at every so many bytes: an error or other values, no
// panic, and no more memory than the file can fill. Text reads a file, but at most so many rows.
func Damaged(t *testing.T, files map[string][]byte, step int, text func(data []byte, most int) ([]byte, error)) {
	t.Helper()
	if testkit.Soak() {
		step = 1
	}
	for name, data := range files {
		for n := 0; n < len(data); n += step {
			if _, err := text(data[:n], 1<<20); err == nil {
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
