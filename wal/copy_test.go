package wal

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"

	"culvert/internal/disk"
	"culvert/internal/testkit"
	"culvert/internal/testkit/crashfs"
)

// TestCopy copies logs while others append to them. The copy has all entries that were durable before, in their groups,
// and only entries of the log.
func TestCopy(t *testing.T) {
	for _, key := range [][]byte{nil, bytes.Repeat([]byte{5}, keySize)} {
		log, dir := newLog(t, Options{SegmentSize: 64 << 10, Sync: None, Key: key})
		for i := range 300 {
			mustAppend(t, log, fmt.Sprint("first of ", i), strings.Repeat("x", i*7%1000))
		}
		if err := errors.Join(log.TruncateFront(7), log.Sync(background)); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(background)
		var appending sync.WaitGroup
		appending.Go(func() {
			for i := 0; ctx.Err() == nil && i < 20_000; i++ {
				mustAppend(t, log, fmt.Sprint("meanwhile ", i), strings.Repeat("y", i%100))
			}
		})
		copies := map[string]func(target string) (Copied, error){
			"of the log": func(target string) (Copied, error) { return log.Copy(background, target) },
			"of a reader": func(target string) (Copied, error) {
				r, _, err := OpenReader(dir, key)
				if err != nil {
					return Copied{}, err
				}
				return r.Copy(background, target)
			},
		}
		for name, copyTo := range copies {
			target := filepath.Join(t.TempDir(), "copy")
			durable := log.Durable()
			copied, err := copyTo(target)
			if err != nil {
				t.Fatal(name, err)
			}
			if copied.First != 7 || copied.Last < durable {
				t.Errorf("%s: %+v, and up to %d was durable", name, copied, durable)
			}
			seeCopy(t, target, log, copied)
			if _, err := copyTo(target); !errors.Is(err, fs.ErrExist) {
				t.Errorf("%s: a second copy in its place: %v", name, err)
			}
		}
		cancel()
		appending.Wait()
		if err := log.Close(); err != nil {
			t.Error(err)
		}
		if _, err := log.Copy(background, filepath.Join(t.TempDir(), "copy")); !errors.Is(err, ErrClosed) {
			t.Errorf("error is %v", err)
		}
	}
}

func seeCopy(t *testing.T, target string, log *Log, copied Copied) {
	t.Helper()
	type record struct {
		data string
		last bool
	}
	of := func(log *Log) (records []record) {
		for r, err := range log.Records(background, 0) {
			if err != nil {
				t.Fatal(err)
			}
			if r.LSN <= copied.Last {
				records = append(records, record{string(r.Data), r.Last})
			}
		}
		return records
	}
	other, recovery, err := Open(target, Options{Key: log.options.Key})
	if err != nil {
		t.Fatal(err)
	}
	if !recovery.Clean || recovery.First != copied.First || recovery.Last != copied.Last {
		t.Errorf("%+v of %+v", recovery, copied)
	}
	if !slices.Equal(of(other), of(log)) {
		t.Error("the copy has other entries")
	}
	if err := other.Close(); err != nil {
		t.Error(err)
	}
}

// TestCopyOfEmptyLog checks that a copy keeps the LSN of the next entry.
func TestCopyOfEmptyLog(t *testing.T) {
	log, _ := newLog(t, Options{})
	for _, want := range []LSN{1, 3} {
		target := filepath.Join(t.TempDir(), "copy")
		if copied, err := log.Copy(background, target); err != nil || copied.First != want || copied.Last != want-1 {
			t.Errorf("%+v, %v", copied, err)
		}
		other, _, err := Open(target, Options{})
		if err != nil {
			t.Fatal(err)
		}
		if lsn := mustAppend(t, other, "next"); lsn != want {
			t.Errorf("LSN %d, want %d", lsn, want)
		}
		if err := other.Close(); err != nil {
			t.Error(err)
		}
		mustAppend(t, log, "1", "2")
		if err := log.TruncateFront(log.Last() + 1); err != nil {
			t.Fatal(err)
		}
	}
}

// TestReadersBesideFastWriter reads a log whose writer creates and removes segments as fast as it can. Readers report
// that entries were cut off, and no other error. TestSegmentsLeaveMeanwhile does not leave to chance what they meet.
func TestReadersBesideFastWriter(t *testing.T) {
	session := crashfs.New("/data").Boot()
	log, _, err := Open(simulatedDir, Options{SegmentSize: minSegmentSize, Sync: None, fs: session})
	if err != nil {
		t.Fatal(err)
	}
	large := strings.Repeat("x", 2000)
	mustAppend(t, log, large)
	segments := 500
	if testkit.Soak() {
		segments = 20_000
	}
	var writing, reading sync.WaitGroup
	var done atomic.Bool
	writing.Go(func() {
		defer done.Store(true)
		for range segments {
			lsn := mustAppend(t, log, large, large)
			if lsn > 20 {
				if err := log.TruncateFront(lsn - 20); err != nil {
					t.Error(err)
				}
			}
		}
	})
	for range 4 {
		reading.Go(func() {
			for !done.Load() {
				if err := readAndRefresh(session); err != nil && !errors.Is(err, ErrTruncated) {
					t.Error(err)
				}
			}
		})
	}
	writing.Wait()
	reading.Wait()
	if err := log.Close(); err != nil {
		t.Error(err)
	}
}

func readAndRefresh(session *crashfs.Session) error {
	r, _, err := openReader(session, simulatedDir, nil)
	if err != nil {
		return err
	}
	for range 3 {
		if err := r.Refresh(); err != nil {
			return err
		}
		if _, err := contents(r.Records(background, 0)); err != nil {
			return err
		}
	}
	return nil
}

// TestTailAndClose follows a log that is closed. The entries that Close makes durable come before the end.
func TestTailAndClose(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log *Log
		var closing atomic.Bool
		var tails sync.WaitGroup
		tail := func() {
			tails.Go(func() {
				n := 0
				for r, err := range log.Tail(background, 0) {
					if err != nil {
						if !errors.Is(err, ErrClosed) || n != 2 {
							t.Errorf("after %d entries: %v", n, err)
						}
						return
					}
					if n++; r.LSN != LSN(n) {
						t.Errorf("LSN %d after %d entries", r.LSN, n-1)
					}
				}
			})
		}
		duringSync := func() {
			if closing.Swap(false) {
				tail()
				synctest.Wait() // a tail that does not wait comes to its end
			}
		}
		log, dir := newLog(t, Options{Sync: None, fs: through{
			disk.OS{}, func(f disk.File) disk.File { return busyFile{f, duringSync} },
		}})
		tail()
		mustAppend(t, log, "1", "2")
		closing.Store(true)
		if err := log.Close(); err != nil {
			t.Fatal(err)
		}
		tails.Wait()
		for _, err := range log.Tail(background, 0) {
			if !errors.Is(err, ErrClosed) {
				t.Errorf("error is %v", err)
			}
		}
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
}

// TestReadAcrossClose closes a log while several of its segments are read.
func TestReadAcrossClose(t *testing.T) {
	log, _ := newLog(t, Options{SegmentSize: minSegmentSize})
	for range 4 {
		mustAppend(t, log, strings.Repeat("x", 3000))
	}
	n := 0
	for _, err := range log.Records(background, 0) {
		if err != nil {
			t.Fatal(err)
		}
		if n++; n == 1 {
			if err := log.Close(); err != nil {
				t.Fatal(err)
			}
		}
	}
	if n != 4 {
		t.Errorf("%d entries", n)
	}
	if _, err := contents(log.Records(background, 0)); !errors.Is(err, ErrClosed) {
		t.Errorf("error is %v", err)
	}
}

// readFile calls a function before each read.
type readFile struct {
	disk.File
	read func()
}

func (f readFile) ReadAt(b []byte, offset int64) (int, error) {
	f.read()
	return f.File.ReadAt(b, offset)
}

// TestCopyBesideCuts copies a log whose ends are cut off while it is read. The copy has the entries that are left.
func TestCopyBesideCuts(t *testing.T) {
	large := strings.Repeat("x", 3000)
	cuts := map[string]func(log *Log) error{
		"front": func(log *Log) error {
			mustAppend(t, log, large)
			return log.TruncateFront(log.First() + 4)
		},
		"front, as far as the end": func(log *Log) error { return log.TruncateFront(log.Last() + 1) },
		"back": func(log *Log) error {
			err := log.TruncateBack(log.First() + 2)
			mustAppend(t, log, "after the cut")
			return err
		},
	}
	for name, cut := range cuts {
		for _, key := range [][]byte{nil, bytes.Repeat([]byte{5}, keySize)} {
			var log *Log
			cutting := 0
			during := func() {
				if cutting == 0 {
					return
				}
				if cutting--; cutting%3 == 2 { // also what was begun again is interrupted
					left := cutting
					cutting = 0
					if err := cut(log); err != nil {
						t.Error(err)
					}
					cutting = left
				}
			}
			fs := through{disk.OS{}, func(f disk.File) disk.File { return readFile{f, during} }}
			log, dir := newLog(t, Options{SegmentSize: minSegmentSize, Key: key, fs: fs})
			for range 20 {
				mustAppend(t, log, large)
			}
			copies := map[string]func(target string) (Copied, error){
				"of the log": func(target string) (Copied, error) { return log.Copy(background, target) },
				"of a reader": func(target string) (Copied, error) {
					cutting = 0
					r, _, err := openReader(fs, dir, key)
					if err != nil {
						return Copied{}, err
					}
					cutting = 9
					return r.Copy(background, target)
				},
			}
			for _, kind := range []string{"of the log", "of a reader"} {
				cutting = 9
				target := filepath.Join(t.TempDir(), "copy")
				copied, err := copies[kind](target)
				cutting = 0
				if err != nil || copied.First != log.First() {
					t.Fatalf("%s, copy %s: %+v, %v; the log begins at %d", name, kind, copied, err, log.First())
				}
				seeCopy(t, target, log, copied)
				for range 20 {
					mustAppend(t, log, large)
				}
			}
		}
	}
}

// TestCopyNeedsLittleRoom copies a log to a disk with just enough room for it.
func TestCopyNeedsLittleRoom(t *testing.T) {
	const size = 64 << 10
	log, _ := newLog(t, Options{SegmentSize: size})
	mustAppend(t, log, "1")
	v, err := log.beginRead(log.acknowledged)
	if err != nil {
		t.Fatal(err)
	}
	d := crashfs.New("/data")
	d.Space = size
	copied, damage, err := v.copyTo(background, d.Boot(), simulatedDir, nil, v.first, nil)
	if err := errors.Join(err, damage, log.endRead()); err != nil || copied.Last != 1 {
		t.Errorf("%+v, %v", copied, err)
	}
}

// TestCopyWithoutRoomToBeginAgain copies a log to a full disk. The end of the log is cut off meanwhile, so the copy has
// to begin again.
func TestCopyWithoutRoomToBeginAgain(t *testing.T) {
	log, _ := newLog(t, Options{SegmentSize: minSegmentSize})
	for range 10 {
		mustAppend(t, log, strings.Repeat("x", 1000))
	}
	v, err := log.beginRead(log.acknowledged)
	if err != nil {
		t.Fatal(err)
	}
	if err := log.TruncateBack(5); err != nil {
		t.Fatal(err)
	}
	d := crashfs.New("/data")
	again := func() (view, error) {
		d.Space = 1
		v.last = 5
		return v, nil
	}
	if _, _, err := v.copyTo(background, d.Boot(), simulatedDir, nil, v.first, again); !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("error is %v", err)
	}
	if err := errors.Join(log.endRead(), log.Close()); err != nil {
		t.Error(err)
	}
}

// TestCopyFails copies a log to a disk on which every operation fails once. Nothing is left that could be
// taken for a log, and another copy goes into the same directory.
func TestCopyFails(t *testing.T) {
	log, dir := newLog(t, Options{SegmentSize: minSegmentSize})
	for range 10 {
		mustAppend(t, log, strings.Repeat("x", 1000))
	}
	if err := log.Close(); err != nil {
		t.Fatal(err)
	}
	r, _, err := OpenReader(dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	for failing, met := 1, true; met; failing++ {
		d := crashfs.New("/data")
		faults := 0
		d.Hook = func(o crashfs.Operation) crashfs.Fault {
			if o.Number != failing {
				return crashfs.None
			}
			faults++
			return crashfs.NoSpace
		}
		session := d.Boot()
		v := r.view
		if v.dir, err = openFolder(r.fs, r.path); err != nil {
			t.Fatal(err)
		}
		_, damage, err := v.copyTo(background, session, simulatedDir, nil, v.first, nil)
		met = faults > 0
		if damage != nil || err != nil && !met {
			t.Fatalf("operation %d: %v, %v", failing, damage, err)
		}
		if err != nil {
			if left, _, err := openReader(session, simulatedDir, nil); err == nil && len(left.Segments()) > 0 {
				t.Errorf("operation %d: what is left is a log: %+v", failing, left.Segments())
			}
			if _, _, err := v.copyTo(background, session, simulatedDir, nil, v.first, nil); err != nil {
				t.Errorf("operation %d: the next copy: %v", failing, err)
			}
		}
		if err := v.dir.Close(); err != nil {
			t.Error(err)
		}
	}
}
