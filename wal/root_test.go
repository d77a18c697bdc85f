package wal

import (
	"context"
	"os"
	"path/filepath"
	"testing"
)

func TestOpenInRoot(t *testing.T) {
	outside, dir := t.TempDir(), t.TempDir()
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	if err := os.Symlink(outside, filepath.Join(dir, "away")); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"away", "away/log", "../log"} {
		if l, _, err := OpenInRoot(root, name, Options{}); err == nil {
			t.Error("a log was made outside", l.Close())
		}
	}
	if entries, err := os.ReadDir(outside); err != nil || len(entries) != 0 {
		t.Errorf("%v, %v", entries, err)
	}
	for want := range LSN(3) {
		l, recovery, err := OpenInRoot(root, "log", Options{SegmentSize: minSegmentSize})
		if err != nil {
			t.Fatal(err)
		}
		if recovery.Last != want {
			t.Errorf("the log has %d entries, and not %d", recovery.Last, want)
		}
		if _, err := l.Append(context.Background(), []byte("entry")); err != nil {
			t.Error(err)
		}
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	}
	if _, _, err := OpenReader(filepath.Join(dir, "log"), nil); err != nil {
		t.Error(err)
	}
}
