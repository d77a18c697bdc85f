package fusefs

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"culvert/internal/testkit"
)

// TestRestoreLeavesWhatWasThere fails a mount on a directory that is the place of another file system.
func TestRestoreLeavesWhatWasThere(t *testing.T) {
	dir := t.TempDir()
	if err := syscall.Mount("none", dir, "tmpfs", 0, "size=64k"); err != nil {
		testkit.Missing(t, "the right to mount", "run as root")
	}
	defer func() {
		if err := syscall.Unmount(dir, 0); err != nil {
			t.Error(err)
		}
	}()
	name := filepath.Join(dir, "here")
	if err := os.WriteFile(name, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	before, err := findMount(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, found := range []mountPoint{before, {}} {
		if err := found.restore(dir); err != nil {
			t.Error(err)
		}
		if _, err := os.Stat(name); err != nil {
			t.Fatal(err)
		}
	}
}
