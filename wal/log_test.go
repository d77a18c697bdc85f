package wal

import (
	"context"
	"errors"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"go.uber.org/goleak"

	"culvert/internal/disk"
	"culvert/internal/testkit"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var background = context.Background()

// newLog opens a new log, which is closed at the end of the test.
func newLog(t testing.TB, options Options) (*Log, string) {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "log")
	log, _, err := Open(dir, options)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := log.Close(); err != nil && !errors.Is(err, ErrClosed) && !errors.Is(err, ErrFailed) {
			t.Error(err)
		}
	})
	return log, dir
}

func mustAppend(t testing.TB, log *Log, payloads ...string) LSN {
	t.Helper()
	group := make([][]byte, len(payloads))
	for i, p := range payloads {
		group[i] = []byte(p)
	}
	lsn, err := log.Append(background, group...)
	if err != nil {
		t.Fatal(err)
	}
	return lsn
}

func mustRead(t testing.TB, log *Log, from LSN) []string {
	t.Helper()
	entries, err := contents(log.Records(background, from))
	if err != nil {
		t.Fatal(err)
	}
	return entries
}

// TestCleanOpen sees that a log that was closed is not read when it is opened, however large it is.
func TestCleanOpen(t *testing.T) {
	log, dir := newLog(t, Options{Sync: None, SegmentSize: 64 << 10})
	for range 1000 {
		mustAppend(t, log, strings.Repeat("x", 1000))
	}
	if err := log.Close(); err != nil {
		t.Fatal(err)
	}
	log, recovery, err := Open(dir, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if want := (Recovery{First: 1, Last: 1000, Clean: true}); recovery != want {
		t.Errorf("%+v, want %+v", recovery, want)
	}
	if err := log.Close(); err != nil {
		t.Fatal(err)
	}
}

func TestLimits(t *testing.T) {
	log, dir := newLog(t, Options{SegmentSize: minSegmentSize})
	largest := make([]byte, minSegmentSize-headerSize-recordHead)
	if _, err := log.Append(background, append(largest, 0)); !errors.Is(err, ErrTooLarge) {
		t.Errorf("an entry over the limit: %v", err)
	}
	if _, err := log.Append(background, largest[:2000], largest[:2100]); !errors.Is(err, ErrTooLarge) {
		t.Errorf("a group over the limit: %v", err)
	}
	for range 3 {
		if _, err := log.Append(background, largest); err != nil {
			t.Error(err)
		}
	}
	if _, err := log.Append(background); !errors.Is(err, ErrEmpty) {
		t.Errorf("an empty group: %v", err)
	}
	if err := log.TruncateFront(5); !errors.Is(err, ErrRange) {
		t.Errorf("a cut behind the end: %v", err)
	}
	if err := log.TruncateBack(4); !errors.Is(err, ErrRange) {
		t.Errorf("a cut behind the end: %v", err)
	}
	if err := errors.Join(log.TruncateFront(3), log.TruncateFront(2)); err != nil {
		t.Error(err)
	}
	if err := log.TruncateBack(1); !errors.Is(err, ErrTruncated) {
		t.Errorf("a cut before the beginning: %v", err)
	}
	if _, err := contents(log.Records(background, 2)); !errors.Is(err, ErrTruncated) {
		t.Errorf("reading what was cut off: %v", err)
	}
	if _, _, err := Open(dir, Options{}); !errors.Is(err, ErrLocked) {
		t.Errorf("a second writer: %v", err)
	}
	if _, _, err := Open(dir, Options{SegmentSize: 1}); err == nil {
		t.Error("a segment of one byte")
	}
	if _, _, err := Open(dir, Options{Sync: None + 1}); err == nil {
		t.Error("a mode that there is not")
	}
	if _, _, err := Open(dir, Options{Key: []byte("short")}); !errors.Is(err, ErrKey) {
		t.Errorf("a short key: %v", err)
	}
	if err := log.Close(); err != nil {
		t.Error(err)
	}
	if _, err := log.Append(background, []byte("x")); !errors.Is(err, ErrClosed) {
		t.Errorf("a closed log: %v", err)
	}
	if err := log.Sync(background); !errors.Is(err, ErrClosed) {
		t.Errorf("a closed log: %v", err)
	}
}

// readOnly is a file system that is mounted read-only: the lock cannot be opened either.
type readOnly struct{ disk.FS }

func (readOnly) Mkdir(string) error { return nil }

func (r readOnly) OpenLogDir(dir string) (disk.LogDir, error) {
	d, err := r.FS.OpenLogDir(dir)
	return readOnlyDir{d}, err
}

type readOnlyDir struct{ disk.LogDir }

func (readOnlyDir) Lock(name string) (disk.Lock, error) {
	return nil, &fs.PathError{Op: "open", Path: name, Err: syscall.EROFS}
}

func TestReadOnlyDirectory(t *testing.T) {
	log, dir := newLog(t, Options{})
	mustAppend(t, log, "a")
	if err := log.Close(); err != nil {
		t.Fatal(err)
	}
	fsys := readOnly{disk.OS{}}
	_, _, err := Open(dir, Options{fs: fsys})
	if !errors.Is(err, syscall.EROFS) {
		t.Errorf("error is %v", err)
	}
	r, _, err := openReader(fsys, dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := contents(r.Records(background, 0)); err != nil || !slices.Equal(got, []string{"a"}) {
		t.Errorf("%q, %v", got, err)
	}
}

func TestObserve(t *testing.T) {
	var flushes []Flush
	log, _ := newLog(t, Options{Observe: func(f Flush) { flushes = append(flushes, f) }})
	mustAppend(t, log, "a", "b")
	if len(flushes) != 1 {
		t.Fatalf("%+v", flushes)
	}
	if f := flushes[0]; f.Entries != 2 || f.Sync <= 0 || f.Durable != 2 || f.Bytes != 80 || f.Err != nil {
		t.Errorf("%+v", f)
	}
}

// TestMemory checks that the buffers of a log do not outgrow their documented size.
func TestMemory(t *testing.T) {
	log, _ := newLog(t, Options{Sync: None})
	for _, test := range []struct {
		entries, size int
		most          int // of one buffer
	}{{50_000, 128, batchSize}, {2, 3 << 20, 4 * batchSize}, {2, 9 << 20, 4 * batchSize}} {
		payload := make([]byte, test.size)
		for range test.entries {
			if _, err := log.AppendAsync(background, payload); err != nil {
				t.Fatal(err)
			}
		}
		if err := log.Sync(background); err != nil {
			t.Fatal(err)
		}
		log.io.Lock()
		log.mu.Lock()
		filling, spare := cap(log.filling.data), cap(log.spare.data)
		log.mu.Unlock()
		log.io.Unlock()
		if max(filling, spare) > test.most {
			t.Errorf("%d bytes after entries of %d bytes, and %d", filling, test.size, spare)
		}
	}
}

// TestAllocations checks that appending and reading allocate nothing.
func TestAllocations(t *testing.T) {
	payload := make([]byte, 128)
	for _, key := range [][]byte{nil, make([]byte, keySize)} {
		for _, mode := range []SyncMode{Each, None} {
			log, _ := newLog(t, Options{Sync: mode, Key: key})
			for _, do := range []func() error{
				func() error { _, err := log.Append(background, payload); return err },
				func() error { _, err := log.Append(background, payload, payload, payload); return err },
			} {
				testkit.Allocs(t, 0, func() {
					if err := do(); err != nil {
						t.Fatal(err)
					}
				})
			}
			if mode == Each {
				continue
			}
			testkit.Allocs(t, 0, func() {
				if _, err := log.AppendAsync(background, payload); err != nil {
					t.Fatal(err)
				}
			})
			n := 0
			perRead := testing.AllocsPerRun(3, func() {
				n = 0
				for _, err := range log.Records(background, 0) {
					if err != nil {
						t.Fatal(err)
					}
					n++
				}
			})
			if !testkit.RaceDetector() && (perRead > 30 || n < 400) {
				t.Errorf("%v allocations to read %d entries", perRead, n)
			}
		}
	}
}
