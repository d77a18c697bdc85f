package pace_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"culvert/pace"
)

func ExampleNewLoad() {
	busy := []bool{true, false}
	load := pace.NewLoad(func(context.Context) (bool, error) {
		is := busy[0]
		busy = busy[1:]
		return is, nil
	})
	all := pace.Pace{Load: load}
	fmt.Println(all.Wait(context.Background(), 1000, 1<<20)) // asks twice, a second apart
	// Output: <nil>
}

// TestLoad has several wait while it is busy. One asks at a time, and after an answer nobody for a second.
func TestLoad(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		busyUntil := time.Now().Add(4*time.Second + time.Millisecond)
		var asked, asking atomic.Int32
		load := pace.NewLoad(func(context.Context) (bool, error) {
			if asking.Add(1) > 1 {
				t.Error("two ask at the same time")
			}
			<-time.After(10 * time.Millisecond)
			asking.Add(-1)
			asked.Add(1)
			return time.Now().Before(busyUntil), nil
		})
		p := pace.Pace{Load: load}
		begin := time.Now()
		var all sync.WaitGroup
		for range 4 {
			all.Go(func() {
				for range 10 {
					if err := p.Wait(t.Context(), 1, 1); err != nil {
						t.Error(err)
					}
				}
			})
		}
		<-time.After(2500 * time.Millisecond)
		if !load.IsWaiting() || p.State() != "waiting while the database is busy" {
			t.Errorf("it waits: %v, %q", load.IsWaiting(), p.State())
		}
		all.Wait()
		if took := time.Since(begin); took != 4*time.Second+50*time.Millisecond || asked.Load() != 5 {
			t.Errorf("after %v and %d questions", took, asked.Load())
		}
		if load.IsWaiting() || p.State() != "" {
			t.Errorf("it still waits: %q", p.State())
		}
	})
}

// TestLoadFails fails with a question, also with one that has no answer, and ends with the context.
func TestLoadFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cause := errors.New("there is no such table")
		load := pace.NewLoad(func(context.Context) (bool, error) { return false, cause })
		if err := load.Wait(t.Context()); !errors.Is(err, cause) {
			t.Error(err)
		}
		load = pace.NewLoad(func(ctx context.Context) (bool, error) {
			<-ctx.Done()
			return false, ctx.Err()
		})
		if err := load.Wait(t.Context()); !errors.Is(err, context.DeadlineExceeded) {
			t.Error(err)
		}
		ctx, cancel := context.WithCancelCause(t.Context())
		load = pace.NewLoad(func(context.Context) (bool, error) { return true, nil })
		over := errors.New("over")
		time.AfterFunc(1500*time.Millisecond, func() { cancel(over) })
		var all sync.WaitGroup
		for range 2 {
			all.Go(func() {
				if err := load.Wait(ctx); err != over {
					t.Error(err)
				}
			})
		}
		all.Wait()
	})
	var none *pace.Load
	if none.Wait(t.Context()) != nil || none.IsWaiting() || (pace.Pace{}).Wait(t.Context(), 1, 1) != nil {
		t.Error("nothing lets wait")
	}
}

// TestState says both what limits and what waits.
func TestState(t *testing.T) {
	limit, err := pace.Parse("50MB/s")
	if got := (pace.Pace{Limit: limit}).State(); err != nil || got != "at most 50MB/s" {
		t.Errorf("%q, %v", got, err)
	}
}
