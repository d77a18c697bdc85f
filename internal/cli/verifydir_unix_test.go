//go:build unix

package cli

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// TestVerifiedFileBecomesPipe puts a pipe, to which nobody writes, in the place of a file that was found.
func TestVerifiedFileBecomesPipe(t *testing.T) {
	path := filepath.Join(t.TempDir(), "orders.csv")
	dir, name := filepath.Split(path)
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := root.Close(); err != nil {
			t.Error(err)
		}
	}()
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	found, err := root.Lstat(name)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(path, path+".old"); err != nil { // its place is not used again
		t.Fatal(err)
	}
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	d := &directory{path: dir, root: root}
	if _, err := d.open(name, found); !errors.Is(err, errDamaged) {
		t.Errorf("the error is %v", err)
	}
}
