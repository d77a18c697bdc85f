package wal

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
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
