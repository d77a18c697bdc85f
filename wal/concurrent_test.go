package wal

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"culvert/internal/testkit"
	"culvert/internal/testkit/crashfs"
)

// TestManyWriters has goroutines append at the same time, in every mode, beside readers and cuts. Each sees its own
// entries in its order.
func TestManyWriters(t *testing.T) {
	const writers, each = 8, 100
	for _, mode := range []SyncMode{Each, Interval, None} {
		t.Run(fmt.Sprint(mode), func(t *testing.T) {
			log, _ := newLog(t, Options{Sync: mode, Interval: time.Millisecond, SegmentSize: 32 << 10})
			ctx, cancel := context.WithCancel(background)
			defer cancel()
			var group, tails sync.WaitGroup
			for writer := range writers {
				group.Go(func() {
					for i := range each {
						if err := appendAs(ctx, log, writer, i); err != nil {
							t.Error(err)
						}
					}
				})
			}
			tails.Go(func() { tailAndCut(ctx, t, log, writers*each) })
			group.Go(func() {
				if err := log.Sync(background); err != nil {
					t.Error(err)
				}
			})
			group.Wait()
			if err := log.Sync(background); err != nil {
				t.Fatal(err)
			}
			tails.Wait()
			next := map[int]int{}
			for _, entry := range mustRead(t, log, 0) {
				var writer, i int
				if _, err := fmt.Sscan(entry, &writer, &i); err != nil {
					t.Fatal(err)
				}
				if former, ok := next[writer]; ok && i != former {
					t.Fatalf("entry %d of writer %d where %d should be", i, writer, former)
				}
				next[writer] = i + 1
			}
			if log.Last() != writers*each {
				t.Errorf("%d entries", log.Last())
			}
		})
	}
}

// appendAs appends in the way of one of the writers: by itself, by the flusher, or without waiting.
func appendAs(ctx context.Context, log *Log, writer, i int) error {
	how := background
	if writer%2 == 0 {
		how = ctx // which has the flusher write
	}
	p := fmt.Appendf(nil, "%d %d %s", writer, i, strings.Repeat("-", i))
	if writer%4 != 3 {
		_, err := log.Append(how, p)
		return err
	}
	ticket, err := log.AppendAsync(how, p)
	if err == nil && i%10 == 0 {
		err = ticket.Wait(how)
	}
	return err
}

// tailAndCut follows a log up to an LSN, and cuts off its front meanwhile.
func tailAndCut(ctx context.Context, t *testing.T, log *Log, last LSN) {
	t.Helper()
	seen := LSN(0)
	for r, err := range log.Tail(ctx, 1) {
		if err != nil {
			t.Error(err)
			return
		}
		if seen++; r.LSN != seen {
			t.Errorf("LSN %d where %d should be", r.LSN, seen)
		}
		if seen == last {
			return
		}
		if seen%100 == 0 {
			if err := log.TruncateFront(r.LSN / 2); err != nil {
				t.Error(err)
			}
		}
	}
}

// TestManyWritersCrash has goroutines append while the disk crashes. Each entry that was acknowledged is there.
func TestManyWritersCrash(t *testing.T) {
	crashes := 50
	if testkit.Soak() {
		crashes = 500
	}
	for seed := range crashes {
		s := newSimulation(uint64(seed))
		left := 20 + s.random.IntN(100)
		s.disk.Hook = func(o crashfs.Operation) crashfs.Fault {
			if o.Changes() {
				left--
			}
			if left == 0 {
				return crashfs.Stop
			}
			return crashfs.None
		}
		options := Options{SegmentSize: minSegmentSize, fs: s.disk.Boot()}
		log, _, err := Open(simulatedDir, options)
		if err != nil {
			t.Fatal(err)
		}
		var mu sync.Mutex
		acknowledged := map[LSN]string{}
		var group sync.WaitGroup
		for writer := range 4 {
			group.Go(func() {
				for i := 0; ; i++ {
					p := fmt.Sprint(writer, i, strings.Repeat("-", i%500))
					lsn, err := log.Append(background, []byte(p))
					if err != nil {
						return
					}
					mu.Lock()
					acknowledged[lsn] = p
					mu.Unlock()
				}
			})
		}
		group.Wait()
		s.disk.Hook = nil
		s.disk.Crash(s.random.IntN)
		_ = log.Close() // for its goroutines
		options.fs = s.disk.Boot()
		if log, _, err = Open(simulatedDir, options); err != nil {
			t.Fatal(err)
		}
		entries := mustRead(t, log, 0)
		for lsn, p := range acknowledged {
			if int(lsn) > len(entries) || entries[lsn-1] != p {
				t.Fatalf("seed %d: LSN %d was acknowledged and is lost", seed, lsn)
			}
		}
		if err := log.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// TestCloseMeanwhile closes a log while other goroutines use it. All calls end, and acknowledged entries are in the log
// when it is opened again.
func TestCloseMeanwhile(t *testing.T) {
	rounds := 15 // five in each mode
	if testkit.Soak() {
		rounds = 300
	}
	for round := range rounds {
		options := Options{Sync: SyncMode(round % 3), Interval: time.Millisecond, SegmentSize: minSegmentSize}
		log, dir := newLog(t, options)
		acknowledged := useUntilClosed(t, log, round)
		first, last := log.First(), log.Last()
		log, recovery, err := Open(dir, options)
		if err != nil || !recovery.Clean || recovery.First != first || recovery.Last != last {
			t.Fatalf("LSN %d to %d, %+v, %v", first, last, recovery, err)
		}
		entries := mustRead(t, log, 0)
		acknowledged.Range(func(lsn, p any) bool {
			if lsn := lsn.(LSN); lsn >= first && entries[lsn-first] != p {
				t.Errorf("LSN %d was acknowledged and is %.40q", lsn, entries[lsn-first])
			}
			return true
		})
		if err := log.Close(); err != nil {
			t.Error(err)
		}
	}
}

// useUntilClosed has goroutines use a log until one of them closes it, and returns the acknowledged entries.
func useUntilClosed(t *testing.T, log *Log, round int) *sync.Map {
	t.Helper()
	ctx, cancel := context.WithCancel(background)
	defer cancel()
	acknowledged := &sync.Map{}
	appends := func(ctx context.Context, what string) func(int) error {
		return func(i int) error {
			p := fmt.Sprint(what, i, strings.Repeat("-", i%1000))
			lsn, err := log.Append(ctx, []byte(p))
			if err == nil {
				acknowledged.Store(lsn, p)
			}
			return err
		}
	}
	calls := []func(i int) error{
		appends(background, "alone "), appends(ctx, "left to the flusher "),
		func(i int) error {
			p := fmt.Sprint("later ", i)
			ticket, err := log.AppendAsync(background, []byte(p))
			if err == nil && i%3 == 0 {
				if err = ticket.Wait(ctx); err == nil {
					acknowledged.Store(ticket.LSN(), p)
				}
			}
			return err
		},
		func(int) error { return log.Sync(ctx) },
		func(int) error { return log.TruncateFront(log.Durable() / 2) },
		func(int) error { return tailUntilClosed(ctx, log) },
		func(i int) error {
			if i == 10*round {
				if err := log.Close(); err != nil {
					t.Error(err)
				}
			}
			return log.Sync(background)
		},
	}
	var group sync.WaitGroup
	for _, call := range calls {
		group.Go(func() {
			err := error(nil)
			for i := 0; err == nil; i++ {
				err = call(i)
			}
			if !errors.Is(err, ErrClosed) {
				t.Error(err)
			}
		})
	}
	group.Wait()
	return acknowledged
}

// tailUntilClosed follows a log. That its front is cut off before the first step is no error.
func tailUntilClosed(ctx context.Context, log *Log) (end error) {
	for _, end = range log.Tail(ctx, log.First()) {
		continue
	}
	if errors.Is(end, ErrTruncated) {
		return nil
	}
	return end
}
