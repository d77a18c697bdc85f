package parquet

import (
	"encoding/hex"
	"encoding/json"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"culvert/format/internal/typed"
	"culvert/internal/canonical"
	"culvert/internal/testkit"
	"culvert/source"
)

// TestReaders has the programs that users have read random files, and compares each cell.
func TestReaders(t *testing.T) {
	if !testkit.Soak() {
		return
	}
	python := func(args ...string) *exec.Cmd {
		cmd := exec.CommandContext(t.Context(), "python3", args...)
		cmd.Env = append(os.Environ(), "PYTHONPATH="+testkit.Readers())
		return cmd
	}
	if err := python("-c", "import duckdb, polars, pyarrow").Run(); err != nil {
		testkit.Missing(t, "DuckDB, Polars or pyarrow", "./dev soak readers does it")
	}
	columns := columnsOf(t, append(allTypes, allTypes...)...)
	kinds := strings.Join(append(allTypes, allTypes...), " ")
	for seed := range uint64(10) {
		r := rand.New(rand.NewPCG(seed, 1))
		f := Format{limits{groupText: 1 << (12 + r.IntN(14)), dictionary: 1 << (8 + r.IntN(12))}}
		if r.IntN(3) == 0 {
			f.limits.whole = 1
		}
		batches := randomBatches(r, columns)
		dir := t.TempDir()
		file, lines := filepath.Join(dir, "file.parquet"), filepath.Join(dir, "lines")
		writeFile(t, file, write(t, f, columns, batches...))
		writeFile(t, lines, canonicalLines(t, columns, batches))
		out, err := python("testdata/read.py", file, lines, kinds).CombinedOutput()
		if err != nil {
			t.Fatalf("seed %d: %v: %s", seed, err, out)
		}
		t.Logf("%s", out)
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
