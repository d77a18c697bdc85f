package wal

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"

	"culvert/internal/testkit/crashfs"
)

func TestReadFromAnywhere(t *testing.T) {
	log, dir := newLog(t, Options{SegmentSize: minSegmentSize, Key: bytes.Repeat([]byte{1}, keySize)})
	var all []string
	for i := range 40 {
		p := strings.Repeat(fmt.Sprint(i, " "), 100)
		all = append(all, p)
		mustAppend(t, log, p)
	}
	for from := range LSN(42) {
		if got := mustRead(t, log, from); !slices.Equal(got, all[max(from, 1)-1:]) {
			t.Fatalf("%d entries from %d on", len(got), from)
		}
	}
	// Beside the writer, too.
	r, recovery, err := OpenReader(dir, bytes.Repeat([]byte{1}, keySize))
	if err != nil {
		t.Fatal(err)
	}
	if got, err := contents(r.Records(background, 30)); err != nil || !slices.Equal(got, all[29:]) || recovery.Clean {
		t.Errorf("%d entries, %v, %+v", len(got), err, recovery)
	}
	mustAppend(t, log, "one more")
	if err := r.Refresh(); err != nil {
		t.Fatal(err)
	}
	if got, err := contents(r.Records(background, 41)); err != nil || !slices.Equal(got, []string{"one more"}) {
		t.Errorf("%q, %v", got, err)
	}
	mustAppend(t, log, strings.Repeat("x", 4000)) // in a new segment
	if err := r.Refresh(); err != nil {
		t.Fatal(err)
	}
	if got, err := contents(r.Records(background, 42)); err != nil || len(got) != 1 {
		t.Errorf("%q, %v", got, err)
	}
	if segments := r.Segments(); len(segments) < 2 || segments[0].First != 1 || segments[len(segments)-1].Last != 42 {
		t.Errorf("%+v", segments)
	}
}

func TestTailWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := crashfs.New("/data")
		log, _, err := Open(simulatedDir, Options{Sync: None, fs: d.Boot()})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		var seen []LSN
		var last error
		done := make(chan struct{})
		go func() {
			defer close(done)
			for r, err := range log.Tail(ctx, 2) {
				if last = err; err == nil {
					seen = append(seen, r.LSN)
				}
			}
		}()
		mustAppend(t, log, "a", "b", "c")
		synctest.Wait()
		if len(seen) != 0 {
			t.Errorf("%v was given and is not durable", seen)
		}
		for _, want := range [][]LSN{{2, 3}, {2, 3, 4}} {
			if err := log.Sync(ctx); err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
			if !slices.Equal(seen, want) {
				t.Errorf("%v, want %v", seen, want)
			}
			mustAppend(t, log, "d")
		}
		cancel()
		<-done
		if !errors.Is(last, context.Canceled) {
			t.Errorf("the tail has ended with %v", last)
		}
		if err := log.Close(); err != nil {
			t.Fatal(err)
		}
		for _, err := range log.Tail(t.Context(), 6) {
			if !errors.Is(err, ErrClosed) {
				t.Errorf("the tail of a closed log has ended with %v", err)
			}
		}
	})
}

// TestTailFails checks that waiting readers get the error when the log fails.
func TestTailFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := crashfs.New("/data")
		broken := false
		d.Hook = func(o crashfs.Operation) crashfs.Fault {
			if broken && o.Kind == crashfs.Sync {
				return crashfs.IO
			}
			return crashfs.None
		}
		log, _, err := Open(simulatedDir, Options{fs: d.Boot()})
		if err != nil {
			t.Fatal(err)
		}
		mustAppend(t, log, "a")
		var last error
		done := make(chan struct{})
		go func() {
			defer close(done)
			for _, err := range log.Tail(t.Context(), 2) {
				last = err
			}
		}()
		synctest.Wait()
		broken = true
		_, err = log.Append(t.Context(), []byte("b"))
		if !errors.Is(err, ErrFailed) || !errors.Is(err, syscall.EIO) {
			t.Errorf("an append whose sync failed: %v", err)
		}
		var where *SegmentError
		if !errors.As(err, &where) || where.LSN != 2 || where.Offset != headerSize+40 {
			t.Errorf("an append whose sync failed: %v", err)
		}
		<-done
		if !errors.Is(last, ErrFailed) {
			t.Errorf("the tail has ended with %v", last)
		}
		if err := log.Close(); !errors.Is(err, ErrFailed) {
			t.Errorf("closed: %v", err)
		}
	})
}
