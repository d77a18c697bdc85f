package wal

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"

	"culvert/internal/testkit/crashfs"
)

// entriesOf reads a log that was closed.
func entriesOf(t *testing.T, dir string) []string {
	t.Helper()
	log, recovery, err := Open(dir, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if !recovery.Clean {
		t.Errorf("%+v", recovery)
	}
	entries := mustRead(t, log, 0)
	if err := log.Close(); err != nil {
		t.Fatal(err)
	}
	return entries
}

// TestMovedDirectory renames the directory of an open log and begins another log under the old name. Each log appends,
// reads and cuts off only in its own directory.
func TestMovedDirectory(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the directory of an open file cannot be renamed there")
	}
	for _, sync := range []SyncMode{Each, None} {
		t.Run(fmt.Sprint("sync=", sync), func(t *testing.T) {
			options := Options{SegmentSize: minSegmentSize, Sync: sync}
			first, dir := newLog(t, options)
			large := strings.Repeat("x", 3000)
			mustAppend(t, first, "1")
			moved := dir + ".moved"
			if err := os.Rename(dir, moved); err != nil {
				t.Fatal(err)
			}
			second, _, err := Open(dir, options)
			if err != nil {
				t.Fatal(err)
			}
			for range 3 {
				mustAppend(t, first, large)
				mustAppend(t, second, "B"+large)
			}
			if got := mustRead(t, first, 0); len(got) != 4 {
				t.Errorf("%d entries", len(got))
			}
			if err := errors.Join(first.TruncateFront(3), second.TruncateBack(2)); err != nil {
				t.Fatal(err)
			}
			if err := errors.Join(first.Close(), second.Close()); err != nil {
				t.Fatal(err)
			}
			if got := entriesOf(t, moved); !slices.Equal(got, []string{large, large}) {
				t.Errorf("%d entries in the log that was moved", len(got))
			}
			if got := entriesOf(t, dir); !slices.Equal(got, []string{"B" + large, "B" + large}) {
				t.Errorf("%d entries in the log that has taken its place", len(got))
			}
		})
	}
}

// TestLostLock removes the lock, or makes it unreadable. The log acknowledges nothing more.
func TestLostLock(t *testing.T) {
	lock := filepath.Join(simulatedDir, lockName)
	for name, lose := range map[string]func(*crashfs.Session) error{
		"removed": func(s *crashfs.Session) error { return s.Remove(lock) },
		"renamed": func(s *crashfs.Session) error { return s.Rename(lock, lock+".old") },
		"moved with the directory": func(s *crashfs.Session) error {
			return errors.Join(s.Rename(simulatedDir, movedDir), s.Remove(filepath.Join(movedDir, lockName)))
		},
		"unknown": nil,
	} {
		t.Run(name, func(t *testing.T) {
			d := crashfs.New("/data")
			session := d.Boot()
			log, _, err := Open(simulatedDir, Options{fs: session})
			if err != nil {
				t.Fatal(err)
			}
			mustAppend(t, log, "1")
			if lose != nil {
				err = lose(session)
			} else {
				d.Hook = func(o crashfs.Operation) crashfs.Fault {
					if o.Kind == crashfs.Held {
						return crashfs.IO
					}
					return crashfs.None
				}
			}
			if err != nil {
				t.Fatal(err)
			}
			if _, err := log.Append(background, []byte("2")); !errors.Is(err, ErrFailed) ||
				lose == nil && !errors.Is(err, syscall.EIO) {
				t.Errorf("error is %v", err)
			}
			if got := mustRead(t, log, 0); !slices.Equal(got, []string{"1"}) {
				t.Errorf("%q", got)
			}
			if err := log.Close(); !errors.Is(err, ErrFailed) {
				t.Errorf("closing: %v", err)
			}
		})
	}
}

// TestForeignSegment adds a segment of another log. The error names that file, whatever its number.
func TestForeignSegment(t *testing.T) {
	stranger, strangerDir := newLog(t, Options{SegmentSize: minSegmentSize})
	mustAppend(t, stranger, "stranger")
	if err := stranger.Close(); err != nil {
		t.Fatal(err)
	}
	for _, number := range []uint64{1, 9} {
		own, dir := newLog(t, Options{SegmentSize: minSegmentSize})
		for range 3 {
			mustAppend(t, own, strings.Repeat("x", 3000))
		}
		if err := errors.Join(own.TruncateFront(2), own.Close()); err != nil {
			t.Fatal(err)
		}
		content, err := os.ReadFile(filepath.Join(strangerDir, segmentName(1)))
		if err != nil {
			t.Fatal(err)
		}
		s, err := newSegment(dir, mustParse(t, content), nil)
		if err != nil {
			t.Fatal(err)
		}
		s.number = number
		slot := s.slot()
		copy(content, append(slot, slot...))
		foreign := filepath.Join(dir, segmentName(number))
		if err := os.WriteFile(foreign, content, 0o600); err != nil {
			t.Fatal(err)
		}
		_, _, err = Open(dir, Options{})
		where, ok := errors.AsType[*SegmentError](err)
		if !ok || !errors.Is(err, ErrForeign) || where.Segment != foreign {
			t.Errorf("segment %d: %v", number, err)
		}
	}
}

func mustParse(t *testing.T, content []byte) header {
	t.Helper()
	h, _, err := parseHeader(content[:headerSize])
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// TestReaderOfReplacedLog replaces the log that is read by another one.
func TestReaderOfReplacedLog(t *testing.T) {
	first, dir := newLog(t, Options{SegmentSize: minSegmentSize})
	mustAppend(t, first, "first")
	r, _, err := OpenReader(dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(first.Close(), os.Rename(dir, dir+".old")); err != nil {
		t.Fatal(err)
	}
	second, _, err := Open(dir, Options{SegmentSize: minSegmentSize})
	if err != nil {
		t.Fatal(err)
	}
	mustAppend(t, second, "second")
	mustAppend(t, second, "second")
	if err := r.Refresh(); !errors.Is(err, ErrForeign) {
		t.Errorf("error is %v", err)
	}
	if got, err := contents(r.Records(background, 0)); !errors.Is(err, ErrTruncated) {
		t.Errorf("%q, %v", got, err)
	}
	if err := second.Close(); err != nil {
		t.Error(err)
	}
}
