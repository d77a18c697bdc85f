package fusefs_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"culvert/internal/testkit"
)

func TestNamesThatLeadElsewhereAreNotShown(t *testing.T) {
	p := startPlay(t, playOptions{})
	root := playFile{Name: ".", Mode: fs.ModeDir | 0o755}
	for _, name := range []string{
		"", ".", "..", "../x", "/etc", "a/b", "zero\x00byte", "escape\x1b[31m", "line\nbreak", "\x9b31m", "\xff\xfe",
		strings.Repeat("x", 256), "twice", "twice",
	} {
		root.Names = append(root.Names, []byte(name))
	}
	p.put(root)
	p.put(playFile{Name: "good", Size: 1})
	entries, err := os.ReadDir(p.dir)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, entry := range entries {
		names = append(names, entry.Name())
	}
	if names = slices.Compact(names); !slices.Equal(names, []string{"good", "twice"}) {
		t.Errorf("the directory shows %q", names)
	}
	for _, name := range []string{"escape\x1b[31m", "\xff\xfe"} {
		if _, err := os.Stat(p.path(name)); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%q gives %v", name, err)
		}
	}
	if _, err := os.Stat(p.path(strings.Repeat("x", 256))); !errors.Is(err, syscall.ENAMETOOLONG) {
		t.Errorf("a name that is too long gives %v", err)
	}
}

func TestSizesThatLie(t *testing.T) {
	const ends = 100_000
	p := startPlay(t, playOptions{})
	p.put(playFile{Name: "negative", Size: -1, Seed: 1})
	p.put(playFile{Name: "short", Size: 1 << 20, Ends: ends, Seed: 1})
	p.put(playFile{Name: "endless", Size: 1<<63 - 1, Seed: 1})
	p.put(playFile{Name: "strange", Mode: fs.ModeIrregular | 0o644})

	if _, err := os.Open(p.path("negative")); !errors.Is(err, syscall.EIO) {
		t.Errorf("a file of negative size gives %v", err)
	}
	if _, err := os.Stat(p.path("strange")); !errors.Is(err, syscall.EIO) {
		t.Errorf("a file of no kind gives %v", err)
	}
	if entries, err := os.ReadDir(p.dir); err != nil || len(entries) != 3 {
		t.Errorf("the directory has %v, %v", entries, err)
	}
	got, err := os.ReadFile(p.path("short"))
	if !errors.Is(err, syscall.EIO) || len(got) > ends || !bytes.Equal(got, content(1, len(got))) {
		t.Errorf("a file that ends before its size gives %d bytes, %v", len(got), err)
	}
	direct := openDirect(t, p.path("short"))
	if n, err := direct.ReadAt(make([]byte, 10), ends-5); !errors.Is(err, syscall.EIO) {
		t.Errorf("a read over an early end gives %d bytes, %v", n, err)
	}
	if n, err := direct.ReadAt(make([]byte, 10), ends-10); n != 10 || err != nil {
		t.Errorf("a read before an early end gives %d bytes, %v", n, err)
	}
	endless, err := os.Open(p.path("endless"))
	if err != nil {
		t.Fatal(err)
	}
	defer endless.Close()
	piece, want := make([]byte, 4096), make([]byte, 4096)
	fillContent(want, 1, 1<<60)
	if _, err := endless.ReadAt(piece, 1<<60); err != nil || !bytes.Equal(piece, want) {
		t.Errorf("a file of %d bytes gives %v at %d", int64(1<<63-1), err, int64(1<<60))
	}
}

func TestPanicsAreErrors(t *testing.T) {
	p := startPlay(t, playOptions{})
	p.put(playFile{Name: "bad", Size: 100, Panics: true})
	p.put(playFile{Name: "bad start", Size: 100, Panics: true, Starts: true})
	p.put(playFile{Name: "good", Size: 100, Seed: 5})
	for _, name := range []string{"bad start", "bad"} {
		if _, err := os.ReadFile(p.path(name)); !errors.Is(err, syscall.EIO) {
			t.Errorf("%s: a file that panics gives %v", name, err)
		}
	}
	wantContent(t, p.path("good"), 5, 100)
	var report playReport
	if err := errors.Join(p.orders.Encode(playOrder{Leave: true}), p.answers.Decode(&report)); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(report.Err, "a file that panics when it starts") {
		t.Errorf("the end says %q", report.Err)
	}
}

func TestLargeDirectory(t *testing.T) {
	names := testkit.Fewer(100_000)
	p := startPlay(t, playOptions{})
	p.put(playFile{Name: "large", Mode: fs.ModeDir | 0o755, Entries: names})
	before := p.order(playOrder{})
	entries, err := os.ReadDir(p.path("large"))
	if err != nil {
		t.Fatal(err)
	}
	if len(entries) != names || entries[names-1].Name() != fmt.Sprintf("made-%07d", names-1) {
		t.Errorf("the directory has %d names", len(entries))
	}
	after := p.order(playOrder{})
	if asked := after.Counts.ReadDir - before.Counts.ReadDir; asked < names/1000 {
		t.Errorf("the directory was read by %d calls: as a whole", asked)
	}
	if asked := after.Counts.Stat - before.Counts.Stat; asked > 10 {
		t.Errorf("the listing asked %d times for attributes", asked)
	}
	wantLittleMemory(t, after)
}

func TestEndlessDirectory(t *testing.T) {
	p := startPlay(t, playOptions{})
	p.put(playFile{Name: "endless", Mode: fs.ModeDir | 0o755, Entries: -1})
	dir, err := os.Open(p.path("endless"))
	if err != nil {
		t.Fatal(err)
	}
	defer dir.Close()
	enough := testkit.Fewer(300_000)
	for listed := 0; listed < enough; {
		names, err := dir.Readdirnames(10_000)
		if err != nil {
			t.Fatal(err)
		}
		listed += len(names)
	}
	wantLittleMemory(t, p.order(playOrder{}))
}

func TestListingFromAnyPlace(t *testing.T) {
	p := startPlay(t, playOptions{})
	p.put(playFile{Name: "d", Mode: fs.ModeDir | 0o755, Entries: 3000})
	dir, err := os.Open(p.path("d"))
	if err != nil {
		t.Fatal(err)
	}
	defer dir.Close()
	first, err := dir.Readdirnames(1000)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := dir.Seek(0, io.SeekStart); err != nil {
		t.Fatal(err)
	}
	all, err := dir.Readdirnames(-1)
	if err != nil || len(all) != 3000 || !slices.Equal(all[:1000], first) {
		t.Errorf("a listing that begins anew has %d names, %v", len(all), err)
	}
}

func TestASignalEndsAWait(t *testing.T) {
	p := startPlay(t, playOptions{Timeout: time.Hour})
	p.put(playFile{Name: "f", Size: 100, Seed: 1})
	p.stall(true)
	defer p.stall(false)
	for _, signal := range []syscall.Signal{syscall.SIGTERM, syscall.SIGKILL} {
		cat := exec.Command("cat", p.path("f"))
		if err := cat.Start(); err != nil {
			t.Fatal(err)
		}
		if err := cat.Process.Signal(signal); err != nil {
			t.Fatal(err)
		}
		if err := cat.Wait(); err == nil {
			t.Errorf("cat that was sent %v has ended well", signal)
		}
	}
}

func TestOthersAreLetInOnlyIfAsked(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("only root can be somebody else")
	}
	for _, allow := range []bool{false, true} {
		dir, err := os.MkdirTemp("", "others")
		if err != nil {
			t.Fatal(err)
		}
		defer os.Remove(dir) //nolint:errcheck // it is empty
		if err := os.Chmod(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		p := startPlay(t, playOptions{Dir: dir, AllowOther: allow})
		p.put(playFile{Name: "open", Size: 10, Mode: 0o644})
		p.put(playFile{Name: "secret", Size: 10, Mode: 0o600})
		for name, want := range map[string]bool{"open": allow, "secret": false} {
			cat := exec.Command("cat", p.path(name))
			cat.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
			if err := cat.Run(); (err == nil) != want {
				t.Errorf("with AllowOther %v another user reads %s: %v", allow, name, err)
			}
		}
		p.stop()
	}
}

func TestManyProgramsWaitAtOnce(t *testing.T) {
	t.Parallel()
	p := startPlay(t, playOptions{Timeout: shortTimeout})
	p.stall(true)
	var group sync.WaitGroup
	for i := range 300 {
		group.Go(func() {
			if _, err := os.Stat(p.path(fmt.Sprint(i))); !errors.Is(err, syscall.EIO) {
				t.Errorf("what does not answer gives %v", err)
			}
		})
	}
	group.Wait()
	stuck := p.order(playOrder{}).Counts
	p.stall(false)
	if stuck.Stat > 128+1 {
		t.Errorf("%d calls are under way", stuck.Stat)
	}
	p.put(playFile{Name: "f", Size: 10, Seed: 1})
	for {
		_, err := os.Stat(p.path("f"))
		if err == nil {
			break
		}
		if !errors.Is(err, syscall.EIO) {
			t.Fatalf("what answers again gives %v", err)
		}
	}
}
