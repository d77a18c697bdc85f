package culvert_test

import (
	"bytes"
	"io/fs"
	"os"
	"strings"
	"testing"
)

// TestFiles holds files to the house rule: one idea, in about 400 lines. Tests may have more, since they list cases.
func TestFiles(t *testing.T) {
	const most, mostOfTests = 450, 700
	err := fs.WalkDir(os.DirFS("."), ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() {
			return skipped(name, entry.Name())
		}
		if !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, ".pb.go") {
			return nil
		}
		text, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		limit := most
		if strings.HasSuffix(name, "_test.go") {
			limit = mostOfTests
		}
		if lines := bytes.Count(text, []byte("\n")); lines > limit {
			t.Errorf("%s has %d lines: split it where an idea ends", name, lines)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}
