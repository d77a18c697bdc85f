package fusefs_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"culvert/internal/testkit"
)

// TestWriteErrors has the file system fail after write(2) has returned.
func TestWriteErrors(t *testing.T) {
	for _, call := range []string{"WriteAt", "Sync", "Publish"} {
		t.Run(call, func(t *testing.T) {
			w := newWritable(t, mountConfig{})
			w.put("old", "old")
			setFault(t, w.root, call, unix.ENOSPC)
			for _, name := range []string{"fresh", "old"} {
				file := w.create(name, "new content")
				duplicate, err := unix.Dup(int(file.Fd()))
				w.must(err)
				if call != "Publish" {
					w.wantErrno(file.Sync(), unix.ENOSPC)
				}
				w.wantErrno(file.Close(), unix.ENOSPC)
				_, err = unix.Write(duplicate, []byte("more"))
				w.wantErrno(err, unix.ENOSPC)
				w.wantErrno(unix.Fsync(duplicate), unix.ENOSPC)
				w.wantErrno(unix.Close(duplicate), unix.ENOSPC)
			}
			w.wantNamesThere("old")
			w.wantThere("old", "old")
			setFault(t, w.root, "", 0)
			w.must(os.WriteFile(w.path("old"), []byte("newer"), 0o644))
			w.must(os.WriteFile(w.path("fresh"), []byte("newer"), 0o644))
			w.wantThere("old", "newer")
			w.wantThere("fresh", "newer")
		})
	}
}

// TestSyncAfterClose syncs closed files through other descriptors of any kind, as sync(1) does.
func TestSyncAfterClose(t *testing.T) {
	w := newWritable(t, mountConfig{})
	w.must(os.WriteFile(w.path("file"), []byte("content"), 0o644))
	read, write := w.open("file", os.O_RDONLY), w.open("file", os.O_RDWR)
	w.must(read.Sync())
	w.must(write.Sync())
	w.must(os.WriteFile(w.path("file"), []byte("other content"), 0o644))
	setFault(t, w.root, "Sync", unix.ENOSPC)
	w.wantErrno(read.Sync(), unix.ENOSPC)
	w.wantErrno(write.Sync(), unix.ENOSPC)
	setFault(t, w.root, "", 0)

	w.put("removed", "content")
	gone := w.open("removed", os.O_RDONLY)
	w.must(os.Remove(w.path("removed")))
	w.must(gone.Sync())
	w.wantNamesThere("file")
}

func TestOpenErrors(t *testing.T) {
	w := newWritable(t, mountConfig{})
	w.put("old", "old")
	setFault(t, w.root, "OpenFile", unix.EDQUOT)
	_, err := os.Create(w.path("fresh"))
	w.wantErrno(err, unix.EDQUOT)
	w.wantErrno(os.Truncate(w.path("old"), 1), unix.EDQUOT)
	w.wantErrno(os.WriteFile(w.path("old"), nil, 0o644), unix.EDQUOT)
	file := w.open("old", os.O_WRONLY)
	_, err = file.WriteString("new")
	w.wantErrno(err, unix.EDQUOT)
	w.must(file.Close()) // nothing is lost that was taken over
	w.wantThere("old", "old")
	w.wantNamesHere("old")
}

// TestStalledWrites has the file system not answer: programs get EIO within the limit, and the mount still ends.
func TestStalledWrites(t *testing.T) {
	for _, call := range []string{"WriteAt", "Sync", "Publish", "OpenFile"} {
		// They wait at the same time, once all processes have started.
		mounted := newWritable(t, mountConfig{Timeout: shortTimeout})
		t.Run(call, func(t *testing.T) {
			t.Parallel()
			w := &writable{t, mounted.root, mounted.mountProcess}
			file := w.create("file", "begun")
			setFault(t, w.root, call, 0)
			switch call {
			case "WriteAt":
				var err error
				for part := make([]byte, 1<<20); err == nil; {
					_, err = file.Write(part)
				}
				w.wantErrno(err, unix.EIO)
				w.wantErrno(file.Sync(), unix.EIO)
				w.wantErrno(file.Close(), unix.EIO)
			case "Sync":
				w.wantErrno(file.Sync(), unix.EIO)
				w.wantErrno(file.Close(), unix.EIO)
			case "Publish":
				w.wantErrno(file.Close(), unix.EIO)
			default:
				_, err := os.Create(w.path("other"))
				w.wantErrno(err, unix.EIO)
			}
			setFault(t, w.root, "", 0)
			w.must(os.WriteFile(w.path("next"), []byte("next"), 0o644))
			w.wantThere("next", "next")
		})
	}
}

// TestSignalDuringTruncate sends signals to a thread whose truncation is stalled. If it gave up, the call that it left
// behind could cut off later writes.
func TestSignalDuringTruncate(t *testing.T) {
	w := newWritable(t, mountConfig{Timeout: shortTimeout})
	file := w.create("file", "content")
	setFault(t, w.root, "Truncate", 0)
	thread, done := make(chan int, 1), make(chan error, 1)
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		thread <- unix.Gettid()
		done <- unix.Ftruncate(int(file.Fd()), 0)
	}()
	id := <-thread
	ticker := time.NewTicker(time.Millisecond)
	defer ticker.Stop()
	for err := error(nil); err == nil; {
		select {
		case err = <-done:
			w.wantErrno(err, unix.EIO)
		case <-ticker.C:
			w.must(unix.Tgkill(os.Getpid(), id, unix.SIGURG))
		}
	}
	setFault(t, w.root, "", 0)
	w.wantErrno(file.Close(), unix.EIO)
}

// TestLookupWhileWriting has a lookup return the attributes from before a program wrote more to its open file. The file
// stays the same node, and once it is removed, a close does not bring its name back.
func TestLookupWhileWriting(t *testing.T) {
	w := newWritable(t, mountConfig{})
	file := w.create("looked-up", "")
	publish := func(text string) {
		w.write(file, text)
		copied, err := unix.Dup(int(file.Fd()))
		w.must(err)
		w.must(unix.Close(copied))
	}
	publish("one")
	hold, held := filepath.Join(filepath.Dir(w.root), "hold"), filepath.Join(filepath.Dir(w.root), "held")
	w.must(os.WriteFile(hold, nil, 0o600))
	looked := make(chan error, 1)
	go func() {
		for {
			_, err := os.Lstat(w.path("looked-up"))
			if _, waits := os.Stat(hold); err != nil || waits != nil {
				looked <- err
				return
			}
			runtime.Gosched()
		}
	}()
	w.eventually("a lookup is under way", func() bool {
		_, err := os.Stat(held)
		return err == nil
	})
	publish(" two")
	w.must(os.Remove(held))
	w.must(<-looked)
	w.write(file, " three")
	w.must(os.Remove(w.path("looked-up")))
	w.must(file.Close())
	w.wantNamesThere()
}

// TestOpenWhileTruncating has an open return the attributes from before a truncation. Programs see the new size, and
// append there.
func TestOpenWhileTruncating(t *testing.T) {
	w := newWritable(t, mountConfig{})
	w.put("opened", "content and more")
	hold, held := filepath.Join(filepath.Dir(w.root), "hold"), filepath.Join(filepath.Dir(w.root), "held")
	w.must(os.WriteFile(hold, nil, 0o600))
	done := make(chan error, 1)
	go func() {
		file, err := os.Open(w.path("opened"))
		if err != nil {
			done <- err
			return
		}
		info, err := file.Stat()
		if err == nil && info.Size() != 7 {
			err = fmt.Errorf("the size is %d", info.Size())
		}
		done <- errors.Join(err, file.Close())
	}()
	w.eventually("an open is under way", func() bool {
		_, err := os.Stat(held)
		return err == nil
	})
	w.must(os.Truncate(w.path("opened"), 7))
	w.must(os.Remove(held))
	w.must(<-done)
	file := w.open("opened", os.O_WRONLY|os.O_APPEND)
	w.write(file, " added")
	w.must(file.Close())
	w.wantThere("opened", "content added")
}

// TestSlowPublish has the other side wait for its disk: the more was written, the longer it may take.
func TestSlowPublish(t *testing.T) {
	w := newWritable(t, mountConfig{Timeout: shortTimeout})
	large := w.create("large", "")
	part := strings.Repeat("x", 1<<20)
	for range 256 {
		w.write(large, part)
	}
	setFault(t, w.root, "Publish", 0)
	closed := make(chan error, 1)
	go func() { closed <- large.Close() }()
	small := []*os.File{w.create("small", "x"), w.create("smaller", "x"), w.create("smallest", "x")}
	var group sync.WaitGroup
	for _, file := range small {
		group.Go(func() {
			if err := file.Close(); !isErrno(err, unix.EIO) { // the limit of these is over
				t.Errorf("a close of %s gives %v", file.Name(), err)
			}
		})
	}
	group.Wait()
	setFault(t, w.root, "", 0)
	w.must(<-closed)
}

// TestMappedWriteAfterClose writes to memory after the descriptor was closed. No close can tell how it ends, but it is
// published.
func TestMappedWriteAfterClose(t *testing.T) {
	w := newWritable(t, mountConfig{})
	file := w.create("file", strings.Repeat("a", 10_000))
	memory, err := unix.Mmap(int(file.Fd()), 0, 10_000, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	w.must(err)
	w.must(file.Close())
	w.wantThere("file", strings.Repeat("a", 10_000))
	copy(memory[5000:], "changed")
	w.must(unix.Munmap(memory))
	want := []byte(strings.Repeat("a", 5000) + "changed" + strings.Repeat("a", 4993))
	w.eventually("it is published and closed", func() bool {
		got, err := os.ReadFile(filepath.Join(w.root, "file"))
		w.must(err)
		open, err := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", w.command.Process.Pid))
		w.must(err)
		for _, fd := range open {
			if name, err := os.Readlink(fd); err == nil && name == filepath.Join(w.root, "file") {
				return false
			}
		}
		return bytes.Equal(got, want)
	})
}

// TestManyWriters has more files half written than there are buffers for writes, and checks the memory of the mount.
func TestManyWriters(t *testing.T) {
	w := newWritable(t, mountConfig{})
	const files, rounds, part = 60, 40, 100_000
	var open []*os.File
	for i := range files {
		open = append(open, w.open(fmt.Sprint(i), os.O_WRONLY|os.O_CREATE))
	}
	for round := range rounds {
		for i, file := range open {
			_, err := file.Write(bytes.Repeat([]byte{byte(i), byte(round)}, part/2))
			w.must(err)
		}
	}
	var want []byte
	for i, file := range open {
		w.must(file.Close())
		want = want[:0]
		for round := range rounds {
			want = append(want, bytes.Repeat([]byte{byte(i), byte(round)}, part/2)...)
		}
		w.wantThere(fmt.Sprint(i), string(want))
	}
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", w.command.Process.Pid))
	w.must(err)
	var peak int
	_, after, _ := strings.Cut(string(status), "VmHWM:")
	_, err = fmt.Sscan(after, &peak)
	w.must(err)
	t.Logf("peak %d KiB", peak)
	if limit := 128 << 10; peak > limit && !testkit.RaceDetector() {
		t.Errorf("the process that mounts took %d KiB, want at most %d", peak, limit)
	}
}

// TestReadsOfUnfinishedAreBounded reads from a file system that does not answer, and checks that the number of reads is
// bounded by the memory.
func TestReadsOfUnfinishedAreBounded(t *testing.T) {
	w := newWritable(t, mountConfig{Timeout: shortTimeout, Memory: 1})
	w.create("file", strings.Repeat("x", 1<<20))
	direct := w.open("file", os.O_RDONLY|unix.O_DIRECT)
	setFault(t, w.root, "ReadAt", 0)
	for range 2 {
		var group sync.WaitGroup
		for range 20 {
			group.Go(func() {
				if _, err := direct.ReadAt(make([]byte, 1<<20), 0); !isErrno(err, unix.EIO) {
					t.Errorf("a read of what does not answer gives %v", err)
				}
			})
		}
		group.Wait()
	}
	if n := w.waiting(); n < 1 || n > 8 {
		t.Errorf("with 8 MiB, %d reads of 1 MiB are under way", n)
	}
	setFault(t, w.root, "", 0)
	w.eventually("it reads again", func() bool {
		n, _ := direct.ReadAt(make([]byte, 1<<20), 0)
		return n == 1<<20
	})
}
