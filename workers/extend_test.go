package workers_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"culvert/internal/testkit"
	"culvert/postgres"
	"culvert/source"
	"culvert/workers"
)

// parts counts how often parts were given to sessions.
type parts struct {
	mu    sync.Mutex
	given map[string]int // by the table
	often chan struct{}  // closed when the part that stands still was given as often as oftenGiven
}

// oftenGiven tells a part that the queue gives to others again and again from one that it gives once more, since the
// machine stood still for longer than the queue waits.
const oftenGiven = 4

// paced is a session to which a part of one table stands still, while the rows of the other table move.
type paced struct {
	*postgres.Source
	parts *parts
}

func (p *paced) Part(ctx context.Context, part source.Part) (source.Rows, error) {
	rows, err := p.Source.Part(ctx, part)
	if err != nil {
		return nil, err
	}
	p.parts.mu.Lock()
	defer p.parts.mu.Unlock()
	p.parts.given[part.Table]++
	switch given := p.parts.given[part.Table]; {
	case part.Table == "orders":
		return &moving{Rows: rows, until: p.parts.often}, nil
	case given == oftenGiven:
		close(p.parts.often)
	case given < oftenGiven:
		return &still{rows, ctx, p.parts.often}, nil
	}
	return rows, nil
}

// still are rows that come late.
type still struct {
	source.Rows
	ctx   context.Context
	until <-chan struct{}
}

func (s *still) Next(b *source.Batch) error {
	select {
	case <-s.until:
		return s.Rows.Next(b)
	case <-s.ctx.Done():
		return s.ctx.Err()
	}
}

// moving are rows that come one by one.
type moving struct {
	source.Rows
	until <-chan struct{}
	batch source.Batch
	row   int
}

func (m *moving) Next(b *source.Batch) error {
	if m.row == m.batch.Rows() {
		m.row = 0
		if err := m.Rows.Next(&m.batch); err != nil {
			return err
		}
	}
	select {
	case <-m.until:
	case <-time.After(heartbeat):
	}
	b.Reset(len(m.Columns()))
	for column := range m.batch.Columns() {
		b.Append(m.batch.Value(m.row, column))
	}
	b.EndRow()
	m.row++
	return nil
}

// TestRowsMove has two parts that take longer than the queue waits. The one whose rows move stays with its session. The
// one that stands still is given to others.
func TestRowsMove(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.Tables, f.PartSize, f.Sessions = []string{"orders", "customers"}, 1<<30, oftenGiven+2
	q := f.queue(t)
	p := &parts{given: map[string]int{}, often: make(chan struct{})}
	f.wrapJoined = func(_ source.Snapshot, db *postgres.Source, err error) (source.Source, error) {
		if err != nil {
			return nil, err
		}
		return &paced{db, p}, nil
	}
	ended := f.begin(t.Context(), t, q, workers.Coordinator{})
	worker := f.participant
	worker.Name = "worker"
	worked := make(chan error, 1)
	go func() { worked <- worker.workOn(t.Context(), q, func(m string) { t.Log(m) }) }()
	testkit.WaitFor(t, "others to be given the part that stands still", func() bool {
		select {
		case <-p.often:
			return true
		default:
			return false
		}
	})
	(<-ended).check(t)
	if err := <-worked; err != nil {
		t.Error(err)
	}
	f.check(t)
	if p.given["orders"] > 2 {
		t.Errorf("the part whose rows move was given to %d sessions", p.given["orders"])
	}
}
