package load

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"golang.org/x/sync/errgroup"

	"culvert/sink"
	"culvert/source"
)

// share runs tasks at the same time, one for each of the workers, until all have ended. Tasks begin in their order. The
// first error ends the others.
func share[W, T any](
	ctx context.Context, workers []W, tasks []T, do func(ctx context.Context, worker W, task T) error,
) error {
	group, running := errgroup.WithContext(ctx)
	group.SetLimit(len(workers))
	free := make(chan W, len(workers))
	for _, worker := range workers {
		free <- worker
	}
	for _, task := range tasks {
		group.Go(func() error {
			if running.Err() != nil {
				return context.Cause(running)
			}
			worker := <-free
			defer func() { free <- worker }()
			return do(running, worker, task)
		})
	}
	err := group.Wait()
	if ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	return err
}

// ends are a source, unless rows come from files, and a sink of a worker, which fills one table after the other.
type ends struct {
	src source.Source
	dst sink.Sink
}

func (e ends) close() error {
	if e.src == nil {
		return e.dst.Close()
	}
	return errors.Join(e.src.Close(), e.dst.Close())
}

// pending are tables that are to be filled, by their index.
type pending struct {
	plan  *Plan
	stats []Stats
	fill  func(ctx context.Context, e ends, i int) (Stats, error)

	// fillTogether fills several tables in one transaction, and returns the error of each if there is any.
	fillTogether func(ctx context.Context, e ends, tables []int) ([]Stats, []error)

	planned []Planned
	several bool // tables are filled at the same time
	mu      sync.Mutex
	later   [][]int            // to be filled after the others
	filled  map[string]claimed // which table fills which one of the database
}

// run fills tables, in the order of the tasks, with so many workers. The first one has given ends, and open opens
// those of the others. The result has the tables that were tried.
func (p *pending) run(
	ctx context.Context, planned []Planned, tasks [][]int, first ends, workers int, open func() (ends, error),
) ([]Stats, error) {
	p.planned, p.stats = planned, make([]Stats, len(planned))
	for i := range planned {
		if missing := planned[i].Err; missing != nil {
			p.stats[i] = Stats{Name: planned[i].Name, Table: planned[i].Table, Err: missing, tried: true}
		}
	}
	err := p.fillAll(ctx, tasks, first, workers, open)
	for before := 0; err == nil && len(p.later) != before; {
		before = len(p.later)
		again := slices.SortedFunc(slices.Values(p.later), func(a, b []int) int { return a[0] - b[0] })
		p.several, p.later = false, nil
		err = share(ctx, []ends{first}, again, p.try) // as long as that helps any of them
		if len(p.later) == before && p.plan.Rejects != nil && !p.plan.dangling {
			p.plan.dangling, before = true, 0 // now only rows that are nowhere are missing
		}
	}
	if err == nil {
		err = Finish(ctx, first.dst, p.stats)
	} else {
		unfinished(p.stats)
	}
	var tried []Stats
	failed := 0
	for _, stats := range p.stats {
		if stats.Err != nil {
			failed++
		}
		if stats.tried {
			tried = append(tried, stats)
		}
	}
	if err == nil && failed > 0 {
		err = &PartialError{Failed: failed, Tables: len(planned)}
	}
	return tried, err
}

// fillAll tries each task once. If the connections of a worker are refused, the work goes on with the workers that
// there are, and the tables say so, unless they have a reason of their own. A server that cannot be reached at all
// fails them too.
func (p *pending) fillAll(
	ctx context.Context, tasks [][]int, first ends, workers int, open func() (ends, error),
) (err error) {
	all, fewer := []ends{first}, ""
	defer func() {
		for _, one := range all[1:] {
			err = errors.Join(err, one.close())
		}
	}()
	for len(all) < workers && fewer == "" {
		one, err := open()
		switch {
		case errors.Is(err, source.ErrUnavailable):
			fewer = err.Error()
		case err != nil:
			return err
		default:
			all = append(all, one)
		}
	}
	p.several = len(all) > 1
	err = share(ctx, all, tasks, p.try)
	for i := range p.stats {
		if stats := &p.stats[i]; stats.tried && stats.Alone == "" {
			stats.Alone = fewer
		}
	}
	return err
}

// try fills the tables of a task. It returns only errors that end the work. If several small tables cannot be filled in
// one transaction, each is filled in one of its own.
func (p *pending) try(ctx context.Context, e ends, task []int) error {
	p.fillTask(ctx, e, task)
	if p.isGathered(task) && p.failsGathered(ctx, task) {
		for _, i := range task {
			if err := p.try(ctx, e, []int{i}); err != nil {
				return err
			}
		}
		return nil
	}
	failed := task[0] // the table with the error itself
	for _, i := range task {
		stats := &p.stats[i]
		if stats.tried = true; stats.Err == nil {
			stats.Err = p.plan.analyze(ctx, e.dst, stats.target)
		}
		if stats.Err == nil {
			p.plan.progress().Tables.Add(1)
		} else if _, is := errors.AsType[*TogetherError](stats.Err); !is {
			failed = i
		}
	}
	err := p.stats[failed].Err
	switch {
	case err == nil:
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case errors.Is(err, source.ErrUnavailable), errors.Is(err, sink.ErrUnconfirmed), len(p.stats) == 1, isMost(err):
		return err
	case !isCommitted(err):
		p.postpone(task, err)
	}
	return nil
}

// fillTask fills the tables of a task.
func (p *pending) fillTask(ctx context.Context, e ends, task []int) {
	if i := task[0]; p.planned[i].Together == nil && !p.isGathered(task) {
		stats, err := p.fill(ctx, e, i)
		stats.Err = err
		p.stats[i] = stats
		return
	}
	all, errs := p.fillTogether(ctx, e, task)
	for at, i := range task {
		p.stats[i] = all[at]
		if errs != nil {
			p.stats[i].Err = errs[at]
		}
	}
}

// claim has a table be the only one that fills its target, which the sink has found.
func (p *pending) claim(i int, j *job) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if other, is := p.filled[j.object]; is && other.index != i {
		return &endingError{&SameTargetError{First: other.name, Second: j.name, Table: j.table}}
	}
	if p.filled == nil {
		p.filled = map[string]claimed{}
	}
	p.filled[j.object] = claimed{i, j.name}
	return nil
}

// claimed is the table that fills a target.
type claimed struct {
	index int
	name  string
}

// SameTargetError reports that two tables would become one. Nothing was changed.
type SameTargetError struct {
	First, Second string // their names in the manifest or the source
	Table         string // as SQL of the database
}

func (e *SameTargetError) Error() string {
	return fmt.Sprintf("load: the tables %q and %q would both become %s", e.First, e.Second, e.Table)
}

// postpone keeps a task for later if it has failed since another one, or its rows, may have been missing. A database
// may wait for the transaction of these rows, until the lock timeout, if it is still open.
func (p *pending) postpone(task []int, err error) {
	row, is := errors.AsType[*sink.RowError](err)
	refers := is && row.Dangling
	waits := p.several && errors.Is(err, sink.ErrLocked)
	if !refers && !waits && !errors.Is(err, sink.ErrNeeds) {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.later = append(p.later, task)
}
