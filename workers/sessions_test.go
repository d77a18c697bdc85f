package workers_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"

	"culvert/source"
	"culvert/workers"
)

// gauge counts the sessions that are open, and the most that were.
type gauge struct {
	mu        sync.Mutex
	now, most int
}

func (g *gauge) add(n int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.now += n
	g.most = max(g.most, g.now)
}

// any reports whether there was a session.
func (g *gauge) any() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.most > 0
}

// counted is a session that is counted until it is closed.
type counted struct {
	source.Source
	source.Parter
	source.Sharer
	gauge *gauge
}

func (c counted) Close() error {
	c.gauge.add(-1)
	return c.Source.Close()
}

func TestMaxSessions(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.MaxSessions, f.Sessions = 2, 3
	q := f.queue(t)
	var sessions gauge
	omitted := []string{"the view \"v\""}
	ended := f.begin(t.Context(), t, q, workers.Coordinator{
		Omitted: func(context.Context, source.Source) ([]string, error) { return omitted, nil },
	})
	var group sync.WaitGroup
	for _, name := range []string{"one", "two"} {
		p := f.participant
		p.Name = name
		w := p.worker(q, func(m string) { t.Log(m) })
		w.Join = func(ctx context.Context, s source.Snapshot) (source.Source, error) {
			src, err := p.join(ctx, s)
			if err != nil {
				return nil, err
			}
			sessions.add(1)
			return counted{src, src.(source.Parter), src.(source.Sharer), &sessions}, nil
		}
		group.Go(func() {
			err := w.Run(t.Context(), jobName)
			for errors.Is(err, workers.ErrNoJob) && !sessions.any() && pause(t.Context()) == nil {
				err = w.Run(t.Context(), jobName)
			}
			if err != nil && !errors.Is(err, workers.ErrNoJob) {
				t.Error(err)
			}
		})
	}
	(<-ended).check(t)
	group.Wait()
	if m := f.check(t); !slices.Equal(m.Omitted, omitted) {
		t.Errorf("the manifest has left out %q", m.Omitted)
	}
	if sessions.most != f.MaxSessions || sessions.now != 0 {
		t.Errorf("%d sessions at once, and %d are left", sessions.most, sessions.now)
	}
}

// TestInspect looks at a job while a worker writes a part, and at others.
func TestInspect(t *testing.T) {
	t.Parallel()
	f := newQuietFixture(t)
	q := f.queue(t)
	if _, err := workers.Inspect(t.Context(), q, jobName, secret); !errors.Is(err, workers.ErrNoJob) {
		t.Error(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	seen := make(chan workers.Status, 1)
	running := f.begin(ctx, t, q, workers.Coordinator{Progress: func(workers.Status) {
		if ctx.Err() != nil {
			return
		}
		s, err := workers.Inspect(ctx, q, jobName, secret)
		if err != nil {
			t.Error(err)
		}
		seen <- s
		cancel()
	}})
	s := <-seen
	if result := <-running; !errors.Is(result.err, context.Canceled) {
		t.Error(result.err)
	}
	if s.Job != jobName || s.Tables != 3 || s.Parts < 7 || s.Done != 0 || s.Bytes == 0 || s.Begun.IsZero() {
		t.Errorf("%+v", s)
	}
	other := make([]byte, 32)
	if _, err := workers.Inspect(t.Context(), q, jobName, other); !errors.Is(err, workers.ErrSealed) {
		t.Error(err)
	}
	f.finish(t, q)
	f.check(t)
}
