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
	r, recovery, err := OpenReaderInRoot(root, "log", nil)
	if err != nil || recovery.Last != 3 {
		t.Fatalf("%+v, %v", recovery, err)
	}
	if entries, err := contents(r.Records(background, 0)); err != nil || len(entries) != 3 {
		t.Errorf("%d entries, %v", len(entries), err)
	}
	if err := os.Rename(filepath.Join(dir, "log"), filepath.Join(outside, "log")); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"away/log", "../" + filepath.Base(outside) + "/log"} {
		if _, _, err := OpenReaderInRoot(root, name, nil); err == nil {
			t.Errorf("a log was read outside, in %s", name)
		}
	}
}
