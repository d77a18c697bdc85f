package fusefs_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// TestWrittenInPlace writes to files that are there, through descriptors that stay open. Others see it, at the latest
// when it is synced; the file stays the same one, with its names.
func TestWrittenInPlace(t *testing.T) {
	w := newWritable(t, mountConfig{})
	w.put("file", "0123456789")
	w.must(os.Link(filepath.Join(w.root, "file"), filepath.Join(w.root, "other name")))
	file := w.open("file", os.O_RDWR)
	_, err := file.WriteAt([]byte("abc"), 2)
	w.must(err)
	w.must(file.Sync())
	w.wantThere("other name", "01abc56789")
	w.must(file.Truncate(6))
	w.must(file.Sync())
	w.wantThere("other name", "01abc5")
	modified := time.Date(2001, 2, 3, 4, 5, 6, 789, time.UTC)
	_, err = file.WriteAt([]byte("X"), 0)
	w.must(err)
	w.must(os.Chtimes(w.path("file"), modified, modified))
	w.must(file.Sync())
	info, err := os.Stat(filepath.Join(w.root, "other name"))
	w.must(err)
	if !info.ModTime().Equal(modified) {
		t.Errorf("it was changed at %v", info.ModTime())
	}
	_, err = file.WriteAt([]byte("Y"), 1)
	w.must(err)
	w.eventually("what nobody syncs is seen", func() bool {
		content, err := os.ReadFile(filepath.Join(w.root, "other name"))
		return err == nil && string(content) == "XYabc5"
	})
	fresh := w.create("fresh", "one")
	w.must(fresh.Sync())
	w.wantThere("fresh", "one")
	w.write(fresh, " two")
	w.must(fresh.Sync())
	w.wantThere("fresh", "one two")
	w.must(os.Truncate(w.path("fresh"), 0))
	w.must(fresh.Sync())
	w.wantThere("fresh", "")
}

// TestReplacedAsAWhole truncates files when they are opened. Others see the old content until the new one is synced or
// closed.
func TestReplacedAsAWhole(t *testing.T) {
	w := newWritable(t, mountConfig{})
	for name, end := range map[string]func(*os.File) error{"synced": (*os.File).Sync, "closed": (*os.File).Close} {
		w.put(name, "old content")
		other := w.open(name, os.O_RDWR)
		file := w.create(name, "new")
		w.wantHere(name, "new")
		w.wantThere(name, "old content")
		w.must(end(file))
		w.wantThere(name, "new")
		w.write(other, "NEW")
		w.must(other.Sync())
		w.wantThere(name, "NEW")
	}
}

// TestRedirected has a shell open files for a program, and close them before that has written anything.
func TestRedirected(t *testing.T) {
	w := newWritable(t, mountConfig{})
	w.put("old", "old content")
	for _, name := range []string{"old", "new"} {
		file := w.create(name, "")
		copied, err := unix.Dup(int(file.Fd()))
		w.must(err)
		w.must(unix.Close(copied))
		w.wantThere(name, "")
		w.write(file, "written")
		other := w.open(name, os.O_RDONLY)
		w.must(other.Close())
		w.wantThere(name, "")
		w.must(file.Close())
		w.wantThere(name, "written")
	}
}

// TestRemovedAfterSync removes a synced file, and goes on writing and reading it.
func TestRemovedAfterSync(t *testing.T) {
	w := newWritable(t, mountConfig{})
	w.put("old", "old")
	for _, file := range []*os.File{w.open("old", os.O_RDWR), w.open("new", os.O_RDWR|os.O_CREATE)} {
		_, err := file.WriteAt([]byte("one"), 0)
		w.must(err)
		w.must(file.Sync())
		w.must(os.Remove(file.Name()))
		_, err = file.WriteAt([]byte(" two"), 3)
		w.must(err)
		w.must(file.Sync())
		content := make([]byte, 20)
		if n, err := file.ReadAt(content, 0); string(content[:n]) != "one two" {
			t.Errorf("what was removed reads as %q, %v", content[:n], err)
		}
		w.must(file.Close())
	}
	w.wantNamesThere()
}

// TestReadsBesideWrites reads without the kernel's pages, through an older descriptor, while another one writes in
// place in several calls.
func TestReadsBesideWrites(t *testing.T) {
	w := newWritable(t, mountConfig{})
	content := bytes.Repeat([]byte("0123456789abcdef"), 1<<14)
	w.put("file", string(content))
	reader, writer := w.open("file", os.O_RDONLY|unix.O_DIRECT), w.open("file", os.O_RDWR)
	stop, stopped := make(chan struct{}), make(chan error, 1)
	go func() {
		got := make([]byte, len(content))
		for {
			select {
			case <-stop:
				stopped <- nil
				return
			default:
			}
			if n, err := reader.ReadAt(got, 0); err != nil {
				stopped <- fmt.Errorf("%d bytes, %w", n, err)
				return
			}
		}
	}()
	for i := range 200 {
		part := bytes.Repeat([]byte{byte('A' + i%26)}, 4096)
		offset := int64(i % 64 * 4096)
		_, err := writer.WriteAt(part, offset)
		w.must(err)
		if i%3 != 0 {
			w.must(writer.Sync())
		}
		copy(content[offset:], part)
		got := make([]byte, 4096)
		if n, err := reader.ReadAt(got, offset); err != nil || !bytes.Equal(got, part) {
			t.Fatalf("write %d: reads %.20q, %d, %v", i, got, n, err)
		}
	}
	close(stop)
	w.must(<-stopped)
	w.must(writer.Close())
	w.wantThere("file", string(content))
}
