package workers_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"culvert/internal/testkit"
	"culvert/internal/testkit/natsserver"
	"culvert/postgres"
	"culvert/source"
	"culvert/workers"
)

// recorder remembers the events of a job.
type recorder struct {
	mu  sync.Mutex
	all []string
}

func (r *recorder) record(e workers.Event) {
	text := fmt.Sprint(e.Event)
	for _, more := range []string{e.Snapshot, e.Worker, e.Table} {
		if more != "" {
			text += " " + more
		}
	}
	if e.Part != 0 {
		text += fmt.Sprintf(" part %d attempt %d", e.Part, e.Attempt)
	}
	if (e.Event == workers.EventPartFailed || e.Event == workers.EventTableFailed) && e.Reason == "" {
		text += " without a reason"
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.all = append(r.all, text)
}

func (r *recorder) has(event string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Contains(r.all, event)
}

// TestEvents has a worker that is killed, one that finishes, and a part that cannot be read.
func TestEvents(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.db.Exec(t, "CREATE VIEW broken AS SELECT 1 / (id - 50) AS x FROM customers")
	f.Tables, f.MaxDeliver = append(f.Tables, "broken"), 2
	f.URL = natsserver.New(t).URL()
	var events recorder
	q := f.queue(t)
	ended := f.begin(t.Context(), t, q, workers.Coordinator{Event: events.record})
	victim, other := f.participant, f.participant
	victim.Name, victim.Steps, other.Name = "victim", true, "other"
	reached := victim.start(t)
	reached.step(t, "create orders/")
	testkit.WaitFor(t, "the worker", func() bool { return events.has("worker_joined victim") })
	reached.kill()
	testkit.WaitFor(t, "its silence", func() bool { return events.has("worker_silent victim") })
	testkit.WaitFor(t, "its silence, as others see it", func() bool {
		s, err := workers.Inspect(t.Context(), q, jobName, secret)
		return err == nil && len(s.Workers) == 1 && s.Workers[0].Silent > 0
	})
	testkit.WaitFor(t, "the end of its shared snapshot", func() bool {
		names, err := workers.SharedSnapshots(t.Context(), q, secret, jobName)
		return err == nil && !slices.Contains(names, "victim-1") && slices.Contains(names, "coordinator")
	})
	process := other.start(t)
	if result := <-ended; !isPartial(result.err) {
		t.Error(result.err)
	}
	process.goOn(t)
	f.check(t, f.Tables[:3]...)
	for _, event := range []string{
		"worker_joined other", "part_failed other broken part 1 attempt 1", "part_failed other broken part 1 attempt 2",
		"table_failed broken",
	} {
		if !events.has(event) {
			t.Errorf("nobody was told of %s, but of %q", event, events.all)
		}
	}
}

// TestEventsOfResume has a coordinator that goes on in each way.
func TestEventsOfResume(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name, want, change string
		mixed, held        bool
	}{
		{name: "Unchanged", want: "resumed unchanged"},
		{name: "New", want: "resumed new", change: "INSERT INTO orders VALUES (0, 'new')", mixed: true},
		{name: "Joined", want: "resumed joined", change: "INSERT INTO orders VALUES (0, 'new')", held: true},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			f := newQuietFixture(t)
			f.Mixed = test.mixed
			if test.held {
				f.Held = f.hold(t, workers.Holder{})
			}
			f.breakOff(t)
			if test.change != "" {
				f.db.Exec(t, test.change)
			}
			var events recorder
			f.told = events.record
			if err := f.resume(t); err != nil {
				t.Fatal(err)
			}
			if !events.has(test.want) {
				t.Errorf("nobody was told of %s, but of %q", test.want, events.all)
			}
		})
	}
}

// TestInterruptedWorker has a worker that is told to end while it writes a part, which is no failure.
func TestInterruptedWorker(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.Heartbeat = 50 * heartbeat // which a worker that leaves takes at most
	q := f.queue(t)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var events recorder
	running := f.begin(ctx, t, q, workers.Coordinator{Event: events.record})
	worker := f.participant
	worker.Name = "worker"
	var failed atomic.Bool
	failed.Store(true) // so that all parts hang
	worker.wrapJoined = func(_ source.Snapshot, db *postgres.Source, err error) (source.Source, error) {
		if err != nil {
			return nil, err
		}
		return &failsOnce{db, &failed}, nil
	}
	working, end := context.WithCancel(t.Context())
	defer end()
	worked := make(chan error, 1)
	go func() { worked <- worker.workOn(working, q, func(m string) { t.Log(m) }) }()
	testkit.WaitFor(t, "the part", func() bool {
		s, err := workers.Inspect(t.Context(), q, jobName, secret)
		return err == nil && len(s.Workers) == 1 && len(s.Workers[0].Writing) == 1 && events.has("worker_joined worker")
	})
	end()
	if err := <-worked; !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	testkit.WaitFor(t, "its end", func() bool { return events.has("worker_ended worker") })
	if events.has("worker_failed worker") {
		t.Errorf("the events are %q", events.all)
	}
	cancel()
	if result := <-running; !errors.Is(result.err, context.Canceled) {
		t.Error(result.err)
	}
}
