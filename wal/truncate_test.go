package wal

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"

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

// narrow is a file system that has room for files up to a size.
type narrow struct {
	disk.FS
	room *int64
}

type narrowFile struct {
	disk.File
	room *int64
}

func (n narrow) Create(name string) (disk.File, error) {
	f, err := n.FS.Create(name)
	return narrowFile{f, n.room}, err
}

func (f narrowFile) Reserve(size int64) error {
	if size > *f.room {
		return syscall.ENOSPC
	}
	return f.File.Reserve(size)
}

// TestFullDisk cuts a log off on a disk that has no room for another segment, as one does to make room.
func TestFullDisk(t *testing.T) {
	const size = 4 * minSegmentSize
	room := int64(size)
	options := Options{SegmentSize: size, fs: narrow{crashfs.New("/data").Boot(), &room}}
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
	room = size
	if lsn := mustAppend(t, log, large); lsn != 3 {
		t.Errorf("LSN %d", lsn)
	}
	closed(log)
}

// TestReaderAndCuts has a reader without the log look on while the log is cut off.
func TestReaderAndCuts(t *testing.T) {
	for name, cut := range map[string]func(*Log) error{
		"front": func(log *Log) error { return log.TruncateFront(6) },
		"back":  func(log *Log) error { return errors.Join(log.TruncateBack(4), log.TruncateFront(4)) },
	} {
		t.Run(name, func(t *testing.T) {
			log, dir := newLog(t, Options{SegmentSize: minSegmentSize})
			for i := range 6 {
				mustAppend(t, log, strings.Repeat(fmt.Sprint(i+1), 3000))
			}
			r, _, err := OpenReader(dir, nil)
			if err != nil {
				t.Fatal(err)
			}
			if err := cut(log); err != nil {
				t.Fatal(err)
			}
			if _, err := contents(r.Records(background, 1)); !errors.Is(err, ErrTruncated) {
				t.Errorf("entries that were cut off: %v", err)
			}
			if err := r.Refresh(); errors.Is(err, ErrTruncated) != (name == "back") || err != nil && name == "front" {
				t.Fatal(err)
			}
			got, err := contents(r.Records(background, 0))
			if want := mustRead(t, log, 0); err != nil || fmt.Sprint(got) != fmt.Sprint(want) {
				t.Errorf("%d entries, %d are in the log: %v", len(got), len(want), err)
			}
		})
	}
}
