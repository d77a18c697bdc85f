package wal

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestTailAcrossCut cuts off what a reader that waits was given already, and appends more than that: the reader must
// not take the new entries for those that follow the old ones.
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

// TestCutInGroup cuts off the end of a group. What is left is a group, for readers and for Repair.
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

// TestTailAtTruncatedSegment removes the segment that a reader has just come to the end of. What comes next is there.
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
