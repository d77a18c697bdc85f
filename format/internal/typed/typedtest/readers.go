package typedtest

import (
	"encoding/hex"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"culvert/format/internal/typed"
	"culvert/internal/canonical"
	"culvert/internal/testkit"
	"culvert/source"
)

// Readers are the programs that users have. ./dev soak installs them.
type Readers struct{ script string }

// NewReaders returns them, with a script that has them read a file.
func NewReaders(tb testing.TB, script string) Readers {
	tb.Helper()
	if err := testkit.Python(tb, "-c", "import duckdb, polars, pyarrow").Run(); err != nil {
		testkit.Missing(tb, "DuckDB, Polars or pyarrow", "./dev soak readers does it")
	}
	return Readers{script}
}

// Expect has each read a file, and compares each cell. The name of the file has its extension.
func (r Readers) Expect(
	tb testing.TB, extension string, data []byte, types []string, columns []source.Column, batches []*source.Batch,
) {
	tb.Helper()
	dir := tb.TempDir()
	file, lines := filepath.Join(dir, "file"+extension), filepath.Join(dir, "lines")
	for name, content := range map[string][]byte{file: data, lines: canonicalLines(tb, columns, batches)} {
		if err := os.WriteFile(name, content, 0o600); err != nil {
			tb.Fatal(err)
		}
	}
	out, err := testkit.Python(tb, r.script, file, lines, strings.Join(types, " ")).CombinedOutput()
	if err != nil {
		tb.Fatalf("%v: %s", err, out)
	}
	tb.Logf("%s", out)
}

// canonicalLines returns the canonical text of each cell, a row as a line of JSON. That of texts is the text.
func canonicalLines(tb testing.TB, columns []source.Column, batches []*source.Batch) (lines []byte) {
	tb.Helper()
	var values canonical.Values
	stored, err := typed.Columns(columns)
	if err != nil {
		tb.Fatal(err)
	}
	for _, b := range batches {
		for row := range b.Rows() {
			texts := make([]*string, len(columns))
			for i, c := range columns {
				kind, value := b.AnyValue(row, i)
				if kind == source.Null {
					continue
				}
				text := string(value)
				if stored[i].Element != nil {
					texts[i] = &text // the script compares the elements
					continue
				}
				switch stored[i].Logical.Class {
				case source.StringClass, source.JSONClass:
				case source.BytesClass:
					text = `\x` + hex.EncodeToString(value)
				default:
					text = string(values.Text(c.Logical, value))
				}
				texts[i] = &text
			}
			line, err := json.Marshal(texts)
			if err != nil {
				tb.Fatal(err)
			}
			lines = append(append(lines, line...), '\n')
		}
	}
	return lines
}
