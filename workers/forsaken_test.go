package workers_test

import (
	"errors"
	"testing"
	"time"

	"culvert/internal/testkit"
	"culvert/internal/testkit/natsserver"
	"culvert/source"
	"culvert/workers"
)

// TestSnapshotOfNobody has a job that nobody coordinates, and whose snapshot is lost. A worker leaves it, and it is
// seen that it cannot go on.
func TestSnapshotOfNobody(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.URL = natsserver.New(t).URL()
	allDie(t, f)
	f.db.Exec(t, "INSERT INTO orders VALUES (0, 'new')")
	q := f.queue(t)
	worker := f.participant
	worker.Name = "other"
	for range 2 {
		err := worker.worker(q, func(m string) { t.Log(m) }).Run(t.Context(), jobName)
		if !errors.Is(err, workers.ErrNoCoordinator) || !errors.Is(err, source.ErrSnapshotLost) {
			t.Fatal(err)
		}
	}
	s, err := workers.Inspect(t.Context(), q, jobName, secret)
	if err != nil || !s.NoCoordinator || !s.SnapshotLost {
		t.Errorf("no coordinator: %v, lost: %v, %v", s.NoCoordinator, s.SnapshotLost, err)
	}
	f.Mixed = true
	f.leave(t, q)
	testkit.WaitFor(t, "the end of its lease", func() bool {
		s, err = workers.Inspect(t.Context(), q, jobName, secret)
		return err != nil || s.NoCoordinator
	})
	if err != nil || s.SnapshotLost {
		t.Errorf("lost: %v, %v", s.SnapshotLost, err)
	}
	f.finish(t, q)
	f.check(t)
}

// TestNothingToWrite has a worker that has written all parts, while nobody coordinates the job.
func TestNothingToWrite(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.Held = f.hold(t, workers.Holder{})
	q := f.queue(t)
	f.leave(t, q)
	worker := f.participant
	worker.Name = "worker"
	one := worker.worker(q, func(m string) { t.Log(m) })
	one.Patience = time.Nanosecond
	for range 2 { // when it has written all, and when it finds nothing to do
		if err := one.Run(t.Context(), jobName); !errors.Is(err, workers.ErrNoCoordinator) {
			t.Fatal(err)
		}
	}
	s, err := workers.Inspect(t.Context(), q, jobName, secret)
	if err != nil || s.Done != s.Parts || s.Parts == 0 || !s.NoCoordinator || s.SnapshotLost {
		t.Errorf("%+v, %v", s, err)
	}
	if result := <-f.begin(t.Context(), t, q, workers.Coordinator{}); result.err != nil {
		t.Error(result.err)
	}
	f.check(t)
}

// TestMixedWhileItRuns has a snapshot that is lost while the coordinator lives.
func TestMixedWhileItRuns(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.URL, f.Mixed = natsserver.New(t).URL(), true
	q := f.queue(t)
	running := f.beginAndSee(t.Context(), t, q)
	worker := f.participant
	worker.Name, worker.Steps = "first", true
	process := worker.start(t)
	process.writeSome(t)
	process.kill()
	f.db.EndSessions(t, "true")
	f.db.Exec(t, "INSERT INTO orders VALUES (0, 'new')")
	worker.Name, worker.Steps = "second", false
	process = worker.start(t)
	(<-running).check(t)
	process.goOn(t)
	f.check(t)
}
