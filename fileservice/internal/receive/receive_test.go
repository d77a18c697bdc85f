package receive

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"culvert/fileservice"
	"culvert/internal/publish"
	"culvert/internal/testkit"
	"culvert/wal"
)

// sample is a file that is received, in blocks.
type sample struct {
	content []byte
	version fileservice.Version
}

func newSample(size int) sample {
	random := rand.NewChaCha8([32]byte{byte(size)})
	s := sample{content: make([]byte, size)}
	_, _ = random.Read(s.content)
	s.version = fileservice.Version{Size: int64(size), ModifiedUnixNano: 1_600_000_000_123_456_789, Tag: 7}
	return s
}

func (s sample) block(n int64) []byte {
	return s.content[n*fileservice.BlockSize : min((n+1)*fileservice.BlockSize, int64(len(s.content)))]
}

func (s sample) sum(n int64) fileservice.Sum {
	return fileservice.SumBlock(s.block(n), n)
}

func (s sample) root() fileservice.Sum {
	var file fileservice.FileSum
	for n := range fileservice.Blocks(s.version.Size) {
		file.Append(s.sum(n))
	}
	return file.Sum()
}

func (s sample) write(t testing.TB, r *File, blocks ...int64) {
	t.Helper()
	for _, n := range blocks {
		if err := r.WriteBlock(n, s.block(n), s.sum(n)); err != nil {
			t.Fatal(err)
		}
	}
}

func openTestRoot(t testing.TB, dir string) *os.Root {
	t.Helper()
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := root.Close(); err != nil {
			t.Error(err)
		}
	})
	return root
}

// publisherIn gives a publisher that is closed when the test ends.
func publisherIn(t testing.TB, root *os.Root) *publish.Publisher {
	t.Helper()
	publisher, err := publish.NewPublisher(root)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := publisher.Close(); err != nil {
			t.Error(err)
		}
	})
	return publisher
}

func mustReceive(t testing.TB, root *os.Root, local string, version fileservice.Version) *File {
	t.Helper()
	r, err := Open(root, publisherIn(t, root), local, version, false)
	if err == nil {
		err = confirm(t.Context(), r)
	}
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func confirm(ctx context.Context, r *File) error {
	return r.Confirm(ctx, make([]byte, fileservice.BlockSize))
}

func seeOnly(t testing.TB, dir string, want ...string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, entry := range entries {
		names = append(names, entry.Name())
	}
	if slices.Sort(want); !slices.Equal(names, want) {
		t.Fatalf("there are %q, and not %q", names, want)
	}
}

func TestReceive(t *testing.T) {
	for _, size := range []int{0, 1, fileservice.BlockSize, 5*fileservice.BlockSize + 3, directSize + 3} {
		dir := t.TempDir()
		root := openTestRoot(t, dir)
		s := newSample(size)
		r := mustReceive(t, root, "file", s.version)
		var writers sync.WaitGroup
		for n := range fileservice.Blocks(s.version.Size) {
			writers.Go(func() {
				if err := r.WriteBlock(n, s.block(n), s.sum(n)); err != nil {
					t.Error(err)
				}
			})
		}
		writers.Wait()
		info, err := r.Finish(s.root(), 0o640)
		if err := errors.Join(err, r.Close()); err != nil {
			t.Fatal(err)
		}
		if info.Size() != int64(size) || info.Mode() != 0o640 || !info.ModTime().Equal(s.version.ModTime()) {
			t.Errorf("%v", info)
		}
		if got, err := os.ReadFile(filepath.Join(dir, "file")); err != nil || !bytes.Equal(got, s.content) {
			t.Errorf("not what was sent: %v", err)
		}
		seeOnly(t, dir, "file")
	}
}

func TestReceiveAgain(t *testing.T) {
	dir := t.TempDir()
	root := openTestRoot(t, dir)
	s := newSample(7*fileservice.BlockSize + 1)
	r := mustReceive(t, root, "file", s.version)
	s.write(t, r, 6, 1, 2)
	if _, err := Open(root, publisherIn(t, root), "file", s.version, false); !errors.Is(err, fileservice.ErrBusy) {
		t.Errorf("two at once: %v", err)
	}
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	seeOnly(t, dir, "file.culvert.part", "file.culvert.journal")

	r = mustReceive(t, root, "file", s.version)
	if got := r.Committed(); !slices.Equal(got, []fileservice.BlockRange{{First: 1, Count: 2}, {First: 6, Count: 1}}) {
		t.Fatalf("committed: %v", got)
	}
	s.write(t, r, 0, 1, 3, 4, 5)
	if err := r.WriteBlock(2, s.block(3), s.sum(3)); !errors.Is(err, fileservice.ErrIntegrity) {
		t.Errorf("a block with two hashes: %v", err)
	}
	if _, err := r.Finish(s.root(), 0); !errors.Is(err, fileservice.ErrRefused) {
		t.Errorf("a block is missing: %v", err)
	}
	s.write(t, r, 7)
	_, err := r.Finish(s.root(), 0)
	if err := errors.Join(err, r.Close()); err != nil {
		t.Fatal(err)
	}
	if got, err := os.ReadFile(filepath.Join(dir, "file")); err != nil || !bytes.Equal(got, s.content) {
		t.Errorf("not what was sent: %v", err)
	}
	seeOnly(t, dir, "file")
	if _, err := Open(root, publisherIn(t, root), "file", s.version, false); !errors.Is(err, fs.ErrExist) {
		t.Errorf("over a file: %v", err)
	}
}

// TestReceiveRecall goes on with what the same process has written before, without reading it.
func TestReceiveRecall(t *testing.T) {
	dir := t.TempDir()
	root := openTestRoot(t, dir)
	s := newSample(4 * fileservice.BlockSize)
	first := mustReceive(t, root, "file", s.version)
	s.write(t, first, 0, 1)
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	second := mustReceive(t, root, "file", s.version)
	s.write(t, second, 2)
	if err := second.Close(); err != nil {
		t.Fatal(err)
	}
	r, err := Open(root, publisherIn(t, root), "file", s.version, false)
	if err != nil {
		t.Fatal(err)
	}
	r.Recall(first)
	if got := r.unread(); !slices.Equal(got, []fileservice.BlockRange{{First: 2, Count: 1}}) {
		t.Errorf("to be read: %v", got)
	}
	if got := r.Committed(); !slices.Equal(got, []fileservice.BlockRange{{First: 0, Count: 2}}) {
		t.Errorf("committed: %v", got)
	}
	s.write(t, r, 2, 3) // what was not read is written
	_, err = r.Finish(s.root(), 0)
	if err := errors.Join(err, r.Close()); err != nil {
		t.Fatal(err)
	}
	if got, err := os.ReadFile(filepath.Join(dir, "file")); err != nil || !bytes.Equal(got, s.content) {
		t.Errorf("not what was sent: %v", err)
	}
}

func TestReceiveAfresh(t *testing.T) {
	for name, spoil := range map[string]func(t *testing.T, dir string, s *sample){
		"another version": func(_ *testing.T, _ string, s *sample) { s.version.Tag++ },
		"part is gone": func(t *testing.T, dir string, _ *sample) {
			if err := os.Remove(filepath.Join(dir, "file.culvert.part")); err != nil {
				t.Fatal(err)
			}
		},
		"part is short": func(t *testing.T, dir string, _ *sample) {
			if err := os.Truncate(filepath.Join(dir, "file.culvert.part"), fileservice.BlockSize); err != nil {
				t.Fatal(err)
			}
		},
		"journal is damaged": func(t *testing.T, dir string, _ *sample) {
			names, err := filepath.Glob(filepath.Join(dir, "file.culvert.journal", "*"))
			if err != nil {
				t.Fatal(err)
			}
			for _, name := range names {
				if err := os.WriteFile(name, bytes.Repeat([]byte("no log"), 4096), 0o600); err != nil {
					t.Fatal(err)
				}
			}
		},
		"journal has another format": func(t *testing.T, dir string, s *sample) {
			path := filepath.Join(dir, "file.culvert.journal")
			if err := os.RemoveAll(path); err != nil {
				t.Fatal(err)
			}
			log, _, err := wal.Open(path, wal.Options{})
			if err != nil {
				t.Fatal(err)
			}
			entry := append([]byte("culvert1"), firstEntry(s.version)[len(journalFormat):]...)
			_, err = log.Append(t.Context(), entry, make([]byte, 8+3*32))
			if err := errors.Join(err, log.Close()); err != nil {
				t.Fatal(err)
			}
		},
		"journal is a link": func(t *testing.T, dir string, _ *sample) {
			path := filepath.Join(dir, "file.culvert.journal")
			if err := errors.Join(os.Rename(path, path+".away"), os.Symlink(path+".away", path)); err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() {
				if entries, err := os.ReadDir(path + ".away"); err != nil || len(entries) == 0 {
					t.Errorf("what the link led to has changed: %v", err)
				}
			})
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			root := openTestRoot(t, dir)
			s := newSample(3 * fileservice.BlockSize)
			r := mustReceive(t, root, "file", s.version)
			s.write(t, r, 0, 2)
			if err := r.Close(); err != nil {
				t.Fatal(err)
			}
			spoil(t, dir, &s)
			r = mustReceive(t, root, "file", s.version)
			if got := r.Committed(); got != nil {
				t.Fatalf("committed: %v", got)
			}
			if r.Afresh != (name == "another version") {
				t.Errorf("Afresh is %v", r.Afresh)
			}
			s.write(t, r, 2, 1, 0)
			_, err := r.Finish(s.root(), 0)
			if err := errors.Join(err, r.Close()); err != nil {
				t.Fatal(err)
			}
			if got, err := os.ReadFile(filepath.Join(dir, "file")); err != nil || !bytes.Equal(got, s.content) {
				t.Errorf("not what was sent: %v", err)
			}
		})
	}
}

func TestReceiveWrongSum(t *testing.T) {
	dir := t.TempDir()
	root := openTestRoot(t, dir)
	s := newSample(2 * fileservice.BlockSize)
	r := mustReceive(t, root, "file", s.version)
	s.write(t, r, 0, 1)
	if err := r.Commit(); err != nil {
		t.Fatal(err)
	}
	if _, err := r.Finish(fileservice.Sum{}, 0); !errors.Is(err, fileservice.ErrIntegrity) {
		t.Error(err)
	}
	if err := r.Close(); err != nil {
		t.Error(err)
	}
	seeOnly(t, dir)
}

// failing is a file whose writes or syncs fail.
type failing struct {
	publish.File
	write, sync error
}

func (f failing) WriteAt(p []byte, offset int64) (int, error) {
	if f.write != nil {
		return 0, f.write
	}
	return f.File.WriteAt(p, offset)
}

func (f failing) Sync() error {
	if f.sync != nil {
		return f.sync
	}
	return f.File.Sync()
}

func (f failing) SyncAll() error {
	if f.sync != nil {
		return f.sync
	}
	return f.File.SyncAll()
}

func TestReceiveFaults(t *testing.T) {
	for name, fault := range map[string]failing{
		"write": {write: syscall.ENOSPC},
		"sync":  {sync: syscall.EIO},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			root := openTestRoot(t, dir)
			s := newSample(4 * fileservice.BlockSize)
			r := mustReceive(t, root, "file", s.version)
			s.write(t, r, 3)
			if err := r.Commit(); err != nil {
				t.Fatal(err)
			}
			fault.File = r.file
			r.file = fault
			want := errors.Join(fault.write, fault.sync)
			var err error
			for _, n := range []int64{0, 1, 2} {
				err = errors.Join(err, r.WriteBlock(n, s.block(n), s.sum(n)))
			}
			err = errors.Join(err, r.Commit())
			if !errors.Is(err, want.(interface{ Unwrap() []error }).Unwrap()[0]) {
				t.Fatalf("%v", err)
			}
			if _, err := r.Finish(s.root(), 0); err == nil {
				t.Error("it is complete")
			}
			if err := r.Close(); err != nil {
				t.Error(err)
			}
			seeOnly(t, dir, "file.culvert.part", "file.culvert.journal")
			r = mustReceive(t, root, "file", s.version)
			if got := r.Committed(); !slices.Equal(got, []fileservice.BlockRange{{First: 3, Count: 1}}) {
				t.Errorf("committed: %v", got)
			}
			if err := r.Close(); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestReceiveNames(t *testing.T) {
	outside := t.TempDir()
	dir := t.TempDir()
	root := openTestRoot(t, dir)
	if err := os.Symlink(outside, filepath.Join(dir, "away")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(filepath.Join(outside, "new"), filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(filepath.Join(outside, "new"), filepath.Join(dir, "file.culvert.part")); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(dir, "dir"), 0o700); err != nil {
		t.Fatal(err)
	}
	s := newSample(10)
	for _, local := range []string{
		"../file", "away/file", "/tmp/file", "link", "dir", "none/file", "file.culvert.part", "file",
	} {
		if r, err := Open(root, publisherIn(t, root), local, s.version, false); err == nil {
			t.Errorf("%s: opened", local)
			_ = r.Close()
		}
	}
	seeOnly(t, outside)

	long := strings.Repeat("n", fileservice.MaxElement)
	for _, local := range []string{long, long[1:] + "m"} {
		r := mustReceive(t, root, local, s.version)
		s.write(t, r, 0)
		_, err := r.Finish(s.root(), 0)
		if err := errors.Join(err, r.Close()); err != nil {
			t.Error(err)
		}
	}

	// A link that is overwritten is replaced; what it leads to is not touched.
	r, err := Open(root, publisherIn(t, root), "link", s.version, true)
	if err != nil {
		t.Fatal(err)
	}
	s.write(t, r, 0)
	_, err = r.Finish(s.root(), 0)
	if err := errors.Join(err, r.Close()); err != nil {
		t.Fatal(err)
	}
	seeOnly(t, outside)
	if info, err := root.Lstat("link"); err != nil || !info.Mode().IsRegular() {
		t.Errorf("%v %v", info, err)
	}
}

// A size is only somebody's word until the blocks have come.
func TestReceiveHugeSize(t *testing.T) {
	root := openTestRoot(t, t.TempDir())
	version := fileservice.Version{Size: 1<<62 + 5}
	r := mustReceive(t, root, "file", version)
	if _, err := r.Finish(fileservice.Sum{}, 0); !errors.Is(err, fileservice.ErrRefused) {
		t.Error(err)
	}
	if err := r.WriteBlock(fileservice.Blocks(version.Size), nil, fileservice.Sum{}); !errors.Is(err, fs.ErrInvalid) {
		t.Error(err)
	}
	if err := r.Close(); err != nil {
		t.Error(err)
	}
}

// What comes slowly is committed after a while, without anybody asking.
func TestReceiveSlowly(t *testing.T) {
	root := openTestRoot(t, t.TempDir())
	s := newSample(2 * fileservice.BlockSize)
	r := mustReceive(t, root, "file", s.version)
	s.write(t, r, 1)
	testkit.WaitFor(t, "the block is committed", func() bool { return len(r.Committed()) == 1 })
	if err := r.Discard(); err != nil {
		t.Error(err)
	}
}

// A kill may come when the file has two names already, or one and the journal still.
func TestReceiveAfterKillAtTheEnd(t *testing.T) {
	dir := t.TempDir()
	root := openTestRoot(t, dir)
	s := newSample(2 * fileservice.BlockSize)
	r := mustReceive(t, root, "file", s.version)
	s.write(t, r, 0, 1)
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	if err := root.Link("file.culvert.part", "file"); err != nil {
		t.Fatal(err)
	}
	newer := s.version
	newer.Tag++
	if _, err := Open(root, publisherIn(t, root), "file", newer, false); !errors.Is(err, fs.ErrExist) {
		t.Errorf("over a file: %v", err)
	}
	seeOnly(t, dir, "file")
	if err := root.Link("file", "file.culvert.part"); err != nil {
		t.Fatal(err)
	}
	r, err := Open(root, publisherIn(t, root), "file", newer, true)
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	if got, err := os.ReadFile(filepath.Join(dir, "file")); err != nil || !bytes.Equal(got, s.content) {
		t.Errorf("the file has changed: %v", err)
	}
}
