package wal

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"culvert/internal/disk"
	"culvert/internal/testkit"
	"culvert/internal/testkit/crashfs"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var background = context.Background()

// newLog opens a new log, which the end of the test closes.
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

// TestManyWriters has goroutines append at the same time, in every mode, beside readers and cuts. Each sees its own
// entries in its order.
func TestManyWriters(t *testing.T) {
	for _, mode := range []SyncMode{Each, Interval, None} {
		t.Run(fmt.Sprint(mode), func(t *testing.T) {
			const writers, each = 8, 100
			log, _ := newLog(t, Options{Sync: mode, Interval: time.Millisecond, SegmentSize: 32 << 10})
			ctx, cancel := context.WithCancel(background)
			defer cancel()
			var group, tails sync.WaitGroup
			for writer := range writers {
				group.Go(func() {
					how := background
					if writer%2 == 0 {
						how = ctx // which has the flusher write
					}
					for i := range each {
						p := fmt.Appendf(nil, "%d %d %s", writer, i, strings.Repeat("-", i))
						if writer%4 == 3 {
							ticket, err := log.AppendAsync(how, p)
							if err == nil && i%10 == 0 {
								err = ticket.Wait(how)
							}
							if err != nil {
								t.Error(err)
							}
						} else if _, err := log.Append(how, p); err != nil {
							t.Error(err)
						}
					}
				})
			}
			tails.Go(func() {
				seen := 0
				for r, err := range log.Tail(ctx, 1) {
					if err != nil {
						t.Error(err)
						return
					}
					if seen++; r.LSN != LSN(seen) || seen == writers*each {
						return
					}
					if seen%100 == 0 {
						if err := log.TruncateFront(r.LSN / 2); err != nil {
							t.Error(err)
						}
					}
				}
			})
			group.Go(func() {
				if err := log.Sync(background); err != nil {
					t.Error(err)
				}
			})
			group.Wait()
			if err := log.Sync(background); err != nil {
				t.Fatal(err)
			}
			tails.Wait()
			next := map[int]int{}
			for _, entry := range mustRead(t, log, 0) {
				var writer, i int
				if _, err := fmt.Sscan(entry, &writer, &i); err != nil {
					t.Fatal(err)
				}
				if former, ok := next[writer]; ok && i != former {
					t.Fatalf("entry %d of writer %d where %d should be", i, writer, former)
				}
				next[writer] = i + 1
			}
			if log.Last() != writers*each {
				t.Errorf("%d entries", log.Last())
			}
		})
	}
}

// TestManyWritersCrash has goroutines append while the disk crashes. Each entry that was acknowledged is there.
func TestManyWritersCrash(t *testing.T) {
	crashes := 50
	if thorough {
		crashes = 500
	}
	for seed := range crashes {
		s := newSimulation(uint64(seed))
		left := 20 + s.random.IntN(100)
		s.disk.Hook = func(o crashfs.Operation) crashfs.Fault {
			if o.Changes() {
				left--
			}
			if left == 0 {
				return crashfs.Stop
			}
			return crashfs.None
		}
		options := Options{SegmentSize: minSegmentSize, fs: s.disk.Boot()}
		log, _, err := Open(simulatedDir, options)
		if err != nil {
			t.Fatal(err)
		}
		var mu sync.Mutex
		acknowledged := map[LSN]string{}
		var group sync.WaitGroup
		for writer := range 4 {
			group.Go(func() {
				for i := 0; ; i++ {
					p := fmt.Sprint(writer, i, strings.Repeat("-", i%500))
					lsn, err := log.Append(background, []byte(p))
					if err != nil {
						return
					}
					mu.Lock()
					acknowledged[lsn] = p
					mu.Unlock()
				}
			})
		}
		group.Wait()
		s.disk.Hook = nil
		s.disk.Crash(s.random.IntN)
		_ = log.Close() // for its goroutines
		options.fs = s.disk.Boot()
		if log, _, err = Open(simulatedDir, options); err != nil {
			t.Fatal(err)
		}
		entries := mustRead(t, log, 0)
		for lsn, p := range acknowledged {
			if int(lsn) > len(entries) || entries[lsn-1] != p {
				t.Fatalf("seed %d: LSN %d was acknowledged and is lost", seed, lsn)
			}
		}
		if err := log.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

func TestReadFromAnywhere(t *testing.T) {
	log, dir := newLog(t, Options{SegmentSize: minSegmentSize, Key: bytes.Repeat([]byte{1}, keySize)})
	var all []string
	for i := range 40 {
		p := strings.Repeat(fmt.Sprint(i, " "), 100)
		all = append(all, p)
		mustAppend(t, log, p)
	}
	for from := range LSN(42) {
		if got := mustRead(t, log, from); !slices.Equal(got, all[max(from, 1)-1:]) {
			t.Fatalf("%d entries from %d on", len(got), from)
		}
	}
	// Beside the writer, too.
	r, recovery, err := OpenReader(dir, bytes.Repeat([]byte{1}, keySize))
	if err != nil {
		t.Fatal(err)
	}
	if got, err := contents(r.Records(background, 30)); err != nil || !slices.Equal(got, all[29:]) || recovery.Clean {
		t.Errorf("%d entries, %v, %+v", len(got), err, recovery)
	}
	mustAppend(t, log, "one more")
	if err := r.Refresh(); err != nil {
		t.Fatal(err)
	}
	if got, err := contents(r.Records(background, 41)); err != nil || !slices.Equal(got, []string{"one more"}) {
		t.Errorf("%q, %v", got, err)
	}
	mustAppend(t, log, strings.Repeat("x", 4000)) // in a new segment
	if err := r.Refresh(); err != nil {
		t.Fatal(err)
	}
	if got, err := contents(r.Records(background, 42)); err != nil || len(got) != 1 {
		t.Errorf("%q, %v", got, err)
	}
	if segments := r.Segments(); len(segments) < 2 || segments[0].First != 1 || segments[len(segments)-1].Last != 42 {
		t.Errorf("%+v", segments)
	}
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

func TestTailWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := crashfs.New("/data")
		log, _, err := Open(simulatedDir, Options{Sync: None, fs: d.Boot()})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		var seen []LSN
		var last error
		done := make(chan struct{})
		go func() {
			defer close(done)
			for r, err := range log.Tail(ctx, 2) {
				if last = err; err == nil {
					seen = append(seen, r.LSN)
				}
			}
		}()
		mustAppend(t, log, "a", "b", "c")
		synctest.Wait()
		if len(seen) != 0 {
			t.Errorf("%v was given and is not durable", seen)
		}
		for _, want := range [][]LSN{{2, 3}, {2, 3, 4}} {
			if err := log.Sync(ctx); err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
			if !slices.Equal(seen, want) {
				t.Errorf("%v, want %v", seen, want)
			}
			mustAppend(t, log, "d")
		}
		cancel()
		<-done
		if !errors.Is(last, context.Canceled) {
			t.Errorf("the tail has ended with %v", last)
		}
		if err := log.Close(); err != nil {
			t.Fatal(err)
		}
		for _, err := range log.Tail(t.Context(), 6) {
			if !errors.Is(err, ErrClosed) {
				t.Errorf("the tail of a closed log has ended with %v", err)
			}
		}
	})
}

// TestTailFails sees that who waits is told when the log fails.
func TestTailFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := crashfs.New("/data")
		broken := false
		d.Hook = func(o crashfs.Operation) crashfs.Fault {
			if broken && o.Kind == crashfs.Sync {
				return crashfs.IO
			}
			return crashfs.None
		}
		log, _, err := Open(simulatedDir, Options{fs: d.Boot()})
		if err != nil {
			t.Fatal(err)
		}
		mustAppend(t, log, "a")
		var last error
		done := make(chan struct{})
		go func() {
			defer close(done)
			for _, err := range log.Tail(t.Context(), 2) {
				last = err
			}
		}()
		synctest.Wait()
		broken = true
		if _, err := log.Append(t.Context(), []byte("b")); !errors.Is(err, ErrFailed) || !errors.Is(err, syscall.EIO) {
			t.Errorf("an append whose sync failed: %v", err)
		}
		<-done
		if !errors.Is(last, ErrFailed) {
			t.Errorf("the tail has ended with %v", last)
		}
		if err := log.Close(); !errors.Is(err, ErrFailed) {
			t.Errorf("closed: %v", err)
		}
	})
}

// TestInterval sees that entries become durable by themselves.
func TestInterval(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		options := Options{Sync: Interval, Interval: time.Minute, fs: crashfs.New("/data").Boot()}
		log, _, err := Open(simulatedDir, options)
		if err != nil {
			t.Fatal(err)
		}
		mustAppend(t, log, "a")
		if log.Durable() != 0 {
			t.Error("it is durable at once")
		}
		await(t, log, 1)
		if log.Durable() != 1 {
			t.Error("it is not durable")
		}
		// What nobody waits for is written, too.
		if _, err := log.AppendAsync(t.Context(), []byte("b")); err != nil {
			t.Fatal(err)
		}
		await(t, log, 2)
		if err := log.Close(); err != nil {
			t.Fatal(err)
		}
	})
}

// await waits until an entry is durable.
func await(t *testing.T, log *Log, lsn LSN) {
	t.Helper()
	for _, err := range log.Tail(t.Context(), lsn) {
		if err != nil {
			t.Fatal(err)
		}
		return
	}
}

// stuck is a file system whose syncs wait.
type stuck struct {
	disk.FS
	wait chan struct{}
}

type stuckFile struct {
	disk.File
	wait chan struct{}
}

func (s stuck) Create(name string) (disk.File, error) {
	f, err := s.FS.Create(name)
	return stuckFile{f, s.wait}, err
}

func (s stuck) Open(name string, writable bool) (disk.File, error) {
	f, err := s.FS.Open(name, writable)
	return stuckFile{f, s.wait}, err
}

func (f stuckFile) Sync() error {
	<-f.wait
	return f.File.Sync()
}

// TestContextEndsTheWait cancels an append whose sync takes forever. The entry comes in nevertheless.
func TestContextEndsTheWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		wait := make(chan struct{}, 1)
		wait <- struct{}{} // of the new segment
		log, _, err := Open(simulatedDir, Options{fs: stuck{crashfs.New("/data").Boot(), wait}})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		lsn, err := log.Append(ctx, []byte("late"))
		if lsn != 1 || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("LSN %d, %v", lsn, err)
		}
		if lsn, err := log.Append(ctx, []byte("never")); lsn != 0 || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("LSN %d, %v", lsn, err)
		}
		close(wait)
		if err := log.Sync(t.Context()); err != nil {
			t.Fatal(err)
		}
		if got := mustRead(t, log, 0); !slices.Equal(got, []string{"late"}) {
			t.Errorf("%q", got)
		}
		if err := log.Close(); err != nil {
			t.Fatal(err)
		}
	})
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
	if _, err := log.AppendEntries(background, Entry{Value: []byte("x")}); !errors.Is(err, ErrEmpty) {
		t.Errorf("an empty key: %v", err)
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

// readOnly is a file system that cannot be changed.
type readOnly struct{ disk.FS }

func (readOnly) Mkdir(string) error { return nil }

func (readOnly) Create(name string) (disk.File, error) {
	return nil, &fs.PathError{Op: "open", Path: name, Err: syscall.EROFS}
}

func TestReadOnlyDirectory(t *testing.T) {
	log, dir := newLog(t, Options{})
	mustAppend(t, log, "a")
	if err := log.Close(); err != nil {
		t.Fatal(err)
	}
	log, _, err := Open(dir, Options{fs: readOnly{disk.OS{}}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := log.Append(background, []byte("b")); !errors.Is(err, syscall.EROFS) {
		t.Errorf("error is %v", err)
	}
	if got := mustRead(t, log, 0); !slices.Equal(got, []string{"a"}) {
		t.Errorf("%q", got)
	}
	if err := log.Close(); err != nil {
		t.Error(err)
	}
}

// TestNoRoom fills the disk when a segment is to begin. The log goes on when there is space again.
func TestNoRoom(t *testing.T) {
	d := crashfs.New("/data")
	full := false
	d.Hook = func(o crashfs.Operation) crashfs.Fault {
		if full && o.Kind == crashfs.Reserve {
			return crashfs.NoSpace
		}
		return crashfs.None
	}
	log, _, err := Open(simulatedDir, Options{SegmentSize: minSegmentSize, fs: d.Boot()})
	if err != nil {
		t.Fatal(err)
	}
	large := strings.Repeat("x", 3000)
	mustAppend(t, log, large)
	full = true
	for range 2 {
		if lsn, err := log.Append(background, []byte(large)); lsn != 0 || !errors.Is(err, syscall.ENOSPC) ||
			errors.Is(err, ErrFailed) {
			t.Errorf("LSN %d, %v", lsn, err)
		}
	}
	full = false
	if lsn := mustAppend(t, log, "y"); lsn != 2 {
		t.Errorf("LSN %d", lsn)
	}
	if got := mustRead(t, log, 0); !slices.Equal(got, []string{large, "y"}) {
		t.Errorf("%d entries", len(got))
	}
	if err := log.Close(); err != nil {
		t.Error(err)
	}
}

func TestCutsAndReaders(t *testing.T) {
	log, dir := newLog(t, Options{SegmentSize: minSegmentSize})
	for i := range 10 {
		mustAppend(t, log, strings.Repeat(fmt.Sprint(i), 1500))
	}
	before, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	seen := 0
	for _, err := range log.Records(background, 0) {
		if seen++; seen == 1 {
			if err := log.TruncateFront(8); err != nil {
				t.Fatal(err)
			}
		}
		if err != nil && !errors.Is(err, ErrTruncated) {
			t.Fatal(err)
		}
	}
	after, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	if len(after) >= len(before) || log.First() != 8 || seen >= 10 {
		t.Errorf("%d files of %d, from LSN %d on, %d entries seen", len(after), len(before), log.First(), seen)
	}
	if err := log.TruncateBack(7); err != nil || len(mustRead(t, log, 0)) != 0 || log.Last() != 7 {
		t.Errorf("%v, not empty", err)
	}
	if lsn := mustAppend(t, log, "again"); lsn != 8 {
		t.Errorf("LSN %d", lsn)
	}
}

func TestRepair(t *testing.T) {
	for _, key := range [][]byte{nil, bytes.Repeat([]byte{3}, keySize)} {
		d := threeSegments(t, key)
		damage := map[string]func(*crashfs.Disk){
			"1-4 none":    func(*crashfs.Disk) {},
			"1-1 record":  func(d *crashfs.Disk) { d.Files(simulatedDir)[segmentName(2)][headerSize+40] ^= 1 },
			"1-1 headers": func(d *crashfs.Disk) { clear(d.Files(simulatedDir)[segmentName(2)][:headerSize]) },
			"1-1 missing": func(d *crashfs.Disk) { d.Delete(filepath.Join(simulatedDir, segmentName(2))) },
			"2-4 first":   func(d *crashfs.Disk) { d.Delete(filepath.Join(simulatedDir, segmentName(1))) },
			"1-3 last":    func(d *crashfs.Disk) { clear(d.Files(simulatedDir)[segmentName(3)][headerSize:]) },
		}
		for name, change := range damage {
			t.Run(name, func(t *testing.T) {
				d := d.Clone()
				change(d)
				session := d.Boot()
				r, err := repair(background, session, simulatedDir, "/data/new", key)
				if err != nil {
					t.Fatal(err)
				}
				want := name[:3]
				if got := fmt.Sprintf("%d-%d", r.First, r.Last); got != want || (r.Damage == nil) != (want == "1-4") {
					t.Errorf("%s, damage %v", got, r.Damage)
				}
				log, recovery, err := Open("/data/new", Options{Key: key, fs: session})
				if err != nil {
					t.Fatal(err)
				}
				if !recovery.Clean || recovery.First != r.First || len(mustRead(t, log, 0)) != int(r.Last-r.First+1) {
					t.Errorf("%+v", recovery)
				}
				if err := log.Close(); err != nil {
					t.Error(err)
				}
				if _, err := repair(background, session, simulatedDir, "/data/new", key); err == nil {
					t.Error("a log was written over")
				}
			})
		}
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

// TestAllocations holds the paths of appending and reading to none.
func TestAllocations(t *testing.T) {
	payload := make([]byte, 128)
	for _, key := range [][]byte{nil, make([]byte, keySize)} {
		for _, mode := range []SyncMode{Each, None} {
			log, _ := newLog(t, Options{Sync: mode, Key: key})
			entry := Entry{Key: "key", Value: payload, Created: time.Unix(1, 0).UTC()}
			for _, do := range []func() error{
				func() error { _, err := log.Append(background, payload); return err },
				func() error { _, err := log.Append(background, payload, payload, payload); return err },
				func() error { _, err := log.AppendEntries(background, entry); return err },
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
			if !raceEnabled && (perRead > 30 || n < 500) {
				t.Errorf("%v allocations to read %d entries", perRead, n)
			}
		}
	}
}

// update has TestGolden write its logs anew. That is to be done only when the version of the format changes.
var update = flag.Bool("update", false, "write the golden files")

// TestGolden reads logs that were written by the first version of the format.
func TestGolden(t *testing.T) {
	tests := []struct {
		name string
		key  []byte
		want Recovery
	}{
		{"closed", nil, Recovery{First: 2, Last: 6, Clean: true}},
		{"open", nil, Recovery{First: 1, Last: 6, Unproven: 1, Scanned: 1}},
		{"torn", nil, Recovery{First: 1, Last: 5, Torn: 24, Unproven: 1, Scanned: 1}},
		{"encrypted", []byte("golden key of thirty-two bytes !"), Recovery{First: 1, Last: 6, Clean: true}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if *update {
				writeGolden(t, test.name, test.key)
			}
			r, recovery, err := OpenReader(filepath.Join("testdata", test.name), test.key)
			if err != nil {
				t.Fatal(err)
			}
			if recovery != test.want {
				t.Errorf("%+v, want %+v", recovery, test.want)
			}
			next := recovery.First
			for record, err := range r.Records(background, 0) {
				if err != nil {
					t.Fatal(err)
				}
				got := fmt.Sprintf("%q", record.Data)
				if record.IsEntry() {
					e, err := record.Entry()
					if err != nil {
						t.Fatal(err)
					}
					got = fmt.Sprint(e.Version, e.Key, string(e.Value), e.Created.Format(time.RFC3339Nano))
				}
				if want := goldenEntries[next-1]; record.LSN != next || got != want {
					t.Errorf("LSN %d is %s, want %s", record.LSN, got, want)
				}
				next++
			}
			if next != recovery.Last+1 {
				t.Errorf("the last LSN is %d", next-1)
			}
		})
	}
}

var goldenEntries = []string{
	`"one"`, `"two"`, `"three"`, `""`, `7keyvalue2026-01-02T03:04:05.000000006+05:30`, `"six"`,
}

// writeGolden makes a log of the golden entries.
func writeGolden(t *testing.T, name string, key []byte) {
	t.Helper()
	log, dir := newLog(t, Options{SegmentSize: minSegmentSize, Key: key})
	mustAppend(t, log, "one", "two")
	mustAppend(t, log, "three")
	if name == "closed" {
		if err := log.TruncateFront(2); err != nil {
			t.Fatal(err)
		}
	}
	mustAppend(t, log, "")
	created := time.Date(2026, 1, 2, 3, 4, 5, 6, time.FixedZone("", 19800))
	entry := Entry{Version: 7, Key: "key", Value: []byte("value"), Created: created}
	if _, err := log.AppendEntries(background, entry); err != nil {
		t.Fatal(err)
	}
	mustAppend(t, log, "six")
	if name == "closed" || name == "encrypted" {
		if err := log.Close(); err != nil {
			t.Fatal(err)
		}
	}
	segment := filepath.Join(dir, segmentName(1))
	content, err := os.ReadFile(segment)
	if err != nil {
		t.Fatal(err)
	}
	if name == "torn" {
		clear(content[bytes.LastIndex(content, []byte("six"))-10:])
	}
	golden := filepath.Join("testdata", name)
	if err := os.MkdirAll(golden, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(golden, segmentName(1)), content, 0o600); err != nil {
		t.Fatal(err)
	}
}
