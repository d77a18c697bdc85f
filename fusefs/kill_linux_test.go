package fusefs_test

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
)

// TestKilledMount kills the process that mounts while a file is being written: the source never has a part of it, and
// the next mount begins clean.
func TestKilledMount(t *testing.T) {
	root := newRoot(t)
	before := bytes.Repeat([]byte("before"), 100_000)
	if err := os.WriteFile(filepath.Join(root, "file"), before, 0o644); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	killed := startMount(t, root, dir, mountConfig{ReadWrite: true})
	files := make([]*os.File, 2)
	for i, name := range []string{"file", "new"} {
		file, err := os.Create(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		defer file.Close()
		if _, err := file.Write(bytes.Repeat([]byte("after"), 1<<20)); err != nil {
			t.Fatal(err)
		}
		files[i] = file
	}
	killed.kill(t)
	for _, file := range files {
		if err := file.Sync(); err == nil {
			t.Error("a sync of what is lost succeeds")
		}
		if err := file.Close(); err == nil {
			t.Error("a close of what is lost succeeds")
		}
	}
	next := startMount(t, root, dir, mountConfig{ReadWrite: true})
	got, err := os.ReadFile(filepath.Join(next.dir, "file"))
	if err != nil || !bytes.Equal(got, before) {
		t.Errorf("the file has %d bytes, %v; want the %d from before", len(got), err, len(before))
	}
	if _, err := os.Stat(filepath.Join(next.dir, "new")); !os.IsNotExist(err) {
		t.Errorf("a file that was never closed is there: %v", err)
	}
	if err := os.WriteFile(filepath.Join(next.dir, "new"), before, 0o644); err != nil {
		t.Error(err)
	}
}
