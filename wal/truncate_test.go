package wal

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"culvert/internal/disk"
	"culvert/internal/testkit/crashfs"
)

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

// narrowFile is a file with a limited size.
type narrowFile struct {
	disk.File
	room *int64
}

func (f narrowFile) Reserve(size int64) error {
	if size > *f.room {
		return syscall.ENOSPC
	}
	return f.File.Reserve(size)
}

// TestFullDisk cuts off the log, to make room, on a disk without room for another segment.
func TestFullDisk(t *testing.T) {
	const size = 4 * minSegmentSize
	room := size + eachSpare(size)
	options := Options{SegmentSize: size, fs: through{
		crashfs.New("/data").Boot(), func(f disk.File) disk.File { return narrowFile{f, &room} },
	}}
	open := func() *Log {
		t.Helper()
		log, recovery, err := Open(simulatedDir, options)
		if err != nil || !recovery.Clean {
			t.Fatal(recovery, err)
		}
		return log
	}
	closed := func(log *Log) {
		t.Helper()
		if err := log.Close(); err != nil {
			t.Fatal(err)
		}
	}
	large := strings.Repeat("x", size-headerSize-200)
	refused := func(log *Log) {
		t.Helper()
		lsn, err := log.Append(background, []byte(large))
		if lsn != 0 || !errors.Is(err, syscall.ENOSPC) || errors.Is(err, ErrFailed) {
			t.Fatalf("LSN %d, %v", lsn, err)
		}
	}
	log := open()
	mustAppend(t, log, large)
	mustAppend(t, log, "2")
	room = headerSize
	refused(log)
	mustAppend(t, log, "3") // which fits behind the others
	if err := log.TruncateFront(3); err != nil {
		t.Fatal(err)
	}
	closed(log)

	log = open()
	refused(log)
	if err := log.TruncateBack(2); err != nil {
		t.Fatal(err)
	}
	refused(log)
	if err := log.TruncateFront(3); err != nil || log.First() != 3 || log.Last() != 2 {
		t.Fatal(err, log.First(), log.Last())
	}
	closed(log)

	log = open()
	room = size + eachSpare(size)
	if lsn := mustAppend(t, log, large); lsn != 3 {
		t.Errorf("LSN %d", lsn)
	}
	closed(log)
}

// TestTailAcrossCut cuts off entries that a waiting reader has already read, and appends more than that. The reader
// must not take the new entries for the ones after the old ones.
func TestTailAcrossCut(t *testing.T) {
	log, _ := newLog(t, Options{})
	for i := range 10 {
		mustAppend(t, log, fmt.Sprint("old ", i+1))
	}
	var end error
	for r, err := range log.Tail(background, 0) {
		if err != nil {
			end = err
			break
		}
		if r.LSN > 10 {
			t.Fatalf("LSN %d, %q, behind entries that were cut off", r.LSN, r.Data)
		}
		if r.LSN == 10 {
			if err := log.TruncateBack(5); err != nil {
				t.Fatal(err)
			}
			for i := range 10 {
				mustAppend(t, log, fmt.Sprint("new ", i+6))
			}
		}
	}
	if !errors.Is(end, ErrTruncated) {
		t.Errorf("the end is %v", end)
	}
}

// TestCutInGroup cuts off the end of a group. The rest is a group, for readers and for Repair.
func TestCutInGroup(t *testing.T) {
	log, dir := newLog(t, Options{})
	mustAppend(t, log, "1")
	mustAppend(t, log, "2", "3", "4")
	if err := log.TruncateBack(3); err != nil {
		t.Fatal(err)
	}
	mustAppend(t, log, "5", "6")
	if err := log.TruncateBack(4); err != nil {
		t.Fatal(err)
	}
	ends := []LSN{}
	for r, err := range log.Records(background, 0) {
		if err != nil {
			t.Fatal(err)
		}
		if r.Last {
			ends = append(ends, r.LSN)
		}
	}
	if want := []LSN{1, 3, 4}; !slices.Equal(ends, want) {
		t.Errorf("groups end at %d, want %d", ends, want)
	}
	if err := log.Close(); err != nil {
		t.Fatal(err)
	}
	target := filepath.Join(t.TempDir(), "new")
	if r, err := Repair(background, dir, target, nil); err != nil || r.Last != 4 || r.Damage != nil {
		t.Errorf("%+v, %v", r, err)
	}
	log, _, err := Open(target, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if got := mustRead(t, log, 0); !slices.Equal(got, []string{"1", "2", "3", "5"}) {
		t.Errorf("%q", got)
	}
	if err := log.Close(); err != nil {
		t.Error(err)
	}
}

// TestTailAtTruncatedSegment removes the segment that a reader has just finished. The reader continues in the next one.
func TestTailAtTruncatedSegment(t *testing.T) {
	log, _ := newLog(t, Options{SegmentSize: minSegmentSize})
	large := strings.Repeat("x", 3000)
	mustAppend(t, log, large)
	next := LSN(1)
	for r, err := range log.Tail(background, 0) {
		if err != nil || r.LSN != next {
			t.Fatalf("LSN %d, %v, want %d", r.LSN, err, next)
		}
		if r.LSN == 5 {
			break
		}
		mustAppend(t, log, large)
		next++
		if err := log.TruncateFront(next); err != nil {
			t.Fatal(err)
		}
	}
}

// busyFile calls a function during each sync.
type busyFile struct {
	disk.File
	meanwhile func()
}

func (f busyFile) Sync() error {
	f.meanwhile()
	return f.File.Sync()
}

// TestCutOfBusyLog cuts off the end of a log to which others append during every sync. Their entries come after the
// cut, and do not delay it.
func TestCutOfBusyLog(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log *Log
		var appends sync.WaitGroup
		var syncs, cutting atomic.Int64
		const most = 100
		meanwhile := func() {
			if cutting.Load() == 0 || syncs.Load() == most {
				return
			}
			syncs.Add(1)
			appends.Go(func() {
				if _, err := log.AppendAsync(background, []byte("meanwhile")); err != nil {
					t.Error(err)
				}
			})
			synctest.Wait()
		}
		log, _ = newLog(t, Options{Sync: None, fs: through{
			disk.OS{}, func(f disk.File) disk.File { return busyFile{f, meanwhile} },
		}})
		mustAppend(t, log, "1", "2", "3")
		cutting.Store(1)
		if _, err := log.AppendAsync(background, []byte("4")); err != nil {
			t.Fatal(err)
		}
		if err := log.TruncateBack(1); err != nil {
			t.Fatal(err)
		}
		cutting.Store(0)
		appends.Wait()
		if syncs.Load() == most {
			t.Error("others have put off the cut")
		}
		entries := mustRead(t, log, 2)
		for _, entry := range entries {
			if entry != "meanwhile" {
				t.Errorf("%q is there", entries)
			}
		}
	})
}

// TestCutKeepsWhatComes appends while the end of a log is cut off, as soon as the cut has begun to write. The new
// entries come after the cut, and stay.
func TestCutKeepsWhatComes(t *testing.T) {
	for _, mode := range []SyncMode{Interval, None} {
		t.Run(fmt.Sprint("sync=", mode), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var log *Log
				var appends sync.WaitGroup
				var cutting atomic.Bool
				var lsn LSN
				log, _ = newLog(t, Options{Sync: mode, Interval: time.Hour, Observe: func(Flush) {
					if !cutting.Swap(false) {
						return
					}
					appends.Go(func() {
						var err error
						if lsn, err = log.Append(background, []byte("meanwhile")); err != nil {
							t.Error(err)
						}
					})
					synctest.Wait()
				}})
				mustAppend(t, log, "1", "2", "3", "4", "5", "6")
				cutting.Store(true)
				if err := log.TruncateBack(4); err != nil {
					t.Fatal(err)
				}
				appends.Wait()
				if got := mustRead(t, log, 5); lsn != 5 || !slices.Equal(got, []string{"meanwhile"}) {
					t.Errorf("LSN %d was acknowledged, there is %q", lsn, got)
				}
			})
		})
	}
}
