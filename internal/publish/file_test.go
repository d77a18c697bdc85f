package publish

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
)

func TestOpenLocked(t *testing.T) {
	dir := t.TempDir()
	root := openRoot(t, dir)
	first, err := OpenLocked(root, "file")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := OpenLocked(root, "file"); !errors.Is(err, ErrLocked) {
		t.Errorf("locked twice: %v", err)
	}
	// The lock is that of a file, not of its name.
	if err := Rename(root, "file", "other"); err != nil {
		t.Fatal(err)
	}
	second, err := OpenLocked(root, "file")
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(first.Close(), second.Close()); err != nil {
		t.Error(err)
	}
	if err := os.Symlink("other", filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	if _, err := OpenLocked(root, "link"); !errors.Is(err, ErrNotFile) {
		t.Errorf("a link was followed: %v", err)
	}
}

// TestOpenLockedOfLink finds a file that has another name, whose content is not its to change.
func TestOpenLockedOfLink(t *testing.T) {
	dir := t.TempDir()
	root := openRoot(t, dir)
	if err := os.WriteFile(filepath.Join(dir, "precious"), []byte("precious"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Link(filepath.Join(dir, "precious"), filepath.Join(dir, "file")); err != nil {
		t.Fatal(err)
	}
	file, err := OpenLocked(root, "file")
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(file.Truncate(0), file.Close()); err != nil {
		t.Error(err)
	}
	if got, err := os.ReadFile(filepath.Join(dir, "precious")); err != nil || string(got) != "precious" {
		t.Errorf("%q, %v", got, err)
	}
}

func TestSyncAllocates(t *testing.T) {
	file, err := OpenLocked(openRoot(t, t.TempDir()), "file")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	if n := testing.AllocsPerRun(100, func() { err = errors.Join(err, file.Sync()) }); n > 0 || err != nil {
		t.Errorf("%v allocations, %v", n, err)
	}
}
