package fusefs_test

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// waitFor asks the process that mounts until something is so that no call waits for.
func (p *play) waitFor(what string, is func(playCounts) bool) {
	p.t.Helper()
	ticker := time.NewTicker(5 * time.Millisecond)
	defer ticker.Stop()
	limit := time.After(30 * time.Second)
	for !is(p.order(playOrder{}).Counts) {
		select {
		case <-ticker.C:
		case <-limit:
			p.t.Fatalf("not so: %s", what)
		}
	}
}

// TestListingIsClosedAfterItsCalls ends programs in the middle of listing a directory.
func TestListingIsClosedAfterItsCalls(t *testing.T) {
	t.Parallel()
	p := startPlay(t, playOptions{Timeout: shortTimeout})
	p.put(playFile{Name: "large", Mode: fs.ModeDir | 0o755, Entries: 5000})
	begun, err := os.Open(p.path("large"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := begun.Readdirnames(10); err != nil {
		t.Fatal(err)
	}
	fresh, err := os.Open(p.path("large"))
	if err != nil {
		t.Fatal(err)
	}
	left, err := os.Open(p.path("large"))
	if err != nil {
		t.Fatal(err)
	}
	p.stall(true)
	for _, dir := range []*os.File{begun, fresh} {
		if _, err := dir.Readdirnames(-1); !errors.Is(err, syscall.EIO) {
			t.Errorf("a listing that does not answer gives %v", err)
		}
	}
	if _, err := begun.Seek(0, 0); err != nil {
		t.Error(err)
	}
	if err := errors.Join(begun.Close(), fresh.Close()); err != nil {
		t.Error(err)
	}
	if _, err := left.Readdirnames(1); !errors.Is(err, syscall.EIO) {
		t.Errorf("a listing that does not answer gives %v", err)
	}
	p.stall(false)
	p.order(playOrder{Leave: true}) // with a directory that is open
	left.Close()
	p.waitFor("all is closed", func(c playCounts) bool { return c.Open == c.Close })
	if inUse := p.order(playOrder{}).Counts.CloseInUse; inUse != 0 {
		t.Errorf("%d directories were closed in the middle of a call", inUse)
	}
}

// TestListingThatPauses changes a file after its attributes were listed, before the kernel gets them.
func TestListingThatPauses(t *testing.T) {
	p := startPlay(t, playOptions{})
	p.put(playFile{Name: "other"})
	p.put(playFile{Name: "d", Mode: fs.ModeDir | 0o755, Entries: 300})
	p.put(playFile{Name: "d/zzz", Size: 1}) // listed before the made up ones
	for i := range 200 {
		p.put(playFile{Name: "d/a" + strings.Repeat("a", i), Size: 1})
	}
	dir, err := os.Open(p.path("d"))
	if err != nil {
		t.Fatal(err)
	}
	defer dir.Close()
	if _, err := dir.Readdirnames(1); err != nil {
		t.Fatal(err)
	}
	before := p.order(playOrder{}).Counts.Stat
	p.waitFor("the kernel has forgotten attributes", func(c playCounts) bool {
		if _, err := os.Stat(p.path("other")); err != nil {
			t.Fatal(err)
		}
		return c.Stat > before+1
	})
	p.put(playFile{Name: "d/zzz", Size: 2})
	if _, err := dir.Readdirnames(-1); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(p.path("d/zzz")); err != nil || info.Size() != 2 {
		t.Errorf("a file that was changed in a pause is %v, %v", info, err)
	}
}

// TestSlowListing has find -newer list a directory for longer than attributes are cached, and then look at each file.
// That asks the file system for none of them. Files that are opened are asked for, as always.
func TestSlowListing(t *testing.T) {
	t.Parallel()
	p := startPlay(t, playOptions{})
	const files = 3 * 512
	p.put(playFile{Name: "slow", Mode: fs.ModeDir | 0o755, Entries: files})
	p.order(playOrder{Rate: 20_000}) // 1.6 s for each part of the listing
	mark := filepath.Join(t.TempDir(), "mark")
	if err := os.WriteFile(mark, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	before := p.order(playOrder{}).Counts
	older, err := exec.Command("find", p.path("slow"), "-type", "f", "!", "-newer", mark).Output()
	if names := strings.Count(string(older), "/made-"); err != nil || names != files {
		t.Fatal(names, err)
	}
	listed := p.order(playOrder{}).Counts
	// The directories are no names of this listing.
	if asked := listed.Stat - before.Stat; asked > 10 {
		t.Errorf("%d calls for the attributes of %d files", asked, files)
	}
	file, err := os.Open(p.path("slow/made-0000007"))
	if err != nil {
		t.Fatal(err)
	}
	if err := file.Close(); err != nil {
		t.Error(err)
	}
	if after := p.order(playOrder{}).Counts; after.Open == listed.Open {
		t.Error("a file is opened without asking for it")
	}
}

// TestListingFromBeforeAChange changes files here after they were listed, and before the program has got so far.
func TestListingFromBeforeAChange(t *testing.T) {
	w := newWritable(t, mountConfig{})
	for i := range 300 {
		w.put("file"+strings.Repeat("x", i%200)+string(rune('a'+i%26)), "1")
	}
	entries, err := os.ReadDir(w.root)
	w.must(err)
	dir, err := os.Open(w.dir)
	w.must(err)
	defer dir.Close()
	names, err := dir.Readdirnames(1)
	w.must(err)
	more, err := dir.Readdirnames(20)
	w.must(err)
	names = append(names, more...)
	var left []string
	for _, e := range slices.Backward(entries) {
		if !slices.Contains(names, e.Name()) {
			left = append(left, e.Name())
		}
	}
	for _, name := range left {
		w.must(os.Chmod(w.path(name), 0o600))
	}
	removed := left[len(left)/2]
	w.must(os.Remove(w.path(removed)))
	_, err = dir.Readdirnames(-1)
	w.must(err)
	for _, name := range left {
		info, err := os.Stat(filepath.Join(w.dir, name))
		switch {
		case name == removed:
			if !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("what was removed gives %v", err)
			}
		case err != nil || info.Mode() != 0o600:
			t.Errorf("%s is %v, %v", name, info, err)
		}
	}
}

// TestOpenAfterListing opens files whose names the kernel has from a listing, after they have been removed or replaced.
func TestOpenAfterListing(t *testing.T) {
	p := startPlay(t, playOptions{})
	p.put(playFile{Name: "removed", Size: 100, Seed: 1, Inode: 10})
	p.put(playFile{Name: "replaced", Size: 100, Seed: 2, Inode: 11})
	entries, err := os.ReadDir(p.path("."))
	if err != nil || len(entries) != 2 {
		t.Fatal(entries, err)
	}
	p.order(playOrder{Remove: "removed"})
	p.put(playFile{Name: "replaced", Size: 200, Seed: 3, Inode: 12, Version: 1})
	if file, err := os.Open(p.path("removed")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a removed file is opened: %v, %v", file, err)
	}
	got, err := os.ReadFile(p.path("replaced"))
	if err != nil || !bytes.Equal(got, content(3, 200)) {
		t.Errorf("a replaced file has %d bytes that are not its own: %v", len(got), err)
	}
}

// TestInterruptedListing signals a program again and again while it reads a slow listing. That disturbs neither the
// listing nor its end: the names are all there, and a listing that is not answered at all still ends with EIO.
func TestInterruptedListing(t *testing.T) {
	t.Parallel()
	p := startPlay(t, playOptions{Timeout: shortTimeout})
	const files = 2 * 512
	p.put(playFile{Name: "slow", Mode: fs.ModeDir | 0o755, Entries: files})
	p.order(playOrder{Rate: 60_000}) // half a second for each part of the listing
	var dirs [2]*os.File
	for i := range dirs {
		dir, err := os.Open(p.path("slow"))
		if err != nil {
			t.Fatal(err)
		}
		defer dir.Close()
		dirs[i] = dir
	}
	if names, err := listDisturbed(t, dirs[0]); err != nil || len(names) != files {
		t.Errorf("%d names, %v", len(names), err)
	}
	p.stall(true)
	if names, err := listDisturbed(t, dirs[1]); err != unix.EIO {
		t.Errorf("without an answer: %d names, %v", len(names), err)
	}
}

// listDisturbed lists a directory by system calls on a thread that gets signals all the time.
func listDisturbed(t *testing.T, dir *os.File) (names []string, err error) {
	started, done := make(chan int), make(chan struct{})
	go func() {
		defer close(done)
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		started <- unix.Gettid()
		buffer := make([]byte, 1000)
		for n := 1; n > 0 && err == nil; {
			if n, err = unix.Getdents(int(dir.Fd()), buffer); err == nil {
				_, _, names = unix.ParseDirent(buffer[:n], -1, names)
			}
		}
	}()
	thread := <-started
	ticker := time.NewTicker(5 * time.Millisecond)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
			// The runtime does nothing at this signal.
			if err := unix.Tgkill(os.Getpid(), thread, unix.SIGURG); err != nil {
				t.Error(err)
			}
		case <-done:
			return names, err
		}
	}
}
