package arrowread

import (
	"bytes"
	"os"
	"strings"
	"testing"

	"culvert/format/internal/typed/typedtest"
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

// TestForeign reads files and streams of pyarrow, Polars and DuckDB: the types, codecs, dictionaries and versions that
// they write.
func TestForeign(t *testing.T) {
	values, err := os.ReadFile("testdata/values.csv")
	if err != nil {
		t.Fatal(err)
	}
	want := typedtest.Cells(t, values)
	for name, data := range typedtest.ForeignFiles(t, "*.arrow*", "write.py") {
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
		for column, cells := range typedtest.Cells(t, got) {
			if strings.Join(cells, "\n") != strings.Join(want[column], "\n") {
				t.Errorf("%s: column %s: %q, want %q", name, column, cells, want[column])
			}
		}
	}
}

// TestDamaged reads files that are cut short or have a wrong byte: an error or other values, no panic, and no more
// memory than the file can fill.
func TestDamaged(t *testing.T) { typedtest.Damaged(t, files(t), 499, text) }

func files(tb testing.TB) map[string][]byte { return typedtest.Files(tb, "testdata/*.arrow*") }

func FuzzRead(f *testing.F) {
	for _, data := range files(f) {
		f.Add(data)
	}
	f.Fuzz(func(_ *testing.T, data []byte) { _, _ = text(data, 1<<12) })
}
