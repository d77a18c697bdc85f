//go:build unix

package publish

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

// TestUnlock has copies of open files, as a process that is being started has them for a moment.
func TestUnlock(t *testing.T) {
	root := openRoot(t, t.TempDir())
	for range 2 {
		taken, err := NewLock(root, "lock")
		if err != nil {
			t.Fatal(err)
		}
		file, err := OpenLocked(root, "file")
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range []*os.File{taken.file, file.(lockedFile).File} {
			inherited, err := unix.Dup(int(f.Fd()))
			if err != nil {
				t.Fatal(err)
			}
			defer unix.Close(inherited)
		}
		if err := taken.Close(); err != nil {
			t.Error(err)
		}
		if err := file.Close(); err != nil {
			t.Error(err)
		}
	}
}

// TestHeld takes the name of a lock away in every way, also while the directory is elsewhere.
func TestHeld(t *testing.T) {
	for what, take := range map[string]func(dir string) error{
		"removed":  func(dir string) error { return os.Remove(filepath.Join(dir, "lock")) },
		"replaced": func(dir string) error { return replace(filepath.Join(dir, "lock")) },
		"renamed": func(dir string) error {
			return os.Rename(filepath.Join(dir, "lock"), filepath.Join(dir, "other"))
		},
		"linked": func(dir string) error {
			return errors.Join(os.Link(filepath.Join(dir, "lock"), filepath.Join(dir, "other")),
				os.Remove(filepath.Join(dir, "lock")))
		},
	} {
		t.Run(what, func(t *testing.T) {
			parent := t.TempDir()
			before, after := filepath.Join(parent, "before"), filepath.Join(parent, "after")
			if err := os.Mkdir(before, 0o700); err != nil {
				t.Fatal(err)
			}
			held, err := NewLock(openRoot(t, before), "lock")
			if err != nil {
				t.Fatal(err)
			}
			defer held.Close()
			err = errors.Join(os.Rename(before, after), os.Mkdir(before, 0o700), held.Held())
			if err != nil {
				t.Fatalf("the directory was renamed: %v", err)
			}
			awaitTick(t, filepath.Join(after, "lock"))
			if err := take(after); err != nil {
				t.Fatal(err)
			}
			if err := held.Held(); !errors.Is(err, errNotHeld) {
				t.Errorf("error is %v", err)
			}
		})
	}
}

func replace(name string) error {
	return errors.Join(os.WriteFile(name+".new", nil, 0o600), os.Rename(name+".new", name))
}

// awaitTick changes other files until they get another time than this one has, whose next change will be seen so.
func awaitTick(t *testing.T, name string) {
	t.Helper()
	var info unix.Stat_t
	if err := unix.Stat(name, &info); err != nil {
		t.Fatal(err)
	}
	for begin := info.Ctim; info.Ctim == begin; {
		if err := errors.Join(os.WriteFile(name+".tick", nil, 0o600), unix.Stat(name+".tick", &info)); err != nil {
			t.Fatal(err)
		}
		if err := os.Remove(name + ".tick"); err != nil {
			t.Fatal(err)
		}
	}
}

// TestHeldAllocations holds the check after each sync to none.
func TestHeldAllocations(t *testing.T) {
	held, err := NewLock(openRoot(t, t.TempDir()), "lock")
	if err != nil {
		t.Fatal(err)
	}
	defer held.Close()
	if n := testing.AllocsPerRun(100, func() { err = errors.Join(err, held.Held()) }); n > 0 || err != nil {
		t.Errorf("%v allocations, %v", n, err)
	}
}

// TestLockDirectory has a directory locked by one at a time.
func TestLockDirectory(t *testing.T) {
	dir := t.TempDir()
	for range 2 {
		release, err := LockDirectory(dir)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := LockDirectory(dir); !errors.Is(err, ErrLocked) {
			t.Errorf("a locked directory: %v", err)
		}
		if err := release(); err != nil {
			t.Error(err)
		}
	}
	if _, err := LockDirectory(filepath.Join(dir, "none")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("no directory: %v", err)
	}
}
