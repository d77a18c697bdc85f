package wal

import (
	"context"
	"errors"
	"slices"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"culvert/internal/disk"
	"culvert/internal/testkit/crashfs"
)

// TestInterval checks that entries become durable without a call.
func TestInterval(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		options := Options{Sync: Interval, Interval: time.Minute, fs: crashfs.New("/data").Boot()}
		log, _, err := Open(simulatedDir, options)
		if err != nil {
			t.Fatal(err)
		}
		mustAppend(t, log, "a")
		if log.Durable() != 0 {
			t.Error("it is durable at once")
		}
		await(t, log, 1)
		if log.Durable() != 1 {
			t.Error("it is not durable")
		}
		// What nobody waits for is written, too.
		if _, err := log.AppendAsync(t.Context(), []byte("b")); err != nil {
			t.Fatal(err)
		}
		await(t, log, 2)
		if err := log.Close(); err != nil {
			t.Fatal(err)
		}
	})
}

// await waits until an entry is durable.
func await(t *testing.T, log *Log, lsn LSN) {
	t.Helper()
	for _, err := range log.Tail(t.Context(), lsn) {
		if err != nil {
			t.Fatal(err)
		}
		return
	}
}

// stuckFile is a file whose syncs wait.
type stuckFile struct {
	disk.File
	wait chan struct{}
}

func (f stuckFile) Sync() error {
	<-f.wait
	return f.File.Sync()
}

// TestContextEndsTheWait cancels an append whose sync takes forever. The entry comes in nevertheless.
func TestContextEndsTheWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		wait := make(chan struct{}, 1)
		wait <- struct{}{} // of the new segment
		fsys := through{crashfs.New("/data").Boot(), func(f disk.File) disk.File { return stuckFile{f, wait} }}
		log, _, err := Open(simulatedDir, Options{fs: fsys})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		lsn, err := log.Append(ctx, []byte("late"))
		if lsn != 1 || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("LSN %d, %v", lsn, err)
		}
		if lsn, err := log.Append(ctx, []byte("never")); lsn != 0 || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("LSN %d, %v", lsn, err)
		}
		close(wait)
		if err := log.Sync(t.Context()); err != nil {
			t.Fatal(err)
		}
		if got := mustRead(t, log, 0); !slices.Equal(got, []string{"late"}) {
			t.Errorf("%q", got)
		}
		if err := log.Close(); err != nil {
			t.Fatal(err)
		}
	})
}

// TestNoRoom fills the disk before a segment begins. The log continues when there is space again.
func TestNoRoom(t *testing.T) {
	d := crashfs.New("/data")
	full := false
	d.Hook = func(o crashfs.Operation) crashfs.Fault {
		if full && o.Kind == crashfs.Reserve {
			return crashfs.NoSpace
		}
		return crashfs.None
	}
	log, _, err := Open(simulatedDir, Options{SegmentSize: minSegmentSize, fs: d.Boot()})
	if err != nil {
		t.Fatal(err)
	}
	large := strings.Repeat("x", 3000)
	mustAppend(t, log, large)
	full = true
	for range 2 {
		if lsn, err := log.Append(background, []byte(large)); lsn != 0 || !errors.Is(err, syscall.ENOSPC) ||
			errors.Is(err, ErrFailed) {
			t.Errorf("LSN %d, %v", lsn, err)
		}
	}
	full = false
	if lsn := mustAppend(t, log, "y"); lsn != 2 {
		t.Errorf("LSN %d", lsn)
	}
	if got := mustRead(t, log, 0); !slices.Equal(got, []string{large, "y"}) {
		t.Errorf("%d entries", len(got))
	}
	if err := log.Close(); err != nil {
		t.Error(err)
	}
}
