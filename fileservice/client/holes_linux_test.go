package client_test

import (
	"bytes"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"culvert/fileservice/internal/filetest"
)

// TestHolesStayHoles changes a file that is far larger than what it takes of the disk, as images of disks are.
func TestHolesStayHoles(t *testing.T) {
	const size = 4 << 30
	dir := t.TempDir()
	path := filepath.Join(dir, "file")
	made, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	middle := bytes.Repeat([]byte("middle"), 100_000)
	parts := map[int64][]byte{0: []byte("begin"), 1 << 30: middle, 3<<30 + 5: []byte("x")}
	for offset, part := range parts {
		if _, err := made.WriteAt(part, offset); err != nil {
			t.Fatal(err)
		}
	}
	if err := made.Truncate(size); err != nil {
		t.Fatal(err)
	}
	if err := made.Close(); err != nil {
		t.Fatal(err)
	}
	if taken(t, path) > 64<<20 {
		t.Skip("this file system has no holes")
	}
	file := filetest.OpenDraft(t, filetest.Serve(t, dir, filetest.Writable), "file", os.O_RDWR)
	parts[2<<30] = []byte("new")
	if _, err := file.WriteAt(parts[2<<30], 2<<30); err != nil {
		t.Fatal(err)
	}
	if err := filetest.Publish(file, "file"); err != nil {
		t.Fatal(err)
	}
	if n := taken(t, path); n > 64<<20 {
		t.Errorf("the file takes %d bytes of the disk", n)
	}
	changed, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer changed.Close()
	for offset, part := range parts {
		got := make([]byte, len(part)+1)
		if _, err := changed.ReadAt(got, offset); err != nil || !bytes.Equal(got, append(part, 0)) {
			t.Errorf("at %d the file has %.20q, %v; want %.20q", offset, got, err, part)
		}
	}
	if info, err := changed.Stat(); err != nil || info.Size() != size {
		t.Errorf("the file has %v bytes, %v", info.Size(), err)
	}
}

// taken is how much of the disk a file takes, in bytes.
func taken(t *testing.T, path string) int64 {
	t.Helper()
	var stat syscall.Stat_t
	if err := syscall.Stat(path, &stat); err != nil {
		t.Fatal(err)
	}
	return stat.Blocks * 512
}
