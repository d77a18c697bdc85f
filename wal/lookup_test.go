package wal

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"culvert/internal/disk"
	"culvert/internal/testkit"
	"culvert/internal/testkit/crashfs"
)

// TestRead reads single entries in random order from several segments, including entries larger than one read.
func TestRead(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 1))
	for _, key := range [][]byte{nil, bytes.Repeat([]byte{1}, keySize)} {
		log, dir := newLog(t, Options{SegmentSize: 256 << 10, Sync: None, Key: key})
		var want []string
		for i := range 3000 {
			size := i % 700
			if i%500 == 0 {
				size = 40_000
			}
			want = append(want, strings.Repeat(string(rune('a'+i%26)), size))
			mustAppend(t, log, want[i])
			if i%1000 == 999 {
				readSome(t, log, want, random)
			}
		}
		if err := log.TruncateFront(500); err != nil {
			t.Fatal(err)
		}
		if err := log.TruncateBack(2500); err != nil {
			t.Fatal(err)
		}
		want = want[:2500]
		readSome(t, log, want, random)
		if err := log.Close(); err != nil {
			t.Fatal(err)
		}
		if _, err := log.Read(600, nil); !errors.Is(err, ErrClosed) {
			t.Errorf("closed: %v", err)
		}
		log, _, err := Open(dir, Options{Key: key})
		if err != nil {
			t.Fatal(err)
		}
		readSome(t, log, want, random)
		if err := log.Close(); err != nil {
			t.Error(err)
		}
	}
}

func readSome(t *testing.T, log *Log, want []string, random *rand.Rand) {
	t.Helper()
	buffer := []byte("before ")
	for range 500 {
		lsn := LSN(random.IntN(len(want) + 3))
		got, err := log.Read(lsn, buffer)
		switch {
		case lsn < log.First():
			if !errors.Is(err, ErrTruncated) {
				t.Fatalf("LSN %d: %v", lsn, err)
			}
		case lsn > log.Last():
			if !errors.Is(err, ErrRange) {
				t.Fatalf("LSN %d: %v", lsn, err)
			}
		case err != nil || string(got) != "before "+want[lsn-1]:
			t.Fatalf("LSN %d: %v, %.40q", lsn, err, got)
		}
	}
}

// TestReadUsesIndex counts the bytes that are read. After the first Read in a segment, others do not read the segment
// again.
func TestReadUsesIndex(t *testing.T) {
	var bytesRead atomic.Int64
	log, dir := newLog(t, Options{Sync: None, fs: through{
		disk.OS{}, func(f disk.File) disk.File { return countedFile{f, &bytesRead} },
	}})
	payloads := make([][]byte, 1000)
	for i := range payloads {
		payloads[i] = make([]byte, 128)
	}
	for range 100 {
		if _, err := log.Append(background, payloads...); err != nil {
			t.Fatal(err)
		}
	}
	read := func(lsn LSN) int64 {
		t.Helper()
		before := bytesRead.Load()
		if got, err := log.Read(lsn, nil); err != nil || len(got) != 128 {
			t.Fatalf("LSN %d: %d bytes, %v", lsn, len(got), err)
		}
		return bytesRead.Load() - before
	}
	if n := read(100_000); n < 15_000_000 {
		t.Errorf("%d bytes for the last entry of a new log: how was it found?", n)
	}
	for lsn := LSN(1); lsn <= 100_000; lsn += 997 {
		if n := read(lsn); n > 2*lookupSize {
			t.Errorf("%d bytes for LSN %d", n, lsn)
		}
	}
	r, _, err := openReader(log.options.fs, dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	before := bytesRead.Load()
	for _, err := range r.Records(background, 50_000) {
		if err != nil {
			t.Error(err)
		}
		break
	}
	if n := bytesRead.Load() - before; n > 2*readSize {
		t.Errorf("%d bytes for the first record of an iteration", n)
	}
}

// countedFile counts the bytes that are read from it.
type countedFile struct {
	disk.File
	bytes *atomic.Int64
}

func (f countedFile) ReadAt(b []byte, offset int64) (int, error) {
	n, err := f.File.ReadAt(b, offset)
	f.bytes.Add(int64(n))
	return n, err
}

// TestReadWhileCut reads entries while others append and both ends are cut off.
func TestReadWhileCut(t *testing.T) {
	session := crashfs.New("/data").Boot()
	log, _, err := Open(simulatedDir, Options{SegmentSize: minSegmentSize, Sync: None, fs: session})
	if err != nil {
		t.Fatal(err)
	}
	mustAppend(t, log, "1")
	var done atomic.Bool
	var reads sync.WaitGroup
	for range 4 {
		reads.Go(func() {
			for !done.Load() {
				lsn := log.Last()
				got, err := log.Read(lsn, nil)
				if err == nil && string(got) != fmt.Sprint(lsn)+strings.Repeat("x", 500) && lsn > 1 {
					t.Errorf("LSN %d is %q", lsn, got)
				}
				if err != nil && !errors.Is(err, ErrTruncated) && !errors.Is(err, ErrRange) {
					t.Error(err)
				}
			}
		})
	}
	for i := range 2000 {
		mustAppend(t, log, fmt.Sprint(log.Last()+1)+strings.Repeat("x", 500))
		var err error
		if i%100 == 50 {
			err = log.TruncateBack(log.Last() - 5)
		} else if i%100 == 99 {
			err = log.TruncateFront(log.Last() - 5)
		}
		if err != nil {
			t.Error(err)
		}
	}
	done.Store(true)
	reads.Wait()
	log.mu.Lock()
	if n := len(log.lookups); n > maxLookups {
		t.Errorf("%d segments are open", n)
	}
	log.mu.Unlock()
	if err := log.TruncateFront(log.Last() + 1); err != nil {
		t.Fatal(err)
	}
	log.mu.Lock()
	for _, c := range log.lookups {
		if !log.has(c.scanner.segment) {
			t.Error("a segment that was removed is open")
		}
	}
	log.mu.Unlock()
	if err := log.Close(); err != nil || len(log.lookups) > 0 {
		t.Errorf("%v, %d segments are open", err, len(log.lookups))
	}
}

func TestReadAllocatesNothing(t *testing.T) {
	for _, key := range [][]byte{nil, make([]byte, keySize)} {
		log, _ := newLog(t, Options{Sync: None, Key: key})
		for range 1000 {
			mustAppend(t, log, strings.Repeat("x", 128))
		}
		buffer := make([]byte, 0, 128)
		lsn := LSN(1)
		testkit.Allocs(t, 0, func() {
			if _, err := log.Read(lsn, buffer); err != nil {
				t.Fatal(err)
			}
			lsn = lsn%1000 + 1
		})
	}
}

// TestIndex fills indexes with the places of many records. They stay within their bound, and each record is found
// within the distance of marks.
func TestIndex(t *testing.T) {
	for _, size := range []int64{40, 5000, 100_000} {
		var x index
		at := func(lsn LSN) int64 { return headerSize + int64(lsn-1)*size }
		records := LSN(1 << 30 / size)
		wanted := int64(0)
		for lsn := LSN(1); lsn <= records; lsn++ {
			if at(lsn) >= wanted {
				wanted = x.add(mark{lsn, at(lsn)})
			}
		}
		if len(x.marks) > maxMarks {
			t.Errorf("%d marks", len(x.marks))
		}
		for lsn := LSN(1); lsn <= records; lsn += records/1000 + 1 {
			m := x.before(lsn)
			if m == (mark{}) {
				m = mark{1, headerSize}
			}
			most := max(1<<30/maxMarks*2, markDistance) + size
			if m.lsn > lsn || m.offset != at(m.lsn) || at(lsn)-m.offset > most {
				t.Fatalf("LSN %d at %d: %+v", lsn, at(lsn), m)
			}
		}
	}
}
