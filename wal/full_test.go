package wal

import (
	"errors"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"culvert/internal/testkit/crashfs"
)

// eachSpare returns the space that is reserved behind a segment in mode Each.
func eachSpare(size int64) int64 { return new(Options).spare(size) }

// TestFullDiskAfterKill kills logs on a disk that has no more room than what they have reserved: for the segment that
// they append to, or for one that was on its way. They can be opened again, and their front cut off to make room.
func TestFullDiskAfterKill(t *testing.T) {
	const size = 512 << 10
	for _, what := range []string{"active segment", "full segment", "segment on its way"} {
		t.Run(what, func(t *testing.T) {
			d := crashfs.New("/data")
			options := Options{SegmentSize: size, fs: d.Boot()}
			log, _, err := Open(simulatedDir, options)
			if err != nil {
				t.Fatal(err)
			}
			mustAppend(t, log, "1")
			mustAppend(t, log, "2", "3")
			d.Space = size + eachSpare(size)
			switch what {
			case "full segment":
				mustAppend(t, log, strings.Repeat("x", size-headerSize-2000))
				for err == nil {
					_, err = log.Append(background, make([]byte, 100))
				}
				if !errors.Is(err, syscall.ENOSPC) {
					t.Fatal(err)
				}
			case "segment on its way":
				mustAppend(t, log, strings.Repeat("x", size-headerSize-4*128))
				mustAppend(t, log, "proves the others durable")
				for range 3 {
					if _, err := log.Append(background, make([]byte, 1000)); !errors.Is(err, syscall.ENOSPC) {
						t.Fatal(err)
					}
				}
				// For the next attempt, whose file has a name that Open does not come to.
				d.Space = 2 * (size + eachSpare(size))
				d.Hook = func(o crashfs.Operation) crashfs.Fault {
					if o.Kind == crashfs.Rename {
						return crashfs.Stop
					}
					return crashfs.None
				}
				if _, err := log.Append(background, make([]byte, 1000)); !errors.Is(err, crashfs.ErrStopped) {
					t.Fatal(err)
				}
				d.Hook = nil
			}
			last := log.Last()
			d.Kill()
			_ = log.Close() // for its goroutines
			if what == "segment on its way" {
				d.Space -= eachSpare(size) // all the room there is, is that segment
			}
			for range 4 { // and after kills of those that have done nothing but open it
				options.fs = d.Boot()
				var recovery Recovery
				if log, recovery, err = Open(simulatedDir, options); err != nil {
					t.Fatal(err)
				}
				if recovery.Last != last {
					t.Errorf("%+v, want %d entries", recovery, last)
				}
				d.Kill()
				_ = log.Close() // for its goroutines
			}
			options.fs = d.Boot()
			if log, _, err = Open(simulatedDir, options); err != nil {
				t.Fatal(err)
			}
			if err := log.TruncateFront(last); err != nil {
				t.Fatal(err)
			}
			d.Space += 4 * headerSize // for what is left of the others beside a whole segment
			mustAppend(t, log, "y")
			if err := log.Close(); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestFullDiskAfterKillUnsynced is that for the modes in which most of a segment may not be proven durable.
func TestFullDiskAfterKillUnsynced(t *testing.T) {
	const size = 256 << 10
	for _, mode := range []SyncMode{Interval, None} {
		d := crashfs.New("/data")
		options := Options{Sync: mode, Interval: time.Hour, SegmentSize: size, fs: d.Boot()}
		log, _, err := Open(simulatedDir, options)
		if err != nil {
			t.Fatal(err)
		}
		mustAppend(t, log, "1")
		if err := log.Sync(background); err != nil { // so that the first segment stays
			t.Fatal(err)
		}
		for _, content := range d.Files(simulatedDir) { // all is used
			d.Space += int64(len(content))
		}
		for err == nil {
			_, err = log.Append(background, make([]byte, 1000))
		}
		if !errors.Is(err, syscall.ENOSPC) {
			t.Fatal(err)
		}
		last := log.Last()
		for range 4 {
			d.Kill()
			_ = log.Close() // for its goroutines
			options.fs = d.Boot()
			var recovery Recovery
			if log, recovery, err = Open(simulatedDir, options); err != nil {
				t.Fatal(mode, err)
			}
			if recovery.Last != last {
				t.Errorf("%+v, want %d entries", recovery, last)
			}
		}
		if err := log.TruncateFront(last); err != nil {
			t.Error(err)
		}
		if err := log.Close(); err != nil {
			t.Error(err)
		}
	}
}

// TestCutsKeepNoReserve cuts off the end again and again, and begins new segments before the old ones are full. What
// they had reserved behind their records is free again.
func TestCutsKeepNoReserve(t *testing.T) {
	const size = 256 << 10
	d := crashfs.New("/data")
	log, _, err := Open(simulatedDir, Options{SegmentSize: size, fs: d.Boot()})
	if err != nil {
		t.Fatal(err)
	}
	used := int64(0)
	for range 20 {
		mustAppend(t, log, "kept")
		used += headerSize + 100
		mustAppend(t, log, "cut off")
		if err := log.TruncateBack(log.Last() - 1); err != nil {
			t.Fatal(err)
		}
	}
	for range 3 {
		mustAppend(t, log, "small")
		mustAppend(t, log, strings.Repeat("x", size-headerSize-recordHead)) // which needs a segment for itself
		used += headerSize + 100 + size
	}
	total := int64(0)
	for _, content := range d.Files(simulatedDir) {
		total += int64(len(content))
	}
	if most := used + size + eachSpare(size); total > most {
		t.Errorf("the segments have %d bytes, want %d at most", total, most)
	}
	if err := log.Close(); err != nil {
		t.Error(err)
	}
}

// TestNoRoomForLarge appends a small group, which fits into the current segment, while a large group waits for a
// segment that does not fit on the disk. The small group is not refused.
func TestNoRoomForLarge(t *testing.T) {
	const size = 1 << 20
	d := crashfs.New("/data")
	log, _, err := Open(simulatedDir, Options{SegmentSize: size, fs: d.Boot()})
	if err != nil {
		t.Fatal(err)
	}
	mustAppend(t, log, strings.Repeat("x", size/2))
	var appending sync.WaitGroup
	appendOne := func(n int, want error) {
		if _, err := log.Append(background, make([]byte, n)); !errors.Is(err, want) || errors.Is(err, ErrFailed) {
			t.Errorf("%d bytes: %v, want %v", n, err, want)
		}
	}
	// waits says that somebody waits until there is room for so much.
	waits := func(n int64) bool {
		log.mu.Lock()
		defer log.mu.Unlock()
		return log.filling.need >= n
	}
	others := true
	d.Space = size + eachSpare(size) + 4096
	d.Hook = func(o crashfs.Operation) crashfs.Fault {
		if o.Kind == crashfs.Reserve && others {
			others = false
			for _, other := range []struct {
				size int
				want error
			}{{10, nil}, {size / 2, syscall.ENOSPC}} {
				appending.Go(func() { appendOne(other.size, other.want) })
				for !waits(int64(other.size)) {
					runtime.Gosched()
				}
			}
		}
		return crashfs.None
	}
	appendOne(size/2, syscall.ENOSPC)
	appending.Wait()
	if got := len(mustRead(t, log, 0)); got != 2 {
		t.Errorf("%d entries", got)
	}
	if err := log.Close(); err != nil {
		t.Error(err)
	}
}
