package arrow_test

import (
	"encoding/hex"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"culvert/format/arrow"
	"culvert/internal/canonical"
	"culvert/internal/testkit"
	"culvert/source"
)

// TestReaders has the programs that users have read files and streams of all types, and compares each cell. ./dev soak
// installs them. The script is that of Parquet.
func TestReaders(t *testing.T) {
	if !testkit.Soak() {
		return
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		t.Fatal(err)
	}
	python := func(args ...string) *exec.Cmd {
		cmd := exec.CommandContext(t.Context(), "python3", args...)
		cmd.Env = append(os.Environ(), "PYTHONPATH="+filepath.Join(cache, "culvert", "readers")+
			string(filepath.ListSeparator)+os.Getenv("PYTHONPATH"))
		return cmd
	}
	if err := python("-c", "import duckdb, polars, pyarrow").Run(); err != nil {
		testkit.Missing(t, "DuckDB, Polars or pyarrow", "./dev soak readers does it")
	}
	columns := columnsOf(t, allTypes...)
	batches := batchesOf(columns)
	lines := filepath.Join(t.TempDir(), "lines")
	writeFile(t, lines, canonicalLines(t, columns, batches))
	for _, f := range formats {
		for _, f := range []arrow.Format{f, arrow.InPieces(f, 1)} {
			file := filepath.Join(t.TempDir(), "file"+f.Extension())
			writeFile(t, file, write(t, f, columns, 1000, batches...))
			args := []string{"../parquet/testdata/read.py", file, lines, strings.Join(allTypes, " ")}
			out, err := python(args...).CombinedOutput()
			if err != nil {
				t.Fatalf("%+v: %v: %s", f, err, out)
			}
			t.Logf("%s", out)
		}
	}
}

func writeFile(tb testing.TB, name string, data []byte) {
	tb.Helper()
	if err := os.WriteFile(name, data, 0o600); err != nil {
		tb.Fatal(err)
	}
}

// canonicalLines returns the canonical text of each cell, a row as a line of JSON. That of texts is the text.
func canonicalLines(tb testing.TB, columns []source.Column, batches []*source.Batch) (lines []byte) {
	tb.Helper()
	var values canonical.Values
	for _, b := range batches {
		for row := range b.Rows() {
			texts := make([]*string, len(columns))
			for i, c := range columns {
				kind, value := b.AnyValue(row, i)
				if kind == source.Null {
					continue
				}
				text := string(value)
				switch kind {
				case source.Bytes:
					text = `\x` + hex.EncodeToString(value)
				case source.JSON:
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
