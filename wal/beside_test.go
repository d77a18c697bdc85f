package wal

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"culvert/internal/disk"
	"culvert/internal/testkit/crashfs"
)

// interruptedFile calls a function once, after the first read that has reached the zeros behind the end.
type interruptedFile struct {
	disk.File
	then func()
}

func (f *interruptedFile) ReadAt(b []byte, offset int64) (int, error) {
	n, err := f.File.ReadAt(b, offset)
	if n > 0 && b[n-1] == 0 && f.then != nil {
		f.then()
		f.then = nil
	}
	return n, err
}

// TestReadBesideWriter opens a log for reading while another appends faster than it is read. A record that is written
// between two looks of the reader is not damage.
func TestReadBesideWriter(t *testing.T) {
	log, dir := newLog(t, Options{})
	mustAppend(t, log, "first")
	large := strings.Repeat("x", tailSize/2)
	more := func() {
		for range 4 {
			mustAppend(t, log, large)
		}
	}
	fsys := through{disk.OS{}, func(f disk.File) disk.File { return &interruptedFile{f, more} }}
	r, recovery, err := openReader(fsys, dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	entries, err := contents(r.Records(background, 0))
	if err != nil {
		t.Fatal(err)
	}
	if len(entries) != int(recovery.Last) || entries[0] != "first" {
		t.Errorf("%d entries, %+v", len(entries), recovery)
	}
}

// interruptedDir calls a function before each file is opened.
type interruptedDir struct {
	disk.LogDir
	before func()
}

func (d interruptedDir) Open(name string, writable bool) (disk.File, error) {
	d.before()
	return d.LogDir.Open(name, writable)
}

type interruptedFS struct {
	disk.FS
	before func()
}

func (f interruptedFS) OpenLogDir(dir string) (disk.LogDir, error) {
	d, err := f.FS.OpenLogDir(dir)
	return interruptedDir{d, f.before}, err
}

// TestSegmentsLeaveMeanwhile removes the segments of a log between the moments at which a reader lists and opens them,
// several times in a row. The reader sees the segments that have come instead.
func TestSegmentsLeaveMeanwhile(t *testing.T) {
	log, dir := newLog(t, Options{SegmentSize: minSegmentSize})
	large := strings.Repeat("x", 3000)
	mustAppend(t, log, large)
	changes := 0
	fsys := interruptedFS{disk.OS{}, func() {
		if changes > 0 {
			changes--
			if err := log.TruncateFront(mustAppend(t, log, large)); err != nil {
				t.Error(err)
			}
		}
	}}
	for _, changes = range []int{1, 2, 5} {
		r, recovery, err := openReader(fsys, dir, nil)
		if err != nil {
			t.Fatal(err)
		}
		if changes > 0 || recovery.First != log.First() || recovery.Last != log.Last() {
			t.Errorf("%+v of a log from %d to %d, %d changes are left", recovery, log.First(), log.Last(), changes)
		}
		if got, err := contents(r.Records(background, 0)); err != nil || !slices.Equal(got, []string{large}) {
			t.Errorf("%d entries, %v", len(got), err)
		}
	}
}

// TestReadAcrossRestart refreshes a reader after the writer was killed and has started again, and after cuts.
func TestReadAcrossRestart(t *testing.T) {
	d := crashfs.New("/data")
	options := Options{SegmentSize: minSegmentSize, fs: d.Boot()}
	log, _, err := Open(simulatedDir, options)
	if err != nil {
		t.Fatal(err)
	}
	mustAppend(t, log, "1")
	mustAppend(t, log, "2")
	mustAppend(t, log, "3")
	d.Kill()
	_ = log.Close() // for its goroutines
	options.fs = d.Boot()
	r, _, err := openReader(options.fs, simulatedDir, nil)
	if err != nil {
		t.Fatal(err)
	}
	if log, _, err = Open(simulatedDir, options); err != nil {
		t.Fatal(err)
	}
	see := func(want ...string) {
		t.Helper()
		if got, err := contents(r.Records(background, 0)); err != nil || !slices.Equal(got, want) {
			t.Errorf("%q, %v, want %q", got, err, want)
		}
	}
	see("1", "2", "3")
	mustAppend(t, log, "4")
	if err := r.Refresh(); err != nil {
		t.Fatal(err)
	}
	see("1", "2", "3", "4")
	if err := log.TruncateBack(2); err != nil {
		t.Fatal(err)
	}
	if err := r.Refresh(); !errors.Is(err, ErrTruncated) {
		t.Errorf("error is %v", err)
	}
	see("1", "2")
	mustAppend(t, log, "new 3")
	if err := r.Refresh(); err != nil {
		t.Error(err)
	}
	see("1", "2", "new 3")
	if err := log.Close(); err != nil {
		t.Error(err)
	}
}

// TestReaderAndCuts has a reader without the log read while the log is cut off.
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
