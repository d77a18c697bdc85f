package workers_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"culvert/internal/testkit"
	"culvert/internal/testkit/natsserver"
	"culvert/postgres"
	"culvert/source"
	"culvert/workers"
)

// closing is a session that says when it is about to close.
type closing struct {
	*postgres.Source
	closes func()
}

func (c *closing) Close() error {
	c.closes()
	return c.Source.Close()
}

// TestSharedSnapshotOutlivesSession has others join by the shared snapshot of a session until it is closed, and not try
// it afterwards.
func TestSharedSnapshotOutlivesSession(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.Heartbeat = 50 * heartbeat // which a worker that leaves takes at most
	q := f.queue(t)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	running := f.begin(ctx, t, q, workers.Coordinator{})
	worker := f.participant
	worker.Name = "worker"
	var closes atomic.Int64
	working, stop := context.WithCancel(t.Context())
	defer stop()
	worker.wrapJoined = func(_ source.Snapshot, db *postgres.Source, err error) (source.Source, error) {
		if err != nil {
			return nil, err
		}
		return &closing{db, func() {
			closes.Add(1)
			if !workers.Holds(t.Context(), q, secret, jobName, "worker-1") {
				t.Error("the shared snapshot was dropped before the session was closed")
			}
		}}, nil
	}
	worked := make(chan error, 1)
	go func() {
		worked <- worker.workOn(working, q, func(m string) { t.Log(m) })
	}()
	testkit.WaitFor(t, "the session", func() bool { return workers.Holds(t.Context(), q, secret, jobName, "worker-1") })
	stop()
	if err := <-worked; err != nil && !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if closes.Load() != 1 || workers.Holds(t.Context(), q, secret, jobName, "worker-1") {
		t.Errorf("%d sessions were closed, and the shared snapshot is left", closes.Load())
	}
	cancel()
	<-running
}

// TestCallAfterRestart has a journal whose shared snapshots are from before a restart of the server, and a holder of a
// later one, which the journal does not know.
func TestCallAfterRestart(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	server := natsserver.New(t)
	f.URL = server.URL()
	coordinator := f.participant
	coordinator.Coordinator = true
	first := coordinator.start(t)
	worker := f.participant
	worker.Name, worker.Steps = "worker", true
	process := worker.start(t)
	process.step(t, "commit")
	first.kill()
	f.hold(t, workers.Holder{Queue: f.queue(t)})
	process.kill()
	server.Kill(t)
	server.Forget(t)
	server.Start(t)
	f.db.Exec(t, "CREATE TABLE before AS TABLE orders; DELETE FROM orders WHERE id % 2 = 0")
	f.wrapJoined = func(_ source.Snapshot, db *postgres.Source, err error) (source.Source, error) {
		if errors.Is(err, source.ErrSnapshotLost) {
			err = source.ErrOtherServer
		}
		if err != nil {
			return nil, err
		}
		return db, nil
	}
	if err := f.resumeByCall(t); err != nil {
		t.Fatal(err)
	}
	f.rename(t, "orders", "before")
	f.check(t)
}

// failsOnce fails to read the first part, and hangs at all others.
type failsOnce struct {
	*postgres.Source
	failed *atomic.Bool
}

func (f *failsOnce) Part(ctx context.Context, _ source.Part) (source.Rows, error) {
	if !f.failed.Swap(true) {
		return nil, errors.New("the first part fails")
	}
	<-ctx.Done()
	return nil, ctx.Err()
}

// TestMixedAfterFailure has a table that has failed when the snapshot is lost. Parts of it are left in the queue, and
// must not turn away sessions of the new snapshot.
func TestMixedAfterFailure(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.MaxDeliver, f.AckWait = 1, patient
	q := f.queue(t)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	failed := make(chan struct{})
	running := f.begin(ctx, t, q, workers.Coordinator{Event: func(e workers.Event) {
		if e.Event == workers.EventTableFailed {
			close(failed)
		}
	}})
	worker := f.participant
	worker.Name = "first"
	var once atomic.Bool
	worker.wrapJoined = func(_ source.Snapshot, db *postgres.Source, err error) (source.Source, error) {
		if err != nil {
			return nil, err
		}
		return &failsOnce{db, &once}, nil
	}
	worked := make(chan error, 1)
	go func() { worked <- worker.workOn(ctx, q, func(m string) { t.Log(m) }) }()
	<-failed
	cancel()
	if err := <-worked; err != nil && !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if result := <-running; !errors.Is(result.err, context.Canceled) {
		t.Error(result.err)
	}
	f.db.Exec(t, "INSERT INTO orders VALUES (0, 'new')")

	f.Mixed = true
	planned := make(chan struct{})
	var tell sync.Once
	running = f.begin(t.Context(), t, q, workers.Coordinator{Progress: func(workers.Status) {
		tell.Do(func() { close(planned) })
	}})
	<-planned
	worker = f.participant
	worker.Name = "second"
	err := worker.workOn(t.Context(), q, func(m string) {
		t.Log(m)
		if strings.Contains(m, source.ErrOtherSnapshot.Error()) {
			t.Error("a session was refused a part that nobody needs")
		}
	})
	if err != nil {
		t.Error(err)
	}
	result := <-running
	if !isPartial(result.err) {
		t.Error(result.err)
	}
	m := f.check(t, "customers", "nothing")
	text := m.Tables[0].Error
	if !strings.Contains(text, "part 1: ") || !strings.Contains(text, "the first part fails") {
		t.Errorf("the error is %q", text)
	}
}
