package workers_test

import (
	"sync"
	"testing"

	"culvert/internal/testkit/natsserver"
	"culvert/workers"
)

// TestWithinOneProcess has a queue, a coordinator and workers in this process.
func TestWithinOneProcess(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	q := f.queue(t)
	ended := f.begin(t.Context(), t, q, workers.Coordinator{})
	var group sync.WaitGroup
	for _, name := range []string{"one", "two"} {
		p := f.participant
		p.Name, p.Sessions = name, 2
		group.Go(func() {
			if err := p.untilJob(t.Context(), q, func(m string) { t.Log(m) }); err != nil {
				t.Error(err)
			}
		})
	}
	(<-ended).check(t)
	group.Wait()
	m := f.check(t)
	if len(m.Tables[0].Parts) < 5 || !m.Consistent {
		t.Errorf("%d parts, consistent: %v", len(m.Tables[0].Parts), m.Consistent)
	}
}

// TestProcesses has a NATS server, a coordinator and two workers, each in a process of its own.
func TestProcesses(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.URL = natsserver.New(t).URL()
	coordinator := f.participant
	coordinator.Coordinator = true
	all := []*process{coordinator.start(t)}
	for _, name := range []string{"one", "two"} {
		p := f.participant
		p.Name = name
		all = append(all, p.start(t))
	}
	for _, p := range all {
		if err := p.cmd.Wait(); err != nil {
			t.Errorf("%v\n%s", err, p.stderr.String())
		}
	}
	f.check(t)
}
