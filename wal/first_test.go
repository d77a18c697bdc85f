package wal

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// TestFirst begins logs at an LSN. It remains their first LSN when they are opened again.
func TestFirst(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "log")
	open := func(first LSN) (*Log, error) {
		t.Helper()
		log, recovery, err := Open(dir, Options{First: first, SegmentSize: minSegmentSize})
		if err == nil && (recovery.First != log.First() || recovery.Last != log.Last()) {
			t.Errorf("%+v of a log from %d to %d", recovery, log.First(), log.Last())
		}
		return log, err
	}
	closed := func(log *Log, err error) {
		t.Helper()
		if err == nil {
			err = log.Close()
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	see := func(first, last LSN) {
		t.Helper()
		_, recovery, err := OpenReader(dir, nil)
		if err != nil || recovery.First != first || recovery.Last != last {
			t.Errorf("%+v, %v, want %d to %d", recovery, err, first, last)
		}
	}
	closed(open(1000))
	see(1000, 999)
	closed(open(0))
	see(1000, 999)
	closed(open(2000)) // it has no entries
	see(2000, 1999)
	if _, err := open(1999); !errors.Is(err, fs.ErrExist) {
		t.Errorf("an LSN that another entry has had: %v", err)
	}
	log, err := open(2000)
	if err != nil {
		t.Fatal(err)
	}
	if lsn := mustAppend(t, log, "snapshot"); lsn != 2000 {
		t.Errorf("LSN %d", lsn)
	}
	closed(log, nil)
	for _, first := range []LSN{1, 2000, 2001, 5000} {
		if _, err := open(first); !errors.Is(err, fs.ErrExist) {
			t.Errorf("a log that has entries was to begin at %d: %v", first, err)
		}
	}
	if log, err = open(0); err != nil {
		t.Fatal(err)
	}
	if got := mustRead(t, log, 0); !slices.Equal(got, []string{"snapshot"}) {
		t.Errorf("%q", got)
	}
	closed(log, log.TruncateFront(2001))
	closed(open(1 << 40))
	see(1<<40, 1<<40-1)
	if _, err := open(farthest + 1); err == nil {
		t.Error("there is no such LSN")
	}
}

// TestBytes compares the sizes that a log and a reader report with the files.
func TestBytes(t *testing.T) {
	log, dir := newLog(t, Options{SegmentSize: minSegmentSize})
	if log.Bytes() != 0 || len(log.Segments()) != 0 {
		t.Errorf("%d bytes without an entry", log.Bytes())
	}
	mustAppend(t, log, "1")
	if n := log.Bytes(); n != headerSize+40 {
		t.Errorf("%d bytes with one entry", n)
	}
	large := string(make([]byte, 3000))
	for range 4 {
		mustAppend(t, log, large)
	}
	see := func() {
		t.Helper()
		r, _, err := OpenReader(dir, nil)
		if err != nil {
			t.Fatal(err)
		}
		segments, total := log.Segments(), int64(0)
		if !slices.Equal(segments, r.Segments()) {
			t.Errorf("%+v, and a reader sees %+v", segments, r.Segments())
		}
		for i, s := range segments {
			total += s.Bytes
			info, err := os.Stat(s.Path)
			if err != nil {
				t.Fatal(err)
			}
			if i < len(segments)-1 && info.Size() != s.Bytes {
				t.Errorf("%s has %d bytes, %+v", s.Path, info.Size(), s)
			}
		}
		if log.Bytes() != total || segments[0].First != log.First() || segments[len(segments)-1].Last != log.Last() {
			t.Errorf("%d bytes, %d of segments, %+v", log.Bytes(), total, segments)
		}
	}
	see()
	if err := errors.Join(log.TruncateFront(3), log.TruncateBack(4)); err != nil {
		t.Fatal(err)
	}
	see()
	mustAppend(t, log, "after the cut")
	see()
	if err := log.Close(); err != nil {
		t.Fatal(err)
	}
	see()
	log, _, err := Open(dir, Options{})
	if err != nil {
		t.Fatal(err)
	}
	see()
	if err := log.Close(); err != nil {
		t.Error(err)
	}
}
