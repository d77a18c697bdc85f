package workers_test

import (
	"context"
	"errors"
	"io/fs"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"filippo.io/age"

	"culvert/internal/testkit"
	"culvert/internal/testkit/natsserver"
	"culvert/place"
	"culvert/postgres"
	"culvert/source"
	"culvert/workers"
)

// TestWorkerOfEarlierJob has a worker that outlives its job. The next job of that name has another recipient.
func TestWorkerOfEarlierJob(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.URL = natsserver.New(t).URL()
	q := f.queue(t)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	first := f.begin(ctx, t, q, workers.Coordinator{})
	worker := f.participant
	worker.Name, worker.Steps = "earlier", true
	earlier := worker.start(t)
	earlier.step(t, "commit")
	cancel()
	if result := <-first; !errors.Is(result.err, context.Canceled) {
		t.Error(result.err)
	}
	if err := q.Remove(t.Context(), jobName); err != nil {
		t.Error(err)
	}

	var err error
	if f.identity, err = age.GenerateX25519Identity(); err != nil {
		t.Fatal(err)
	}
	f.Recipient, f.Overwrite = f.identity.Recipient().String(), true
	cut := make(chan struct{}, 1)
	second := f.begin(t.Context(), t, q, workers.Coordinator{Progress: func(workers.Status) {
		select {
		case cut <- struct{}{}:
		default:
		}
	}})
	<-cut
	earlier.goOn(t)
	worker = f.participant
	worker.Name = "later"
	later := worker.start(t)
	(<-second).check(t)
	later.goOn(t)
	f.check(t)
}

// readOnly refuses new files.
type readOnly struct{ place.Place }

func (readOnly) Create(_ context.Context, name string) (place.File, error) {
	return nil, &fs.PathError{Op: "create", Path: name, Err: syscall.EROFS}
}

// TestPlaceIsReadOnly has a worker that cannot write. Another one can.
func TestPlaceIsReadOnly(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.MaxDeliver, f.AckWait = 2, patient
	q := f.queue(t)
	ended := f.begin(t.Context(), t, q, workers.Coordinator{})
	worker := f.participant
	worker.Name, worker.wrap = "reader", func(p place.Place) place.Place { return readOnly{p} }
	if err := worker.workOn(t.Context(), q, func(m string) { t.Log(m) }); !errors.Is(err, syscall.EROFS) {
		t.Error(err)
	}
	worker.Name, worker.wrap = "writer", nil
	if err := worker.workOn(t.Context(), q, func(m string) { t.Log(m) }); err != nil {
		t.Error(err)
	}
	(<-ended).check(t)
	f.check(t)
}

// TestOverwriteUnknown has a mistyped name. The earlier export stays.
func TestOverwriteUnknown(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	q := f.queue(t)
	f.finish(t, q)
	wrong := *f
	wrong.Overwrite, wrong.Tables = true, []string{"orders", "costumers"}
	result := <-wrong.begin(t.Context(), t, q, workers.Coordinator{})
	if unknown, is := errors.AsType[*source.UnknownError](result.err); !is || unknown.Name != "costumers" {
		t.Error(result.err)
	}
	f.check(t)
}

// TestFirstRowIsSlow has a part that all workers are given, since its first row takes longer than the queue waits.
func TestFirstRowIsSlow(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.db.Exec(t, "CREATE VIEW slow AS SELECT id FROM nothing UNION ALL SELECT 1 WHERE pg_sleep(1.5) IS NOT NULL")
	f.Tables = []string{"slow"}
	f.AckWait, f.MaxDeliver, f.Sessions = 200*time.Millisecond, 2, 2
	f.finish(t, f.queue(t))
}

// removed is a place that loses the job when the journal is removed.
type removed struct {
	place.Place
	q *workers.Queue
}

func (r removed) Remove(ctx context.Context, name string) error {
	err := r.Place.Remove(ctx, name)
	if strings.HasPrefix(name, ".culvert/") {
		if err := r.q.Remove(ctx, jobName); err != nil {
			return err
		}
		select {
		case <-ctx.Done(): // with the lease
		case <-time.After(10 * heartbeat):
		}
	}
	return err
}

// TestJobIsRemovedAtEnd removes the job, and so the lease, while the coordinator does so. The export is complete.
func TestJobIsRemovedAtEnd(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	q := f.queue(t)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		worker := f.participant
		worker.Name = "worker"
		if err := worker.workOn(t.Context(), q, func(m string) { t.Log(m) }); err != nil {
			t.Error(err)
		}
	}()
	coordinator := *f
	coordinator.wrap = func(p place.Place) place.Place { return removed{p, q} }
	(<-coordinator.begin(t.Context(), t, q, workers.Coordinator{})).check(t)
	<-ended
	f.check(t)
}

// TestFailFast has a table that fails. The workers end, and the export can go on.
func TestFailFast(t *testing.T) {
	t.Parallel()
	f := newQuietFixture(t)
	f.db.Exec(t, "CREATE VIEW broken AS SELECT 1 / (id - 50) AS id FROM customers")
	f.Tables, f.FailFast, f.MaxDeliver = []string{"broken", "orders"}, true, 1
	f.AckWait = patient
	q := f.queue(t)
	ended := f.begin(t.Context(), t, q, workers.Coordinator{})
	process := make(chan error, 1)
	worker := f.participant
	worker.Name = "worker"
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	go func() { process <- worker.workOn(ctx, q, func(m string) { t.Log(m) }) }()
	result := <-ended
	if result.err == nil || isPartial(result.err) || !strings.Contains(result.err.Error(), "division by zero") {
		t.Error(result.err)
	}
	if err := <-process; err != nil {
		t.Error(err)
	}
	if done, err := f.done(); done || err != nil {
		t.Errorf("there is a manifest: %v, %v", done, err)
	}
	f.FailFast = false
	if err := f.resume(t); !isPartial(err) {
		t.Error(err)
	}
	f.check(t, "orders")
}

// TestTooManyParts has more parts than a manifest may have.
func TestTooManyParts(t *testing.T) {
	workers.LimitParts(t, 3)
	f := newFixture(t)
	q := f.queue(t)
	result := <-f.begin(t.Context(), t, q, workers.Coordinator{})
	if result.err == nil || !strings.Contains(result.err.Error(), "larger part size") {
		t.Error(result.err)
	}
	if jobs, err := q.Jobs(t.Context()); len(jobs) > 0 || err != nil {
		t.Errorf("the jobs %q are left, %v", jobs, err)
	}
	if files := f.files(t); len(files) > 0 {
		t.Errorf("the files %q are left", files)
	}
}

// TestBusyWorkerIsSeen has a worker that writes a part while the queue loses everything. It is seen again, and its
// shared snapshot too.
func TestBusyWorkerIsSeen(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	server := natsserver.New(t)
	f.URL, f.Resume = server.URL(), true
	q := f.queue(t)
	ended := f.begin(t.Context(), t, q, workers.Coordinator{})
	worker := f.participant
	worker.Name, worker.Steps = "busy", true
	process := worker.start(t)
	process.step(t, "commit")
	server.Kill(t)
	server.Forget(t)
	server.Start(t)
	testkit.WaitFor(t, "the worker and its shared snapshot", func() bool {
		s, err := workers.Inspect(t.Context(), q, jobName, secret)
		return err == nil && workers.Holds(t.Context(), q, secret, jobName, "busy-1") &&
			slices.ContainsFunc(s.Workers, func(w workers.WorkerStatus) bool { return w.Name == "busy" })
	})
	process.goOn(t)
	(<-ended).check(t)
	f.check(t)
}

// TestLeaseIsLostAtBeginning has a coordinator that is taken for dead while it begins. The job belongs to another one.
func TestLeaseIsLostAtBeginning(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	q := f.queue(t)
	result := <-f.begin(t.Context(), t, q, workers.Coordinator{
		Tables: func(ctx context.Context, _ source.Source) ([]string, error) {
			if err := workers.TakeLease(t.Context(), q, secret, jobName); err != nil {
				return nil, err
			}
			<-ctx.Done()
			return nil, ctx.Err()
		},
	})
	if result.err == nil {
		t.Error("it has not noticed")
	}
	if jobs, err := q.Jobs(t.Context()); err != nil || !slices.Contains(jobs, jobName) {
		t.Errorf("the jobs are %q, %v", jobs, err)
	}
}

// TestWorkersEnd has workers that are told to end in their first part, as often as it may be given to one. Neither the
// part nor its table is to blame.
func TestWorkersEnd(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.Tables, f.MaxDeliver = []string{"customers"}, 2
	f.AckWait = patient
	q := f.queue(t)
	ended := f.begin(t.Context(), t, q, workers.Coordinator{})
	for range f.MaxDeliver {
		ctx, cancel := context.WithCancel(t.Context())
		worker := f.participant
		worker.Name = "short"
		var reading atomic.Bool
		reading.Store(true) // all parts hang
		worker.wrapJoined = func(_ source.Snapshot, db *postgres.Source, err error) (source.Source, error) {
			if err != nil {
				return nil, err
			}
			return &failsOnce{db, &reading}, nil
		}
		worked := make(chan error, 1)
		go func() { worked <- worker.workOn(ctx, q, func(m string) { t.Log(m) }) }()
		testkit.WaitFor(t, "the part", func() bool {
			s, err := workers.Inspect(t.Context(), q, jobName, secret)
			return err == nil && len(s.Workers) == 1 && len(s.Workers[0].Writing) == 1
		})
		cancel()
		if err := <-worked; !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	}
	worker := f.participant
	worker.Name = "good"
	if err := worker.workOn(t.Context(), q, func(m string) { t.Log(m) }); err != nil {
		t.Error(err)
	}
	(<-ended).check(t)
	f.check(t)
}
