package disk_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"culvert/internal/disk"
)

func inRoot(t *testing.T, dir string) disk.InRoot {
	t.Helper()
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := root.Close(); err != nil {
			t.Error(err)
		}
	})
	return disk.InRoot{Root: root}
}

func TestInRoot(t *testing.T) {
	outside := t.TempDir()
	dir := t.TempDir()
	fsys := inRoot(t, dir)
	if err := os.Symlink(outside, filepath.Join(dir, "away")); err != nil {
		t.Fatal(err)
	}
	if f, err := fsys.Create("away/file"); err == nil {
		t.Error("a file was made outside", f.Close())
	}
	if f, err := fsys.OpenLocked("away/file"); err == nil {
		t.Error("a file was made outside", f.Close())
	}
	if fsys.Mkdir("away/dir") == nil {
		t.Error("a directory was made outside")
	}
	if entries, err := os.ReadDir(outside); err != nil || len(entries) != 0 {
		t.Errorf("%v, %v", entries, err)
	}
	for _, name := range []string{"one", "two"} {
		f, err := fsys.Create(name)
		if err != nil {
			t.Fatal(err)
		}
		_, err = f.WriteAt([]byte(name), 0)
		if err := errors.Join(err, f.Sync(), f.Close()); err != nil {
			t.Fatal(err)
		}
	}
	if err := fsys.Rename("one", "two"); !errors.Is(err, os.ErrExist) {
		t.Errorf("a file was replaced: %v", err)
	}
	if err := errors.Join(fsys.Rename("one", "three"), fsys.SyncDir("."), fsys.Mkdir("sub")); err != nil {
		t.Error(err)
	}
	if got, err := os.ReadFile(filepath.Join(dir, "three")); err != nil || string(got) != "one" {
		t.Errorf("%q, %v", got, err)
	}
	if _, err := fsys.Open("sub", false); !errors.Is(err, disk.ErrNotFile) {
		t.Errorf("a directory was opened: %v", err)
	}
}

func TestOpenLocked(t *testing.T) {
	dir := t.TempDir()
	fsys := inRoot(t, dir)
	first, err := fsys.OpenLocked("file")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := fsys.OpenLocked("file"); !errors.Is(err, disk.ErrLocked) {
		t.Errorf("locked twice: %v", err)
	}
	// The lock is that of a file, not of its name.
	if err := fsys.Rename("file", "other"); err != nil {
		t.Fatal(err)
	}
	second, err := fsys.OpenLocked("file")
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(first.Close(), second.Close()); err != nil {
		t.Error(err)
	}
	if err := os.Symlink("other", filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	if _, err := fsys.OpenLocked("link"); !errors.Is(err, disk.ErrNotFile) {
		t.Errorf("a link was followed: %v", err)
	}
}

// TestOpenLockedOfLink finds a file that has another name, whose content is not its to change.
func TestOpenLockedOfLink(t *testing.T) {
	dir := t.TempDir()
	fsys := inRoot(t, dir)
	if err := os.WriteFile(filepath.Join(dir, "precious"), []byte("precious"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Link(filepath.Join(dir, "precious"), filepath.Join(dir, "file")); err != nil {
		t.Fatal(err)
	}
	file, err := fsys.OpenLocked("file")
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
