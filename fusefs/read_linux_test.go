package fusefs_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"sync"
	"syscall"
	"testing"
	"time"

	"culvert/internal/testkit"
)

// openDirect opens a file past the kernel's cache, so that each read comes to the mount.
func openDirect(t *testing.T, path string) *os.File {
	t.Helper()
	file, err := os.OpenFile(path, os.O_RDONLY|syscall.O_DIRECT, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { file.Close() })
	return file
}

// TestManyReadersGetTheSource reads one file in all ways at once, with so little memory that readers are in each
// other's way, and compares every byte.
func TestManyReadersGetTheSource(t *testing.T) {
	const (
		size    = 48<<20 + 13
		seed    = 7
		readers = 10
	)
	reads := 60
	switch {
	case testkit.RaceDetector():
		reads = 20
	case testkit.Soak():
		reads = 1000
	}
	p := startPlay(t, playOptions{Memory: 1})
	p.put(playFile{Name: "large", Size: size, Seed: seed})
	var group sync.WaitGroup
	for number := range readers {
		flags := os.O_RDONLY
		if number%2 == 1 {
			flags |= syscall.O_DIRECT
		}
		file, err := os.OpenFile(p.path("large"), flags, 0)
		if err != nil {
			t.Fatal(err)
		}
		random := rand.New(rand.NewPCG(1, uint64(number)))
		group.Go(func() {
			if err := errors.Join(readAnyhow(file, random, reads, size, seed), file.Close()); err != nil {
				t.Errorf("reader %d: %v", number, err)
			}
		})
	}
	group.Wait()
	wantLittleMemory(t, p.order(playOrder{}))
}

// readAnyhow reads at random, now and then some pieces in order or backwards, and compares.
func readAnyhow(file *os.File, random *rand.Rand, reads int, size int64, seed uint64) error {
	got, want := make([]byte, 3<<20), make([]byte, 3<<20)
	for range reads {
		length := 1 + random.IntN(1<<random.IntN(22))
		offset := random.Int64N(size + 10)
		step := int64(length) * int64([]int{0, 0, 1, 1, -1}[random.IntN(5)])
		for range 1 + random.IntN(8) {
			there := int(max(min(int64(length), size-offset), 0))
			n, err := file.ReadAt(got[:length], offset)
			if n != there || err != nil && (err != io.EOF || n == length) {
				return fmt.Errorf("%d bytes at %d give %d bytes, %w", length, offset, n, err)
			}
			fillContent(want[:n], seed, offset)
			if !bytes.Equal(got[:n], want[:n]) {
				return fmt.Errorf("%d bytes at %d are others than those of the source", length, offset)
			}
			if step == 0 || offset+step < 0 {
				break
			}
			offset += step
		}
	}
	return nil
}

func TestRandomReadsGetWhatTheyAskFor(t *testing.T) {
	const piece = 4096
	p := startPlay(t, playOptions{})
	p.put(playFile{Name: "large", Size: 1 << 30, Seed: 3})
	for _, flag := range []int{0, syscall.O_DIRECT} {
		before := p.order(playOrder{}).Counts
		file, err := os.OpenFile(p.path("large"), flag, 0)
		if err != nil {
			t.Fatal(err)
		}
		got := make([]byte, piece)
		const reads = 100
		for i := range int64(reads) {
			if _, err := file.ReadAt(got, (i*7919%reads*10+5)<<20); err != nil {
				t.Fatal(err)
			}
		}
		file.Close()
		after := p.order(playOrder{}).Counts
		if asked := after.Bytes - before.Bytes; asked != reads*piece {
			t.Errorf("%d reads of %d bytes asked the file system for %d bytes", reads, piece, asked)
		}
		p.put(playFile{Name: "large", Size: 1 << 30, Seed: 4, Version: 1})
	}
}

func TestSequentialReadsAreReadAhead(t *testing.T) {
	for range 5 {
		if readSequentially(t) {
			return
		}
	}
	t.Error("the machine stood still, again and again")
}

// readSequentially reads a file and reports whether that tells something. It does not if the machine stood still: of a
// link that was slow, fewer bytes are asked for at once.
func readSequentially(t *testing.T) bool {
	t.Helper()
	const size, slow = 32 << 20, 500 * time.Millisecond
	p := startPlay(t, playOptions{})
	p.put(playFile{Name: "large", Size: size, Seed: 3})
	file := openDirect(t, p.path("large"))
	got, want := make([]byte, 64<<10), make([]byte, 64<<10)
	longest := time.Duration(0)
	read := func(offset int64) {
		start := time.Now()
		if _, err := file.ReadAt(got, offset); err != nil {
			t.Fatal(err)
		}
		longest = max(longest, time.Since(start))
		if fillContent(want, 3, offset); !bytes.Equal(got, want) {
			t.Fatalf("other bytes at %d", offset)
		}
	}
	offset := int64(0)
	for ; offset < 4<<20; offset += int64(len(got)) {
		read(offset)
	}
	// As much again is on its way, although nobody asked for it.
	for start := time.Now(); p.order(playOrder{}).Counts.Bytes < 8<<20-64<<10; {
		if longest = max(longest, time.Since(start)); longest > 30*time.Second {
			return false
		}
	}
	for ; offset < size; offset += int64(len(got)) {
		read(offset)
	}
	counts := p.order(playOrder{}).Counts
	if counts.Bytes == size && counts.Largest == 1<<20 && counts.Read <= 40 {
		return true
	}
	if longest <= slow {
		t.Fatalf("%d bytes were read by %+v", size, counts)
	}
	return false
}

func TestPagesAreKeptWhileTheVersionIs(t *testing.T) {
	const size = 3<<20 + 5
	p := startPlay(t, playOptions{})
	p.put(playFile{Name: "f", Size: size, Seed: 1})
	wantContent(t, p.path("f"), 1, size)
	kept := false
	for range 5 {
		before := p.order(playOrder{}).Counts
		wantContent(t, p.path("f"), 1, size)
		counts := p.order(playOrder{}).Counts
		if counts.Open != before.Open+1 {
			t.Errorf("a file that is opened again asks for %+v after %+v", counts, before)
		}
		kept = kept || counts.Read == before.Read // the kernel may have taken some pages back
	}
	if !kept {
		t.Error("a file that is read again is always fetched again")
	}
	// The same size and the same time: only the version tells.
	p.put(playFile{Name: "f", Size: size, Seed: 2, Version: 1})
	wantContent(t, p.path("f"), 2, size)
}

// TestContentThatCameAlong reads files whose content came with the open: no read asks for it, and each open returns the
// current version, whether or not its size differs.
func TestContentThatCameAlong(t *testing.T) {
	p := startPlay(t, playOptions{})
	for i, size := range []int{1, 4095, 4096, 4097, 64 << 10} {
		name := fmt.Sprint("new", i)
		p.put(playFile{Name: name, Size: int64(size), Seed: uint64(i), Held: true})
		before := p.order(playOrder{}).Counts
		wantContent(t, p.path(name), uint64(i), size)
		wantContent(t, p.path(name), uint64(i), size)
		counts := p.order(playOrder{}).Counts
		if counts.Read != before.Read || counts.Open != before.Open+2 {
			t.Errorf("a file of %d bytes that is read twice asks for %+v after %+v", size, counts, before)
		}
	}
	for i, size := range []int{4097, 4097, 5, 4096, 64 << 10, 64 << 10} {
		seed := uint64(100 + i)
		p.put(playFile{Name: "same", Size: int64(size), Seed: seed, Version: seed, Held: true})
		wantContent(t, p.path("same"), seed, size)
	}
	file, err := os.Open(p.path("same"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	p.put(playFile{Name: "same", Size: 64 << 10, Seed: 200, Version: 200, Held: true})
	wantContent(t, p.path("same"), 200, 64<<10)
	got := make([]byte, 64<<10)
	if _, err := file.ReadAt(got, 0); err != nil && !errors.Is(err, syscall.ESTALE) ||
		err == nil && !bytes.Equal(got, content(105, len(got))) {
		t.Errorf("a file that changed while it was open gives other bytes, or %v", err)
	}
}

func TestOpenSeesWhatWasClosed(t *testing.T) {
	p := startPlay(t, playOptions{})
	for i, size := range []int{10, 5000, 4 << 20, 3, 0, 1 << 20} {
		p.put(playFile{Name: "f", Size: int64(size), Seed: uint64(i), Changed: int64(i)})
		wantContent(t, p.path("f"), uint64(i), size)
	}
	p.order(playOrder{Remove: "f"})
	if _, err := os.ReadFile(p.path("f")); !errors.Is(err, syscall.ENOENT) {
		t.Errorf("a file that was removed gives %v", err)
	}
	p.put(playFile{Name: "f", Size: 10, Seed: 8, Inode: 99})
	wantContent(t, p.path("f"), 8, 10)
}

func TestAFileThatChangesWhileItIsOpen(t *testing.T) {
	const size = 8 << 20
	p := startPlay(t, playOptions{})
	for _, inode := range []uint64{1, 2} { // written to, and replaced by another
		p.put(playFile{Name: "f", Size: size, Seed: 1, Inode: 1})
		file := openDirect(t, p.path("f"))
		got := make([]byte, 4096)
		if _, err := file.ReadAt(got, 0); err != nil || !bytes.Equal(got, content(1, size)[:4096]) {
			t.Fatalf("the first version gives %v", err)
		}
		p.put(playFile{Name: "f", Size: size, Seed: 2, Version: 1, Inode: inode})
		if _, err := file.ReadAt(got, 4096); !errors.Is(err, syscall.ESTALE) {
			t.Errorf("a file that has changed gives %v", err)
		}
		wantContent(t, p.path("f"), 2, size)
		if _, err := file.ReadAt(got, 0); !errors.Is(err, syscall.ESTALE) {
			t.Errorf("a file that has changed gives %v afterwards", err)
		}
		if info, err := file.Stat(); err != nil || info.Size() != size {
			t.Errorf("the file that is open says %v, %v", info, err)
		}
	}
}

// TestVersionsAreNeverMixed reads a file again and again while it becomes another one of the same size.
func TestVersionsAreNeverMixed(t *testing.T) {
	t.Run("read", func(t *testing.T) { testVersionsAreNeverMixed(t, 2<<20, false) })
	t.Run("along", func(t *testing.T) { testVersionsAreNeverMixed(t, 64<<10, true) })
}

func testVersionsAreNeverMixed(t *testing.T, size int, held bool) {
	versions := uint64(60)
	p := startPlay(t, playOptions{Memory: 1})
	p.put(playFile{Name: "f", Size: int64(size), Held: held})
	stop := make(chan struct{})
	var group sync.WaitGroup
	for range 4 {
		group.Go(func() {
			for whole := 0; ; {
				select {
				case <-stop:
					if whole > 0 {
						return
					}
				default:
				}
				got, err := os.ReadFile(p.path("f"))
				if errors.Is(err, syscall.ESTALE) {
					continue
				}
				if err != nil || len(got) != size {
					t.Errorf("a file that changes gives %d bytes, %v", len(got), err)
					return
				}
				whole++
				seed := uint64(0)
				for ; seed < versions && !bytes.Equal(got[:16], content(seed, 16)); seed++ {
				}
				if !bytes.Equal(got, content(seed, size)) {
					t.Errorf("a file has bytes of version %d and of others", seed)
					return
				}
			}
		})
	}
	for seed := uint64(1); seed < versions; seed++ {
		p.put(playFile{Name: "f", Size: int64(size), Seed: seed, Version: seed, Held: held})
	}
	close(stop)
	group.Wait()
}

func TestReadsOfWhatDoesNotAnswerAreBounded(t *testing.T) {
	t.Parallel()
	const size = 256 << 20
	p := startPlay(t, playOptions{Timeout: shortTimeout, Memory: 1})
	p.put(playFile{Name: "large", Size: size, Seed: 1})
	file := openDirect(t, p.path("large"))
	p.stall(true)
	var group sync.WaitGroup
	for i := range int64(200) {
		group.Go(func() {
			if _, err := file.ReadAt(make([]byte, 1<<20), i<<20); !errors.Is(err, syscall.EIO) {
				t.Errorf("a read of what does not answer gives %v", err)
			}
		})
	}
	group.Wait()
	stuck := p.order(playOrder{})
	p.stall(false)
	if stuck.Counts.Read > 7 {
		t.Errorf("%d reads are under way with memory for 7", stuck.Counts.Read)
	}
	wantLittleMemory(t, stuck)
	// The same file, still open, answers again.
	got := make([]byte, 1<<20)
	if _, err := file.ReadAt(got, 0); err != nil || !bytes.Equal(got, content(1, 1<<20)) {
		t.Errorf("a file that answers again gives %v", err)
	}
}

func TestReadsThatFailAreTriedAgain(t *testing.T) {
	const size = 16 << 20
	p := startPlay(t, playOptions{})
	p.put(playFile{Name: "large", Size: size, Seed: 1})
	file := openDirect(t, p.path("large"))
	got := make([]byte, 1<<20)
	for offset := range int64(4) {
		if _, err := file.ReadAt(got, offset<<20); err != nil {
			t.Fatal(err)
		}
	}
	p.order(playOrder{Fault: "out of order"})
	if _, err := file.ReadAt(got, 12<<20); !errors.Is(err, syscall.EIO) {
		t.Errorf("a read that fails gives %v", err)
	}
	p.order(playOrder{Fault: "none"})
	for offset := int64(4); offset < 16; offset++ {
		if _, err := file.ReadAt(got, offset<<20); err != nil {
			t.Fatal(err)
		}
		want := make([]byte, 1<<20)
		fillContent(want, 1, offset<<20)
		if !bytes.Equal(got, want) {
			t.Errorf("other bytes at %d MiB", offset)
		}
	}
}

// TestAFileThatIsRemovedWhileItIsOpen removes a file of a file system that reads by name.
func TestAFileThatIsRemovedWhileItIsOpen(t *testing.T) {
	p := startPlay(t, playOptions{})
	p.put(playFile{Name: "f", Size: 1 << 20, Seed: 1})
	file := openDirect(t, p.path("f"))
	p.order(playOrder{Remove: "f"})
	if n, err := file.ReadAt(make([]byte, 100), 0); !errors.Is(err, syscall.ESTALE) {
		t.Errorf("what was removed gives %d bytes, %v", n, err)
	}
	if _, err := os.Open(p.path("f")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("to open it gives %v", err)
	}
}
