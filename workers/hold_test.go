package workers_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"culvert/source"
	"culvert/workers"
)

// TestHolderIsEnded has a server that ends the session of a holder.
func TestHolderIsEnded(t *testing.T) {
	workers.CheckHolders(t, time.Millisecond)
	f := newFixture(t)
	held := make(chan source.Snapshot, 1)
	h := workers.Holder{Open: f.take, Join: f.join, Held: func(s source.Snapshot) { held <- s }}
	ended := make(chan error, 1)
	go func() { ended <- h.Run(t.Context()) }()
	<-held
	f.db.Exec(t, `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
		WHERE datname = current_database() AND pid <> pg_backend_pid()`)
	if err := <-ended; !errors.Is(err, workers.ErrNotHeld) {
		t.Error(err)
	}
}

// TestHolderOfJob holds the snapshot of a job that begins later, until the job has ended.
func TestHolderOfJob(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	q := f.queue(t)
	h := workers.Holder{
		Name: "holder", Queue: q, Secret: secret, Job: jobName, Join: f.join, Patience: time.Nanosecond,
		Notice: func(m string) { t.Log(m) },
	}
	held := make(chan source.Snapshot, 1)
	h.Held = func(s source.Snapshot) { held <- s }
	ended := make(chan error, 1)
	go func() { ended <- h.Run(t.Context()) }()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	running := f.begin(ctx, t, q, workers.Coordinator{})
	snapshot := <-held
	src, err := f.join(t.Context(), snapshot)
	if err != nil {
		t.Fatal(err)
	}
	if err := src.Close(); err != nil {
		t.Error(err)
	}
	cancel()
	if result := <-running; !errors.Is(result.err, context.Canceled) {
		t.Error(result.err)
	}
	f.finish(t, q)
	if err := <-ended; err != nil {
		t.Error(err)
	}
	f.check(t)
}

// TestHolderOfEndedJob has a job that another one of the same name replaces. Its holder ends at once: the job cannot
// come back.
func TestHolderOfEndedJob(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	q := f.queue(t)
	begin := func(c workers.Coordinator) (end func()) {
		ctx, cancel := context.WithCancel(t.Context())
		running := f.begin(ctx, t, q, c)
		return func() {
			cancel()
			if result := <-running; !errors.Is(result.err, context.Canceled) {
				t.Error(result.err)
			}
		}
	}
	held, ended := make(chan source.Snapshot, 1), make(chan error, 1)
	h := workers.Holder{
		Name: "holder", Queue: q, Secret: secret, Job: jobName, Join: f.join,
		Held: func(s source.Snapshot) { held <- s },
	}
	end := begin(workers.Coordinator{})
	go func() { ended <- h.Run(t.Context()) }()
	<-held
	end()
	if err := q.Remove(t.Context(), jobName); err != nil {
		t.Fatal(err)
	}
	f.Overwrite = true
	end = begin(workers.Coordinator{})
	if err := <-ended; err != nil {
		t.Error(err)
	}
	end()
}
