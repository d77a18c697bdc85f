//go:build unix

package dir_test

import (
	"path/filepath"
	"syscall"
	"testing"
)

// TestPipe opens a pipe that nobody writes to.
func TestPipe(t *testing.T) {
	path := t.TempDir()
	if err := syscall.Mkfifo(filepath.Join(path, "pipe"), 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := open(t, path).Open("pipe")
	if err != nil {
		t.Fatal(err)
	}
	if info, err := f.Stat(); err != nil || info.Mode().IsRegular() {
		t.Errorf("%v, %v", info, err)
	}
	if err := f.Close(); err != nil {
		t.Error(err)
	}
}
