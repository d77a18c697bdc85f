package mountsuite

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"culvert/internal/testkit"
)

// randomSeed is the first seed of the random operations, which CULVERT_TEST_SEED sets.
func randomSeed(t *testing.T) uint64 {
	text := os.Getenv("CULVERT_TEST_SEED")
	if text == "" {
		return 1
	}
	seed, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return seed
}

// randomRuns returns the number of parallel runs of random operations, each with its own seed and mount.
func randomRuns() int {
	if testkit.Soak() {
		return 4
	}
	return 2
}

// eachRandomRun runs the random operations of one kind of mount.
func eachRandomRun(t *testing.T, operations int, run func(t *testing.T, seed uint64, operations int)) {
	first := randomSeed(t)
	runs := randomRuns()
	for i := range runs {
		seed := first + uint64(i)
		t.Run(fmt.Sprint("seed=", seed), func(t *testing.T) {
			t.Parallel()
			run(t, seed, operations/runs)
		})
	}
}

// randomOperations returns the number of operations for each kind of mount. The long form runs the wanted number.
func randomOperations(wanted int) int {
	switch {
	case testkit.RaceDetector():
		return 600
	case testkit.Soak():
		return wanted
	}
	return 2_000
}

// maxRandomSize is the largest size of the file: several requests and blocks.
const maxRandomSize = 3<<20 + 12345

// randomRun makes random operations on one file of a mount and compares the results with a model.
type randomRun struct {
	t       *testing.T
	seed    uint64
	random  *rand.Rand
	data    *rand.ChaCha8
	served  string // the served file
	path    string // the file in the mount
	model   []byte // expected content
	version int    // grows when the served file is changed behind the mount
	open    []*randomFile
	done    int
	last    []string // some operations, newest last
}

// randomFile is a descriptor. content is its expected content; nil means the model.
type randomFile struct {
	*os.File
	flags   int
	content []byte
	version int
}

func newRandomRun(t *testing.T, seed uint64, served, path string) *randomRun {
	data := rand.NewChaCha8([32]byte(bytes.Repeat(binary.LittleEndian.AppendUint64(nil, seed), 4)))
	return &randomRun{
		t: t, seed: seed, random: rand.New(rand.NewPCG(seed, 0)), data: data, served: served, path: path,
	}
}

// say records an operation for the messages of failures.
func (r *randomRun) say(format string, args ...any) {
	r.last = append(r.last, fmt.Sprintf("%d: ", r.done)+fmt.Sprintf(format, args...))
	if len(r.last) > 30 {
		r.last = r.last[1:]
	}
}

func (r *randomRun) fail(format string, args ...any) {
	r.t.Helper()
	for _, line := range r.last {
		r.t.Log(line)
	}
	r.t.Fatalf("seed %d: "+format, append([]any{r.seed}, args...)...)
}

func (r *randomRun) must(err error) {
	r.t.Helper()
	if err != nil {
		r.fail("%v", err)
	}
}

// extent returns a random part of a file, usually small, and sometimes beyond its end.
func (r *randomRun) extent(size int) (offset, length int) {
	length = 1 + r.random.IntN(1<<(1+r.random.IntN(17)))
	if r.random.IntN(50) == 0 {
		length = r.random.IntN(maxRandomSize)
	}
	offset = r.random.IntN(size + 1)
	if r.random.IntN(8) == 0 {
		offset = r.random.IntN(maxRandomSize)
	}
	if r.random.IntN(3) == 0 {
		offset &^= 4095
	}
	return offset, length
}

func (r *randomRun) bytes(n int) []byte {
	p := make([]byte, n)
	_, _ = r.data.Read(p)
	return p
}

// pick returns an open descriptor with one of the flags, or nil.
func (r *randomRun) pick(access ...int) *randomFile {
	var fit []*randomFile
	for _, f := range r.open {
		if slices.Contains(access, f.flags&unix.O_ACCMODE) {
			fit = append(fit, f)
		}
	}
	if len(fit) == 0 {
		return nil
	}
	return fit[r.random.IntN(len(fit))]
}

func (r *randomRun) openFile(flags int) *randomFile {
	r.say("open %#x", flags)
	file, err := os.OpenFile(r.path, flags, 0o644)
	r.must(err)
	f := &randomFile{File: file, flags: flags, version: r.version}
	r.open = append(r.open, f)
	return f
}

func (r *randomRun) close(f *randomFile) {
	r.say("close %#x", f.flags)
	r.open = slices.DeleteFunc(r.open, func(other *randomFile) bool { return other == f })
	r.must(f.Close())
}

func (r *randomRun) closeAll() {
	for len(r.open) > 0 {
		r.close(r.open[0])
	}
}

// expect returns the expected result of a read.
func expect(content []byte, offset, length int) []byte {
	if offset >= len(content) {
		return nil
	}
	return content[offset:min(len(content), offset+length)]
}

// compare describes where two contents differ.
func (r *randomRun) compare(what string, got, want []byte, offset int) {
	r.t.Helper()
	if bytes.Equal(got, want) {
		return
	}
	at := 0
	for at < len(got) && at < len(want) && got[at] == want[at] {
		at++
	}
	r.fail("%s at %d gives %d bytes, want %d; the first wrong one is at %d",
		what, offset, len(got), len(want), offset+at)
}

// read compares a part of the file. If the file has been replaced, the read may also fail.
func (r *randomRun) read(f *randomFile) {
	content := r.model
	if f.content != nil {
		content = f.content
	}
	offset, length := r.extent(len(content))
	r.say("read %#x of version %d of %d: %d at %d", f.flags, f.version, r.version, length, offset)
	p := make([]byte, length)
	n, err := f.ReadAt(p, int64(offset))
	if f.version != r.version && (isErrno(err, unix.ESTALE) || isErrno(err, unix.EIO)) {
		if !bytes.HasPrefix(expect(content, offset, length), p[:n]) {
			r.fail("a file that has changed gives %d wrong bytes before the error", n)
		}
		return
	}
	if err != nil && err != io.EOF {
		r.fail("read %d at %d: %v", length, offset, err)
	}
	r.compare("read", p[:n], expect(content, offset, length), offset)
}

// readMapped reads the file with mmap.
func (r *randomRun) readMapped(f *randomFile) {
	info, err := f.Stat()
	r.must(err)
	r.say("map %#x: %d", f.flags, info.Size())
	if int(info.Size()) != len(r.model) {
		r.fail("size is %d, want %d", info.Size(), len(r.model))
	}
	if len(r.model) == 0 {
		return
	}
	memory, err := unix.Mmap(int(f.Fd()), 0, len(r.model), unix.PROT_READ, unix.MAP_SHARED)
	r.must(err)
	offset, length := r.extent(len(r.model))
	want := expect(r.model, offset, length)
	got := bytes.Clone(expect(memory, offset, length))
	r.must(unix.Munmap(memory))
	r.compare("mapped read", got, want, offset)
}

func (r *randomRun) checkSize(size int64) {
	r.t.Helper()
	if int(size) != len(r.model) {
		r.fail("size is %d, want %d", size, len(r.model))
	}
}

// testRandomReads reads one file through many descriptors while its source changes. A read returns the content at the
// time of opening, or ESTALE.
func testRandomReads(t *testing.T, mount Mount, operations int) {
	eachRandomRun(t, operations, func(t *testing.T, seed uint64, operations int) {
		root := newServed(t)
		served := filepath.Join(root, "file")
		dir := mount(t, root, Options{})
		r := newRandomRun(t, seed, served, filepath.Join(dir, "file"))
		r.change()
		for r.done = range operations {
			r.step()
			if t.Failed() {
				return
			}
		}
		r.closeAll()
	})
}

func (r *randomRun) step() {
	f := r.pick(unix.O_RDONLY)
	switch n := r.random.IntN(1000); {
	case f == nil || n < 40 && len(r.open) < 10:
		r.openFile(os.O_RDONLY).content = r.model
	case n < 70:
		r.close(f)
	case n < 75:
		r.change()
	case n < 120:
		r.closeStale()
		f := r.openFile(os.O_RDONLY)
		f.content = r.model
		r.readMapped(f)
	case n < 160:
		f := r.openFile(os.O_RDONLY)
		f.content = r.model
		info, err := f.Stat()
		r.must(err)
		r.checkSize(info.Size())
	default:
		r.read(f)
	}
}

// closeStale closes the descriptors of earlier versions.
func (r *randomRun) closeStale() {
	for _, f := range slices.Clone(r.open) {
		if f.version != r.version {
			r.close(f)
		}
	}
}

// change changes the served file, in place or by another file, with the same size or another.
func (r *randomRun) change() {
	size := len(r.model)
	if r.random.IntN(2) == 0 || size == 0 {
		size = 1 + r.random.IntN(maxRandomSize)
	}
	r.model = r.bytes(size)
	r.version++
	name := r.served
	replace := r.random.IntN(2) == 0
	r.say("change to %d bytes, replace %v", size, replace)
	if replace {
		name += ".new"
	}
	r.must(os.WriteFile(name, r.model, 0o644))
	// Two changes within one clock tick of the file system must still differ.
	modified := time.Unix(1_700_000_000, int64(r.version)*1000)
	r.must(os.Chtimes(name, modified, modified))
	if replace {
		r.must(os.Rename(name, r.served))
	}
}
