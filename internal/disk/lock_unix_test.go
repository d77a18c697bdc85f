//go:build unix

package disk

import (
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

// TestUnlock has copies of open files, as a process that is being started has them for a moment.
func TestUnlock(t *testing.T) {
	dir := t.TempDir()
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	for range 2 {
		taken, err := OS{}.Lock(filepath.Join(dir, "lock"))
		if err != nil {
			t.Fatal(err)
		}
		file, err := InRoot{root}.OpenLocked("file")
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range []*os.File{taken.(lock).File, file.(lockedFile).File} {
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
