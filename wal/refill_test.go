package wal

import (
	"errors"
	"fmt"
	"slices"
	"testing"
)

// TestRefilledCut cuts off the end of a log that a reader knows and appends other entries, as many as were cut off or
// more. The reader notices it if it knew an entry that was cut off, and only then.
func TestRefilledCut(t *testing.T) {
	type action func(t *testing.T, log **Log, dir string)
	options := Options{SegmentSize: minSegmentSize}
	grow := func(n int) action {
		return func(t *testing.T, log **Log, _ string) {
			t.Helper()
			for range n {
				last := (*log).Last()
				mustAppend(t, *log, fmt.Sprint("entry ", last+1, " after ", (*log).cuts, " cuts"))
			}
		}
	}
	cut := func(lsn LSN) action {
		return func(t *testing.T, log **Log, _ string) {
			t.Helper()
			if err := (*log).TruncateBack(lsn); err != nil {
				t.Fatal(err)
			}
		}
	}
	front := func(lsn LSN) action {
		return func(t *testing.T, log **Log, _ string) {
			t.Helper()
			if err := (*log).TruncateFront(lsn); err != nil {
				t.Fatal(err)
			}
		}
	}
	reopen := func(t *testing.T, log **Log, dir string) {
		t.Helper()
		err := (*log).Close()
		if err == nil {
			*log, _, err = Open(dir, options)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	for name, test := range map[string]struct {
		before, after []action
		noticed       bool
	}{
		"refilled":                  {[]action{grow(10)}, []action{cut(5), grow(5)}, true},
		"refilled with more":        {[]action{grow(10)}, []action{cut(9), grow(7)}, true},
		"reopened after it":         {[]action{grow(10)}, []action{cut(5), grow(5), reopen}, true},
		"reopened before it":        {[]action{grow(9), cut(7), grow(3)}, []action{reopen, cut(5), grow(5)}, true},
		"two cuts":                  {[]action{grow(10)}, []action{cut(5), grow(20), cut(15), grow(1)}, true},
		"segments of cuts are gone": {[]action{grow(10)}, []action{cut(5), grow(5), cut(7), grow(9), front(11)}, true},
		"entries that it has never seen": {
			[]action{grow(10)},
			[]action{grow(10), cut(12), grow(10), cut(10), grow(10)},
			false,
		},
		"entries that it has never seen, and short segments": {
			[]action{grow(5)},
			[]action{grow(5), cut(7), grow(5), reopen, grow(5), reopen},
			false,
		},
		"earlier cut": {[]action{grow(10), cut(5), grow(5)}, []action{reopen, grow(5)}, false},
		"empty log":   {nil, []action{grow(10), cut(5), grow(5)}, false},
	} {
		t.Run(name, func(t *testing.T) {
			log, dir := newLog(t, options)
			do := func(actions []action) {
				for _, do := range actions {
					do(t, &log, dir)
				}
			}
			do(test.before)
			r, _, err := OpenReader(dir, nil)
			if err != nil {
				t.Fatal(err)
			}
			do(test.after)
			if err := r.Refresh(); errors.Is(err, ErrTruncated) != test.noticed || err != nil && !test.noticed {
				t.Errorf("error is %v", err)
			}
			if err := r.Refresh(); err != nil {
				t.Errorf("a second time: %v", err)
			}
			got, err := contents(r.Records(background, 0))
			if want := mustRead(t, log, 0); err != nil || !slices.Equal(got, want) {
				t.Errorf("%q, %v, want %q", got, err, want)
			}
			if err := log.Close(); err != nil {
				t.Error(err)
			}
		})
	}
}
