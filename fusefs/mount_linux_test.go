package fusefs_test

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"culvert/fusefs"
	"culvert/internal/testkit"
)

// content returns all bytes of a file of a playFS.
func content(seed uint64, size int) []byte {
	p := make([]byte, size)
	fillContent(p, seed, 0)
	return p
}

// wantContent fails the test if a file does not have the bytes of this seed.
func wantContent(t *testing.T, path string, seed uint64, size int) {
	t.Helper()
	got, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, content(seed, size)) {
		t.Fatalf("%s has other bytes than the file of seed %d with %d bytes", path, seed, size)
	}
}

// wantLittleMemory fails the test if the process that mounts took more memory than a mount may.
func wantLittleMemory(t *testing.T, report playReport) {
	t.Helper()
	// The race detector has memory of its own for each byte.
	if most := 128 << 10; report.ResidentKB > most && !testkit.RaceDetector() {
		t.Errorf("the process has taken %d KiB", report.ResidentKB)
	}
}

func TestMountShowsAFileSystem(t *testing.T) {
	p := startPlay(t, playOptions{})
	p.put(playFile{Name: "a.csv", Size: 3<<20 + 17, Seed: 1, Changed: 1700000000, Mode: 0o640, Inode: 4711})
	p.put(playFile{Name: "dir", Mode: fs.ModeDir | 0o750})
	p.put(playFile{Name: "dir/b.csv", Size: 10, Seed: 2})
	p.put(playFile{Name: "dir/link", Mode: fs.ModeSymlink | 0o777, Target: "b.csv"})

	wantContent(t, p.path("a.csv"), 1, 3<<20+17)
	wantContent(t, p.path("dir/b.csv"), 2, 10)
	wantContent(t, p.path("dir/link"), 2, 10)

	info, err := os.Stat(p.path("a.csv"))
	if err != nil {
		t.Fatal(err)
	}
	stat := info.Sys().(*syscall.Stat_t)
	if info.Size() != 3<<20+17 || info.Mode() != 0o640 || info.ModTime().Unix() != 1700000000 || stat.Ino != 4711 ||
		int(stat.Uid) != os.Getuid() || stat.Blocks*512 < 3<<20+17 {
		t.Errorf("attributes are %v and %+v", info, stat)
	}
	entries, err := os.ReadDir(p.path("dir"))
	if err != nil {
		t.Fatal(err)
	}
	if len(entries) != 2 || entries[0].Name() != "b.csv" || entries[1].Type() != fs.ModeSymlink {
		t.Errorf("the directory has %v", entries)
	}
	if target, err := os.Readlink(p.path("dir/link")); err != nil || target != "b.csv" {
		t.Errorf("the link leads to %q, %v", target, err)
	}
	if _, err := os.Stat(p.path("nothing")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a name that is not there gives %v", err)
	}
	if err := os.WriteFile(p.path("new"), nil, 0o600); !errors.Is(err, syscall.EROFS) {
		t.Errorf("writing gives %v", err)
	}
	var space syscall.Statfs_t
	if err := syscall.Statfs(p.dir, &space); err != nil {
		t.Fatal(err)
	}
	if space.Blocks != 1000 || space.Bfree != 500 || space.Bavail != 400 || space.Namelen != 255 {
		t.Errorf("the room is %+v", space)
	}
}

func TestMountRefuses(t *testing.T) {
	if _, err := fusefs.Mount(t.TempDir(), fusefs.Config{}); err == nil {
		t.Error("a mount of nothing")
	}
	if _, err := fusefs.Mount(t.TempDir()+"/no", fusefs.Config{FS: newPlayFS()}); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a mount on nothing: %v", err)
	}
	file := t.TempDir() + "/file"
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := fusefs.Mount(file, fusefs.Config{FS: newPlayFS()}); !errors.Is(err, syscall.ENOTDIR) {
		t.Errorf("a mount on a file: %v", err)
	}
	broken := newPlayFS()
	broken.fault = errors.New("this is broken")
	_, err := fusefs.Mount(t.TempDir(), fusefs.Config{FS: broken})
	if err == nil || !strings.Contains(err.Error(), "broken") {
		t.Errorf("a mount of what does not work: %v", err)
	}
	p := startPlay(t, playOptions{})
	_, err = fusefs.Mount(p.dir, fusefs.Config{FS: newPlayFS()})
	if err == nil || !strings.Contains(err.Error(), "already") {
		t.Errorf("a second mount: %v", err)
	}
}

func TestUnmountWhileInUse(t *testing.T) {
	p := startPlay(t, playOptions{})
	p.put(playFile{Name: "used", Size: 100, Seed: 1})
	file, err := os.Open(p.path("used"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	p.order(playOrder{Leave: true})
	if isMounted(t, p.dir) {
		t.Error("it is still mounted")
	}
	if _, err := file.ReadAt(make([]byte, 10), 0); err == nil {
		t.Error("a file of a mount that is gone can be read")
	}
}

func TestMountAfterKill(t *testing.T) {
	killed := startPlay(t, playOptions{})
	killed.put(playFile{Name: "used", Size: 100, Seed: 1})
	file, err := os.Open(killed.path("used"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	killed.kill()
	if _, err := os.Stat(killed.dir); !errors.Is(err, syscall.ENOTCONN) {
		t.Fatalf("a dead mount gives %v", err)
	}
	p := startPlay(t, playOptions{Dir: killed.dir})
	p.put(playFile{Name: "used", Size: 100, Seed: 2})
	wantContent(t, p.path("used"), 2, 100)
	p.stop()
}

// TestMountRightAfterKill mounts while the kernel still caches the attributes of the directory.
func TestMountRightAfterKill(t *testing.T) {
	killed := startPlay(t, playOptions{})
	if _, err := os.Stat(killed.dir); err != nil {
		t.Fatal(err)
	}
	killed.kill()
	startPlay(t, playOptions{Dir: killed.dir}).stop()
}

// TestMountAfterKillBehindLinks mounts at symbolic links that lead to a dead mount.
func TestMountAfterKillBehindLinks(t *testing.T) {
	killed := startPlay(t, playOptions{})
	killed.kill()
	if _, err := os.Stat(killed.dir); !errors.Is(err, syscall.ENOTCONN) {
		t.Fatalf("a dead mount gives %v", err)
	}
	dir := t.TempDir()
	for name, target := range map[string]string{"absolute": killed.dir, "relative": "absolute"} {
		if err := os.Symlink(target, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	p := startPlay(t, playOptions{Dir: filepath.Join(dir, "relative")})
	p.put(playFile{Name: "f", Size: 100, Seed: 2})
	wantContent(t, filepath.Join(killed.dir, "f"), 2, 100)
	p.stop()
	if isMounted(t, killed.dir) {
		t.Error("it is still mounted")
	}
}

// TestUnmountLeavesOtherMounts has another process unmount and mount again, so that the device number is the same.
func TestUnmountLeavesOtherMounts(t *testing.T) {
	first := startPlay(t, playOptions{})
	second := startPlay(t, playOptions{})
	if output, err := exec.Command("umount", first.dir).CombinedOutput(); err != nil {
		testkit.Missing(t, "the right to unmount", "run as root: "+string(output))
	}
	first.order(playOrder{Wait: true})
	third := startPlay(t, playOptions{Dir: first.dir})
	third.put(playFile{Name: "here", Size: 100, Seed: 1})
	first.order(playOrder{Leave: true})
	wantContent(t, third.path("here"), 1, 100)
	third.stop()
	second.stop()
}

// TestUnmountInAnotherNamespace has a process with mounts of its own keep a copy of the mount.
func TestUnmountInAnotherNamespace(t *testing.T) {
	p := startPlay(t, playOptions{})
	keeper := exec.Command("unshare", "--mount", "--propagation", "private", "sh", "-c", "echo; read -r line")
	input, err := keeper.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	output, err := keeper.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := keeper.Start(); err != nil {
		testkit.Missing(t, "unshare", "apt-get install util-linux")
	}
	defer func() {
		if err := input.Close(); err != nil {
			t.Error(err)
		}
		_ = keeper.Wait() // it fails at the end of its input
	}()
	if n, _ := io.ReadFull(output, make([]byte, 1)); n == 0 {
		testkit.Missing(t, "the right to make namespaces", "run as root")
	}
	p.order(playOrder{Leave: true, Wait: true})
}

func TestNothingWaitsForEver(t *testing.T) {
	t.Parallel()
	p := startPlay(t, playOptions{Timeout: shortTimeout})
	p.put(playFile{Name: "slow", Size: 100, Seed: 1})
	file, err := os.Open(p.path("slow"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	p.stall(true)
	var group sync.WaitGroup
	for what, call := range map[string]func() error{
		"a read":    func() error { _, err := file.ReadAt(make([]byte, 10), 0); return err },
		"an open":   func() error { _, err := os.ReadFile(p.path("slow")); return err },
		"a lookup":  func() error { _, err := os.Stat(p.path("other")); return err },
		"a listing": func() error { _, err := os.ReadDir(p.dir); return err },
	} {
		group.Go(func() {
			if err := call(); !errors.Is(err, syscall.EIO) {
				t.Errorf("%s of what does not answer gives %v", what, err)
			}
		})
	}
	group.Wait()
	p.stall(false)
	got := make([]byte, 100)
	if _, err := file.ReadAt(got, 0); err != nil || !bytes.Equal(got, content(1, 100)) {
		t.Errorf("a read of what answers again gives %v", err)
	}
	wantContent(t, p.path("slow"), 1, 100)
}

// TestWaitsWhileBytesMove has a file system answer after three times the limit. Meanwhile it reports that bytes move,
// as on a slow line.
func TestWaitsWhileBytesMove(t *testing.T) {
	t.Parallel()
	p := startPlay(t, playOptions{Timeout: shortTimeout})
	p.put(playFile{Name: "slow", Size: 100, Seed: 1})
	moves := true
	p.order(playOrder{Moves: &moves})
	p.stall(true)
	before := p.order(playOrder{}).Counts.Moved
	opened := make(chan error, 1)
	go func() {
		_, err := os.Stat(p.path("slow"))
		opened <- err
	}()
	testkit.WaitFor(t, "three time limits to pass", func() bool {
		return p.order(playOrder{}).Counts.Moved > before+3*4 // it asks four times in each
	})
	p.stall(false)
	if err := <-opened; err != nil {
		t.Errorf("a lookup over a line on which bytes move gives %v", err)
	}
}
