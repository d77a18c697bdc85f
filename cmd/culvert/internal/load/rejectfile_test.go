package load

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"culvert/place/dir"
)

// TestSweep removes what killed processes have left of the files of parts, and nothing else.
func TestSweep(t *testing.T) {
	at := t.TempDir()
	to, err := dir.Open(at)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := to.Close(); err != nil {
			t.Error(err)
		}
	}()
	r := &rejecting{
		flags: &rejectFlags{plain: true}, to: to, replaces: true, left: map[string]map[string][]string{},
		name: func(part, _ string) string { return part + "-1.csv" },
	}
	if err := os.Mkdir(filepath.Join(at, "t"), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{
		"t/1-1.csv.abcdefgh.part", "t/1-1.csv.23456777.part", "t/2-1.csv.abcdefgh.part", "t/3-1.csv.abcdefgh.part",
		"t/1-1.csv.Abcdefgh.part", "t/1-1.csv.abcdefg.part", "t/1-2.csv.abcdefgh.part", "t/2-1.csv",
	} {
		if err := os.WriteFile(filepath.Join(at, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	file, err := r.create(t.Context(), "t/1", "")
	if err != nil {
		t.Fatal(err)
	}
	for _, err := range []error{file.Commit(), r.remove(t.Context(), "t/2", ""), r.remove(t.Context(), "other/2", "")} {
		if err != nil {
			t.Error(err)
		}
	}
	var names []string
	entries, err := os.ReadDir(filepath.Join(at, "t"))
	for _, entry := range entries {
		names = append(names, entry.Name())
	}
	want := []string{
		"1-1.csv", "1-1.csv.Abcdefgh.part", "1-1.csv.abcdefg.part", "1-2.csv.abcdefgh.part", "3-1.csv.abcdefgh.part",
	}
	if err != nil || !slices.Equal(names, want) {
		t.Errorf("there are %q, %v", names, err)
	}
}
