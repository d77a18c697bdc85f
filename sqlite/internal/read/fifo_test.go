//go:build unix

package read_test

import (
	"errors"
	"path/filepath"
	"syscall"
	"testing"

	"culvert/source"
	"culvert/sqlite/internal/read"
)

// TestOpenFIFO must not wait for a writer.
func TestOpenFIFO(t *testing.T) {
	path := filepath.Join(t.TempDir(), "fifo.db")
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	db, err := read.Open(path)
	if err == nil {
		closing(t, db)
	}
	if !errors.Is(err, source.ErrUnavailable) {
		t.Errorf("Open of a FIFO: %v, want source.ErrUnavailable", err)
	}
}
