package queue_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"culvert/internal/testkit/natsserver"
	"culvert/workers/internal/queue"
)

const heartbeat = 20 * time.Millisecond

func acquire(t *testing.T, job *queue.Job) *queue.Lease {
	t.Helper()
	lease, err := job.Acquire(t.Context(), []string{"lease"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	return lease
}

func TestLeaseIsReleased(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, c queue.Config) {
		c.Heartbeat = 500 * time.Millisecond // on a busy machine, the first holder must not be taken for dead
		job := create(t, open(t, c), "job")
		first := acquire(t, job)
		waits := make(chan struct{})
		var once sync.Once
		second := make(chan *queue.Lease, 1)
		go func() {
			lease, err := job.Acquire(t.Context(), []string{"lease"}, func() error {
				once.Do(func() { close(waits) })
				return nil
			})
			if err != nil {
				t.Error(err)
			}
			second <- lease
		}()
		<-waits
		select {
		case <-second:
			t.Error("two hold the lease")
		case <-first.Context().Done():
			t.Error(context.Cause(first.Context()))
		default:
		}
		if err := first.Release(t.Context()); err != nil {
			t.Error(err)
		}
		if lease := <-second; lease != nil {
			if err := lease.Release(t.Context()); err != nil {
				t.Error(err)
			}
		}
	})
}

// TestLeaseOfTheDead has a holder that loses its connection for good.
func TestLeaseOfTheDead(t *testing.T) {
	t.Parallel()
	c := queue.Config{URL: natsserver.New(t).URL(), Heartbeat: heartbeat}
	q, err := queue.Open(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	first := acquire(t, create(t, q, "job"))
	q.Close()
	second := acquire(t, create(t, open(t, c), "job"))
	if err := second.Release(t.Context()); err != nil {
		t.Error(err)
	}
	<-first.Context().Done() // since it cannot renew
	if err := first.Release(t.Context()); err != nil {
		t.Error(err)
	}
}

// TestLeaseIsTaken has a holder that was taken for dead.
func TestLeaseIsTaken(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, c queue.Config) {
		c.Heartbeat = heartbeat
		job := create(t, open(t, c), "job")
		first := acquire(t, job)
		until(t, func() bool {
			now, err := job.Get(t.Context(), "lease")
			if err == nil {
				_, err = job.Update(t.Context(), "lease", nil, now.Revision)
			}
			return err == nil
		})
		<-first.Context().Done()
		if err := context.Cause(first.Context()); !errors.Is(err, queue.ErrLost) {
			t.Error(err)
		}
		if err := first.Release(t.Context()); err != nil {
			t.Error(err)
		}
		if _, err := job.Get(t.Context(), "lease"); err != nil {
			t.Error("who had lost the lease has removed it:", err)
		}
	})
}

func TestPulse(t *testing.T) {
	t.Parallel()
	var pulse queue.Pulse
	for look := range queue.Looks {
		if pulse.Look(queue.Value{Key: "a", Revision: 7}) {
			t.Errorf("dead at look %d", look+1)
		}
		pulse.Look(queue.Value{Key: "b", Revision: uint64(look)})
	}
	if !pulse.Look(queue.Value{Key: "a", Revision: 7}) {
		t.Error("a is not dead")
	}
	if pulse.Look(queue.Value{Key: "b", Revision: queue.Looks}) {
		t.Error("b is dead, though it has changed")
	}
	if pulse.Look(queue.Value{Key: "a", Revision: 8}) {
		t.Error("a is dead, though it has come back")
	}
}

func TestSeveralLeases(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, c queue.Config) {
		c.Heartbeat = heartbeat
		job := create(t, open(t, c), "job")
		keys := []string{"session.0", "session.1"}
		one, err := job.Acquire(t.Context(), keys, nil)
		if err != nil {
			t.Fatal(err)
		}
		two, err := job.Acquire(t.Context(), keys, nil)
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		if _, err := job.Acquire(ctx, keys, func() error {
			cancel()
			return nil
		}); !errors.Is(err, context.Canceled) {
			t.Errorf("a third holder: %v", err)
		}
		tired := errors.New("tired")
		_, err = job.Acquire(t.Context(), keys, func() error { return tired })
		if !errors.Is(err, tired) {
			t.Errorf("a third holder that gives up: %v", err)
		}
		if err := errors.Join(one.Release(t.Context()), two.Release(t.Context())); err != nil {
			t.Error(err)
		}
	})
}

// TestManyLeases has more leases than one looks at in each heartbeat. One of them is released.
func TestManyLeases(t *testing.T) {
	t.Parallel()
	c := queue.Config{Heartbeat: heartbeat}
	job := create(t, open(t, c), "job")
	keys := make([]string, 30)
	var held []*queue.Lease
	for i := range keys {
		keys[i] = fmt.Sprintf("session.%d", i)
	}
	for range keys {
		lease, err := job.Acquire(t.Context(), keys, nil)
		if err != nil {
			t.Fatal(err)
		}
		held = append(held, lease)
	}
	released := held[len(held)-1]
	lease, err := job.Acquire(t.Context(), keys, func() error {
		if !slices.Contains(held, released) {
			return nil
		}
		held = slices.DeleteFunc(held, func(l *queue.Lease) bool { return l == released })
		return released.Release(t.Context())
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, one := range append(held, lease) {
		if err := one.Release(t.Context()); err != nil {
			t.Error(err)
		}
	}
}

// TestReleaseInOutage has a holder that is told to end while the server is away.
func TestReleaseInOutage(t *testing.T) {
	t.Parallel()
	server := natsserver.New(t)
	job := create(t, open(t, queue.Config{URL: server.URL(), Heartbeat: heartbeat}), "job")
	ctx, cancel := context.WithCancel(t.Context())
	lease, err := job.Acquire(ctx, []string{"lease"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	server.Kill(t)
	cancel()
	if err := lease.Release(ctx); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}
