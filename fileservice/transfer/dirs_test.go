package transfer_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"time"

	"culvert/fileservice"
	"culvert/fileservice/internal/filetest"
	"culvert/fileservice/transfer"
)

// setDirTimes gives each directory below one a time of its own.
func setDirTimes(t *testing.T, dir string) (names []string) {
	t.Helper()
	modified := time.Unix(1_300_000_000, 123_456_789)
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.IsDir() {
			return err
		}
		name, err := filepath.Rel(dir, path)
		if err == nil {
			names = append(names, name)
			modified = modified.Add(time.Hour)
			err = os.Chtimes(path, time.Time{}, modified)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return names
}

func seeDirTimes(t *testing.T, from, to string, names []string) {
	t.Helper()
	for _, name := range names {
		want, err := os.Stat(filepath.Join(from, name))
		if err != nil {
			t.Fatal(err)
		}
		got, err := os.Stat(filepath.Join(to, name))
		if err != nil || !got.ModTime().Equal(want.ModTime()) {
			t.Errorf("%s: %v, %v, and not %v", name, got, err, want.ModTime())
		}
	}
}

// TestDirectoryTimes sees that directories have the times of the source when all that is in them is there.
func TestDirectoryTimes(t *testing.T) {
	for role, move := range filetest.Transfers() {
		files := manyFiles()
		files["nested/a/b/c/d/large"] = 3 * fileservice.BlockSize
		from, _ := filetest.Tree(t, files)
		if err := os.MkdirAll(filepath.Join(from, "hollow", "in", "side"), 0o755); err != nil {
			t.Fatal(err)
		}
		names := setDirTimes(t, from)
		to := t.TempDir()
		served, here := from, to
		config := transfer.Config{Remote: ".", Local: "copy"}
		if role == "push" {
			served, here = to, from
			config = transfer.Config{Remote: "copy", Local: "."}
		}
		config.Root = filetest.OpenRoot(t, here)
		client := filetest.Serve(t, served, filetest.Writable)
		if _, err := move(t.Context(), client, config); err != nil {
			t.Fatal(role, err)
		}
		copied := filepath.Join(to, "copy")
		seeDirTimes(t, from, copied, names)
		// What comes later changes a directory again.
		if err := os.Remove(filepath.Join(copied, "many", "1", "file 1")); err != nil {
			t.Fatal(err)
		}
		if err := os.RemoveAll(filepath.Join(copied, "nested")); err != nil {
			t.Fatal(err)
		}
		config.DryRun = true
		if _, err := move(t.Context(), client, config); err != nil {
			t.Error(role, err)
		}
		info, err := os.Stat(filepath.Join(copied, "many", "1"))
		if err != nil || info.ModTime().Before(time.Unix(1.6e9, 0)) {
			t.Errorf("%s: a dry run has set a time: %v, %v", role, info, err)
		}
		config.DryRun = false
		if _, err := move(t.Context(), client, config); err != nil {
			t.Error(role, err)
		}
		seeDirTimes(t, from, copied, names)
	}
}

// TestDirectoryTimesOfSome takes only some files: there are no directories for the others.
func TestDirectoryTimesOfSome(t *testing.T) {
	for role, run := range filetest.Transfers() {
		from, _ := filetest.Tree(t, map[string]int{"a/one.txt": 1, "b/two.log": 2})
		setDirTimes(t, from)
		to := t.TempDir()
		before, err := os.Stat(to)
		if err != nil {
			t.Fatal(err)
		}
		served, here := from, to
		if role == "push" {
			served, here = to, from
		}
		config := transfer.Config{
			Remote: ".", Root: filetest.OpenRoot(t, here), Local: ".", Include: []string{"*.txt"},
		}
		if _, err := run(t.Context(), filetest.Serve(t, served, filetest.Writable), config); err != nil {
			t.Fatal(role, err)
		}
		seeDirTimes(t, from, to, []string{"a"})
		entries, err := os.ReadDir(to)
		if err != nil || len(entries) != 1 || entries[0].Name() != "a" {
			t.Errorf("%s: %v, %v", role, entries, err)
		}
		// The root is not part of what was transferred.
		if after, err := os.Stat(to); err != nil || after.ModTime().Before(before.ModTime()) {
			t.Errorf("%s: %v, %v", role, after, err)
		}
	}
}
