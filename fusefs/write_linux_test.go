package fusefs_test

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

func TestUnfinishedIsSeenHereOnly(t *testing.T) {
	w := newWritable(t, mountConfig{})
	w.put("old", "old content")
	fresh := w.create("fresh", "fresh content")
	old := w.create("old", "new")
	w.wantNamesHere("fresh", "old")
	w.wantNamesThere("old")
	w.wantHere("fresh", "fresh content")
	w.wantHere("old", "new")
	w.wantThere("old", "old content")
	info, err := os.Stat(w.path("fresh"))
	w.must(err)
	if info.Size() != int64(len("fresh content")) || info.Mode() != 0o644 {
		t.Errorf("it is described as %v %v", info.Size(), info.Mode())
	}
	if _, err := os.OpenFile(w.path("fresh"), os.O_CREATE|os.O_EXCL, 0o644); !errors.Is(err, fs.ErrExist) {
		t.Errorf("to make it again gives %v", err)
	}
	w.must(fresh.Close())
	w.must(old.Close())
	w.wantThere("fresh", "fresh content")
	w.wantThere("old", "new")
	w.wantNamesHere("fresh", "old")
	w.wantNamesThere("fresh", "old")
}

func TestDescriptorsShareAFile(t *testing.T) {
	w := newWritable(t, mountConfig{})
	w.put("file", "0123456789")
	before := w.open("file", os.O_RDONLY)
	first, second := w.open("file", os.O_RDWR), w.open("file", os.O_WRONLY|os.O_APPEND)
	_, err := first.WriteAt([]byte("abc"), 2)
	w.must(err)
	w.write(second, "end")
	w.wantHere("file", "01abc56789end")
	content := make([]byte, 13)
	if _, err := before.ReadAt(content, 0); err != nil || string(content) != "01abc56789end" {
		t.Errorf("a descriptor from before reads %q, %v", content, err)
	}
	w.must(second.Close())
	w.wantThere("file", "01abc56789end")
	_, err = first.WriteAt([]byte("X"), 0)
	w.must(err)
	w.must(first.Truncate(4))
	w.wantHere("file", "X1ab")
	w.must(first.Close())
	w.wantThere("file", "X1ab")
	if n, err := before.ReadAt(content, 0); n != 4 || string(content[:n]) != "X1ab" {
		t.Errorf("a descriptor from before reads %q, %v", content[:n], err)
	}
}

// TestDescriptorsOfOtherProcesses has a shell and its children write through one descriptor, which each of them closes.
func TestDescriptorsOfOtherProcesses(t *testing.T) {
	w := newWritable(t, mountConfig{})
	shell := exec.Command("sh", "-c", "exec 3>file; echo a >&3; (echo b >&3); sh -c 'echo c >&3'; echo d >&3")
	shell.Dir = w.dir
	w.must(shell.Run())
	w.wantThere("file", "a\nb\nc\nd\n")
}

// TestPageless has a descriptor that creates a file and only writes, for which the kernel keeps no pages, and others
// that were opened beside it and after it.
func TestPageless(t *testing.T) {
	w := newWritable(t, mountConfig{})
	content := make([]byte, 40)
	wantRead := func(file *os.File, want string) {
		t.Helper()
		if n, err := file.ReadAt(content, 0); string(content[:n]) != want {
			t.Fatalf("reads %q, %v, want %q", content[:n], err, want)
		}
	}
	first := w.open("file", os.O_WRONLY|os.O_CREATE)
	w.write(first, "one")
	reader := w.open("file", os.O_RDONLY)
	wantRead(reader, "one")
	second := w.open("file", os.O_WRONLY|os.O_APPEND)
	w.write(second, " two")
	wantRead(reader, "one two")
	both := w.open("file", os.O_RDWR)
	w.write(both, "ONE")
	wantRead(reader, "ONE two")
	memory, err := unix.Mmap(int(both.Fd()), 0, 7, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	w.must(err)
	copy(memory[4:], "2")
	wantRead(reader, "ONE 2wo")
	_, err = first.WriteAt([]byte("8"), 6)
	w.must(err)
	if string(memory) != "ONE 2w8" {
		t.Errorf("mapped it is %q", memory)
	}
	w.must(unix.Munmap(memory))
	w.must(first.Close())
	w.wantThere("file", "ONE 2w8")
	late := w.open("file", os.O_RDONLY)
	wantRead(late, "ONE 2w8")
	w.write(second, " end")
	wantRead(late, "ONE 2w8 end")
	w.must(second.Close())
	w.must(both.Close())
	wantRead(reader, "ONE 2w8 end")
	w.wantThere("file", "ONE 2w8 end")
	w.wantHere("file", "ONE 2w8 end")
	w.must(os.WriteFile(w.path("file"), []byte("again"), 0o644))
	wantRead(reader, "again")
	wantRead(late, "again")
	w.wantThere("file", "again")
}

func TestTruncateByPath(t *testing.T) {
	w := newWritable(t, mountConfig{})
	w.put("file", "0123456789")
	w.must(os.Truncate(w.path("file"), 3))
	w.wantThere("file", "012")
	w.must(os.Truncate(w.path("file"), 5))
	w.wantThere("file", "012\x00\x00")
	w.open("file", os.O_RDONLY|os.O_TRUNC)
	w.wantThere("file", "")
	w.must(w.open("fresh", os.O_RDONLY|os.O_CREATE).Close())
	w.wantThere("fresh", "")
}

// TestTruncateAfterClose empties a file by path after a program has closed it for which the kernel keeps a handle: here
// because of another descriptor, otherwise because it releases handles late.
func TestTruncateAfterClose(t *testing.T) {
	w := newWritable(t, mountConfig{})
	w.put("file", "0123456789")
	writer := w.open("file", os.O_RDWR)
	kept, err := unix.Dup(int(writer.Fd()))
	w.must(err)
	another := os.NewFile(uintptr(kept), "another")
	w.write(writer, "abc")
	w.must(writer.Close())
	w.wantThere("file", "abc3456789")
	w.must(os.Truncate(w.path("file"), 0))
	w.wantThere("file", "")
	w.write(another, "def")
	w.must(another.Close())
	w.wantThere("file", "\x00\x00\x00def")
}

// TestTruncateBesideWriter truncates a file by path that other programs have open and have not written to.
func TestTruncateBesideWriter(t *testing.T) {
	w := newWritable(t, mountConfig{})
	w.put("file", "0123456789")
	writer, reader := w.open("file", os.O_RDWR), w.open("file", os.O_RDONLY)
	content := make([]byte, 10)
	for _, call := range []string{"OpenFile", "Truncate"} {
		setFault(t, w.root, call, unix.EDQUOT)
		w.wantErrno(os.Truncate(w.path("file"), 5), unix.EDQUOT)
		setFault(t, w.root, "", 0)
		if n, err := reader.ReadAt(content, 0); err != nil || string(content[:n]) != "0123456789" {
			t.Errorf("after a fault of %s it reads %q, %v", call, content[:n], err)
		}
	}
	w.must(os.Truncate(w.path("file"), 3))
	w.wantThere("file", "012")
	_, err := writer.WriteAt([]byte("X"), 0)
	w.must(err)
	w.must(os.Truncate(w.path("file"), 2))
	w.must(writer.Close())
	w.wantThere("file", "X1")
	if n, err := reader.ReadAt(content, 0); err != io.EOF || string(content[:n]) != "X1" {
		t.Errorf("in the end it reads %q, %v", content[:n], err)
	}
}

// TestAppendBesideTruncation appends to a file, such as a log, that other programs open with O_TRUNC.
func TestAppendBesideTruncation(t *testing.T) {
	w := newWritable(t, mountConfig{})
	w.put("log", "0123456789")
	appender := w.open("log", os.O_WRONLY|os.O_APPEND)
	stop, stopped := make(chan struct{}), make(chan error, 1)
	go func() {
		for {
			select {
			case <-stop:
				stopped <- nil
				return
			default:
			}
			if _, err := appender.WriteString("line\n"); err != nil {
				stopped <- err
				return
			}
		}
	}()
	for range 30 {
		w.must(w.open("log", os.O_WRONLY|os.O_TRUNC).Close())
		content, err := os.ReadFile(w.path("log"))
		w.must(err)
		if bytes.IndexByte(content, 0) >= 0 {
			t.Fatalf("it has %.100q", content)
		}
	}
	close(stop)
	w.must(<-stopped)
}

// TestReadBeyondDraft reads without the kernel's pages: with them, the kernel asks for nothing beyond the end.
func TestReadBeyondDraft(t *testing.T) {
	w := newWritable(t, mountConfig{})
	file := w.open("file", os.O_RDWR|os.O_CREATE|unix.O_DIRECT)
	w.write(file, "content")
	for range 1000 {
		if n, err := file.ReadAt(make([]byte, 10), 7); n != 0 || err != io.EOF {
			t.Fatalf("it reads %d bytes, %v", n, err)
		}
	}
}

// TestPagesOfAnotherVersion truncates a file to its size after the other side has changed the pages that were read.
func TestPagesOfAnotherVersion(t *testing.T) {
	w := newWritable(t, mountConfig{})
	w.put("file", "0123456789")
	info, err := os.Stat(filepath.Join(w.root, "file"))
	w.must(err)
	w.wantHere("file", "0123456789")
	w.put("file", "abcdefghij")
	w.must(os.Chtimes(filepath.Join(w.root, "file"), info.ModTime(), info.ModTime()))
	w.must(os.Truncate(w.path("file"), 10))
	w.wantThere("file", "abcdefghij")
	w.wantHere("file", "abcdefghij")
}

// waiting is how many calls of the file system have waited for the end of a fault.
func (w *writable) waiting() int {
	w.t.Helper()
	names, err := filepath.Glob(filepath.Join(filepath.Dir(w.root), "waits*"))
	w.must(err)
	return len(names)
}

// TestTruncateWhileReaderCloses closes the last descriptor while the file is truncated by path.
func TestTruncateWhileReaderCloses(t *testing.T) {
	for _, call := range []string{"Truncate", "Publish"} {
		w := newWritable(t, mountConfig{})
		w.put("file", "0123456789")
		reader := w.open("file", os.O_RDONLY)
		setFault(t, w.root, call, 0)
		truncated := make(chan error, 1)
		go func() { truncated <- os.Truncate(w.path("file"), 3) }()
		w.eventually("it is under way", func() bool { return w.waiting() > 0 })
		w.must(reader.Close())
		w.wantNamesHere("file") // time for the end of the descriptor, of which nobody is told
		w.must(unix.Access(w.path("file"), unix.R_OK))
		setFault(t, w.root, "", 0)
		w.must(<-truncated)
		w.wantThere("file", "012")
	}
}

// TestTruncateFails has nothing stay behind.
func TestTruncateFails(t *testing.T) {
	w := newWritable(t, mountConfig{})
	w.put("file", "0123456789")
	w.put("read", "0123456789")
	w.open("read", os.O_RDONLY)
	for _, call := range []string{"OpenFile", "Truncate"} {
		setFault(t, w.root, call, unix.EDQUOT)
		w.wantErrno(os.Truncate(w.path("file"), 5), unix.EDQUOT)
		w.wantErrno(os.Truncate(w.path("read"), 5), unix.EDQUOT)
		w.wantThere("file", "0123456789")
	}
	setFault(t, w.root, "", 0)
	w.must(os.Truncate(w.path("file"), 5))
	w.must(os.Truncate(w.path("read"), 5))
	w.wantThere("file", "01234")
	w.wantThere("read", "01234")
}

// TestWriteToLargeFile changes files that could not be copied.
func TestWriteToLargeFile(t *testing.T) {
	const size = 10 << 30
	w := newWritable(t, mountConfig{})
	for _, name := range []string{"longer", "shorter"} {
		w.put(name, "")
		w.must(os.Truncate(filepath.Join(w.root, name), size))
	}
	longer := w.open("longer", os.O_WRONLY|os.O_APPEND)
	w.write(longer, "end")
	w.must(longer.Close())
	info, err := os.Stat(filepath.Join(w.root, "longer"))
	w.must(err)
	if info.Size() != size+3 {
		t.Errorf("the file has %d bytes", info.Size())
	}
	w.must(os.Truncate(w.path("shorter"), 5))
	w.wantThere("shorter", "\x00\x00\x00\x00\x00")
}

// TestSpaceForUnfinished asks how much room there is, as posix_fallocate(3) does, with a file that others do not see.
func TestSpaceForUnfinished(t *testing.T) {
	w := newWritable(t, mountConfig{})
	file := w.create("fresh", "content")
	var space unix.Statfs_t
	w.must(unix.Fstatfs(int(file.Fd()), &space))
	if space.Blocks != 1000 {
		t.Errorf("there are %d blocks", space.Blocks)
	}
	w.must(os.Remove(w.path("fresh")))
	w.must(unix.Fstatfs(int(file.Fd()), &space))
}

// TestOthersWriteToo changes a file on the other side while it is written here.
func TestOthersWriteToo(t *testing.T) {
	w := newWritable(t, mountConfig{})
	exclusive := w.open("exclusive", os.O_WRONLY|os.O_CREATE|os.O_EXCL)
	w.write(exclusive, "ours")
	w.put("exclusive", "theirs")
	w.wantErrno(exclusive.Close(), unix.EEXIST)
	w.wantThere("exclusive", "theirs")
	w.wantHere("exclusive", "theirs")

	w.put("file", "base")
	late := w.open("file", os.O_RDWR)
	w.put("file", "their version")
	_, err := late.WriteAt([]byte("ours"), 0)
	w.wantErrno(err, unix.ESTALE)
	w.must(late.Close())
	w.wantThere("file", "their version")

	w.put("log", "one\n")
	w.wantHere("log", "one\n")
	w.put("log", "one\ntwo\n")
	log := w.open("log", os.O_WRONLY|os.O_APPEND)
	w.write(log, "three\n")
	w.must(log.Close())
	w.wantThere("log", "one\ntwo\nthree\n")

	both := w.open("both", os.O_WRONLY|os.O_CREATE)
	w.write(both, "ours")
	w.put("both", "theirs")
	w.must(both.Close())
	w.wantThere("both", "ours")
}

func TestAttributesOfUnfinished(t *testing.T) {
	w := newWritable(t, mountConfig{})
	modified := time.Date(2001, 2, 3, 4, 5, 6, 789, time.UTC)
	file := w.create("file", "content")
	w.must(file.Chmod(0o640))
	w.must(os.Chtimes(w.path("file"), modified, modified))
	w.must(file.Close())
	w.must(os.Mkdir(w.path("dir"), 0o755))
	w.must(os.Chmod(w.path("dir"), 0o711))
	w.must(os.Chtimes(w.path("dir"), modified, modified))
	w.put("other", "content")
	reader := w.open("other", os.O_RDONLY)
	w.must(os.Chmod(w.path("other"), 0o604))
	w.must(os.Chtimes(w.path("other"), modified, modified))
	for name, mode := range map[string]fs.FileMode{"file": 0o640, "dir": 0o711 | fs.ModeDir, "other": 0o604} {
		for _, dir := range []string{w.dir, w.root} {
			info, err := os.Stat(filepath.Join(dir, name))
			w.must(err)
			if info.Mode() != mode || !info.ModTime().Equal(modified) {
				t.Errorf("%s in %s has %v and %v", name, dir, info.Mode(), info.ModTime())
			}
		}
	}
	content := make([]byte, 7)
	if _, err := reader.ReadAt(content, 0); err != nil || string(content) != "content" {
		t.Errorf("a descriptor from before reads %q, %v", content, err)
	}
}
