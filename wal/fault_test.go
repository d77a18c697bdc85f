package wal

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"syscall"
	"testing"

	"culvert/internal/testkit/crashfs"
)

// TestFaults has every operation of a log fail once, in every way: with an error of the disk, without space, with a
// part of it done, and a sync with the loss of what it was to write. Whatever it is, the log says so and stays dead, or
// goes on if it was only that a new segment found no room; and what it had acknowledged is there when it is opened
// again, also after a crash before and after that.
func TestFaults(t *testing.T) {
	steps := []func(*life) error{
		add(10), add(3000), add(20, 2000), syncs, add(3000), cutFront(2), add(30), cutBack(4), add(3000), add(1500),
		closes,
	}
	for _, mode := range []SyncMode{Each, None} {
		for fault, name := range map[crashfs.Fault]string{
			crashfs.IO: "EIO", crashfs.NoSpace: "ENOSPC", crashfs.Short: "short",
		} {
			t.Run(fmt.Sprintf("sync=%d/%s", mode, name), func(t *testing.T) {
				faults := 0
				for failing := 1; ; failing++ {
					met, err := faulty(scope{sync: mode, steps: steps}, failing, fault)
					if err != nil {
						t.Fatalf("operation %d: %v", failing, err)
					}
					if !met {
						break
					}
					faults++
				}
				t.Log(faults, "faults")
			})
		}
	}
}

// faulty lives with one fault, and after it. It reports whether the life was long enough to meet it.
func faulty(s scope, failing int, fault crashfs.Fault) (met bool, err error) {
	random := rand.New(rand.NewPCG(uint64(failing), 2))
	disk, model := crashfs.New("/data"), crashfs.NewModel()
	what := crashfs.Operation{}
	disk.Hook = func(o crashfs.Operation) crashfs.Fault {
		if o.Number != failing || fault == crashfs.Short && o.Kind != crashfs.Write {
			return crashfs.None
		}
		what = o
		return fault
	}
	if err := liveOn(s, disk, model); err != nil {
		return true, fmt.Errorf("%+v: %w", what, err)
	}
	met = disk.Operations() >= failing
	disk.Hook = nil
	disk.Kill()
	crashed := disk.Clone()
	crashed.Crash(random.IntN)
	if err := reopen(crashed, model, true); err != nil {
		return met, fmt.Errorf("%+v, then a crash: %w", what, err)
	}
	// Without a crash the system has everything in memory, perhaps without knowing that it is not on the disk. What is
	// seen then is there to stay.
	log, _, err := Open(simulatedDir, Options{SegmentSize: minSegmentSize, fs: disk.Boot()})
	if err != nil {
		return met, fmt.Errorf("%+v, then opened: %w", what, err)
	}
	entries, err := contents(log.Records(context.Background(), 0))
	if err == nil {
		err = model.Settle(int(log.First()), entries, false)
	}
	if err != nil {
		return met, errors.Join(fmt.Errorf("%+v, then opened: %w", what, err), log.Close())
	}
	disk.Crash(random.IntN)
	_ = log.Close() // for its goroutines
	if err := reopen(disk, model, true); err != nil {
		return met, fmt.Errorf("%+v, then opened, then a crash: %w", what, err)
	}
	return met, nil
}

// liveOn goes through all steps, whether they fail or not.
func liveOn(s scope, disk *crashfs.Disk, model *crashfs.Model) error {
	options := Options{Sync: s.sync, SegmentSize: minSegmentSize, fs: disk.Boot()}
	log, _, err := Open(simulatedDir, options)
	if err != nil {
		return isFault(err)
	}
	failed := error(nil)
	for i, step := range s.steps {
		err := step(&life{log: log, model: model, failed: failed != nil})
		switch {
		case failed != nil && !errors.Is(err, ErrFailed) && !errors.Is(err, ErrClosed) && i < len(s.steps)-1:
			return fmt.Errorf("step %d of a log that had failed: %w", i, err)
		case errors.Is(err, ErrFailed):
			failed = err
		case errors.Is(err, ErrRange), errors.Is(err, ErrTruncated):
			err = nil // an earlier step did nothing
		}
		if err := isFault(err); err != nil {
			return fmt.Errorf("step %d: %w", i, err)
		}
	}
	if err := log.Close(); !errors.Is(err, ErrClosed) {
		return fmt.Errorf("closed twice: %w", err)
	}
	return nil
}

// isFault returns nil for no error and for an injected fault.
func isFault(err error) error {
	if errors.Is(err, syscall.EIO) || errors.Is(err, syscall.ENOSPC) {
		return nil
	}
	return err
}

// TestWriteback has the system refuse to begin writing. The log fails, as after a failed write.
func TestWriteback(t *testing.T) {
	disk := crashfs.New("/data")
	broken, began := false, 0
	disk.Hook = func(o crashfs.Operation) crashfs.Fault {
		if o.Kind != crashfs.Writeback {
			return crashfs.None
		}
		began++
		if broken {
			return crashfs.IO
		}
		return crashfs.None
	}
	options := Options{Sync: None, SegmentSize: 128 << 10, fs: disk.Boot()}
	log, _, err := Open(simulatedDir, options)
	if err != nil {
		t.Fatal(err)
	}
	entry := make([]byte, 3000)
	acknowledged := 0
	for ; began == 0 && acknowledged < 100; acknowledged++ {
		if _, err := log.Append(t.Context(), entry); err != nil {
			t.Fatal(err)
		}
	}
	broken = true
	for ; acknowledged < 100; acknowledged++ {
		if _, err = log.Append(t.Context(), entry); err != nil {
			break
		}
	}
	if !errors.Is(err, ErrFailed) || !errors.Is(err, syscall.EIO) {
		t.Fatalf("after %d entries: %v", acknowledged, err)
	}
	if err := log.Close(); !errors.Is(err, ErrFailed) {
		t.Errorf("closing: %v", err)
	}
	disk.Hook = nil
	disk.Kill()
	options.fs = disk.Boot()
	log, recovery, err := Open(simulatedDir, options)
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	if int(recovery.Last) < acknowledged {
		t.Errorf("%d of %d entries", recovery.Last, acknowledged)
	}
}
