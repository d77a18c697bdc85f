package load

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"culvert/sink"
	"culvert/source"
)

// Names are the names of a table in a source and in a sink.
type Names struct{ From, To string }

// CopyTables copies tables of one snapshot of a source, each with all rows or none. All tables are looked up before
// anything is copied. If a table fails then or later, the others are still copied, and the error is a [*PartialError].
// But nothing is copied if the source lacks one of them, or if rows are to be replaced to which tables refer that are
// not replaced with them ([*sink.ReferencedError]). A lost database ([source.ErrUnavailable]) and the end of the
// context end the work. The result has all tables that were tried, in their order. With Create, foreign keys follow
// after the last table.
//
// If the source is a [source.Sharer], or a [source.Grouped] that was opened with several connections, and the sink a
// [sink.Cloner], up to Loaders tables are copied at the same time. If there are fewer tables, each has several
// connections. Tables whose rows refer to rows that are not there yet, or
// whose definitions need other tables, are copied again after the others.
func (p *Plan) CopyTables(ctx context.Context, dst sink.Sink, src source.Source, tables []Names) ([]Stats, error) {
	if err := p.checkCopy(); err != nil {
		return nil, err
	}
	return p.copyTables(ctx, dst, src, tables)
}

// copyTables copies tables that the ledger, if there is one, does not have.
func (p *Plan) copyTables(ctx context.Context, dst sink.Sink, src source.Source, tables []Names) ([]Stats, error) {
	if _, err := p.checkMasks(ctx, src, tables); err != nil {
		return nil, err
	}
	all := *p
	p = &all
	planned, jobs, err := p.previewTables(ctx, dst, src, tables)
	switch {
	case none(err):
		return failed(planned), err
	case planned == nil:
		return nil, err
	}
	if err := p.provide(ctx, dst, planned); err != nil {
		return nil, err
	}
	workers, another, err := p.sources(ctx, src, p.workers(dst, len(tables)))
	if err != nil {
		return nil, err
	}
	each := *p
	each.beside, each.Loaders = workers, max(1, p.loaders()/workers)
	each.dangling = len(tables) == 1
	c := &pending{plan: &each}
	c.fill = func(ctx context.Context, e ends, i int) (Stats, error) {
		jobs[i].grouped = false
		stats, err := each.copy(ctx, e, tables[i], e.dst.Table, func(all *Plan, j *job) error {
			if _, err := all.look(ctx, e.dst, j); err != nil {
				return err
			}
			return c.claim(i, j)
		})
		stats.Name, stats.Table = tables[i].From, cmp.Or(stats.Table, tables[i].To)
		return stats, err
	}
	c.fillTogether = func(ctx context.Context, e ends, task []int) ([]Stats, []error) {
		one := each
		one.Loaders = 1
		known := make([]*job, len(task))
		for at, i := range task {
			known[at] = jobs[i]
			jobs[i].grouped = true
		}
		return one.fillTogether(ctx, e.dst, known, func(at int, open opener) (Stats, error) {
			return one.copy(ctx, e, tables[task[at]], open, func(_ *Plan, j *job) error {
				if !slices.Equal(j.columns.names, known[at].columns.names) {
					return fmt.Errorf("load: table %q was altered in the source meanwhile; begin again", j.name)
				}
				one.learn(e.dst, j, planned[task[at]].Plan)
				if j.grouped = true; c.isGathered(task) {
					j.alone = "" // one connection is all that it would have
				}
				return nil
			})
		})
	}
	for i := range planned {
		if planned[i].Err == nil {
			p.learn(dst, jobs[i], planned[i].Plan)
		}
	}
	gathered := p.gather(dst, tasksOf(planned), workers, func(i int) bool {
		return planned[i].Together == nil && jobs[i].isSmall() && c.claim(i, jobs[i]) == nil
	})
	return c.run(ctx, planned, gathered, ends{src, dst}, workers, func() (ends, error) {
		return joinEnds(ctx, dst, another)
	})
}

// sources returns how many sources can show one state, at most as many as wanted, and a function that opens another.
func (p *Plan) sources(
	ctx context.Context, src source.Source, wanted int,
) (n int, another func() (source.Source, error), err error) {
	if wanted < 2 {
		return 1, nil, nil
	}
	switch src := src.(type) {
	case source.Sharer:
		shared, err := src.Share(ctx)
		return wanted, func() (source.Source, error) { return src.Join(ctx, shared) }, err
	case source.Grouped:
		return max(1, min(wanted, src.Moment().Connections)), func() (source.Source, error) {
			if beside, _ := src.Beside(1); len(beside) > 0 {
				return beside[0], nil
			}
			return nil, fmt.Errorf("load: a connection of the source was lost: %w", source.ErrUnavailable)
		}, nil
	}
	return 1, nil, nil
}

// PreviewTables returns what CopyTables would do with each table, and changes nothing. The error is the one that
// CopyTables would return if nothing else failed. The progress then expects the rows that the source has.
func (p *Plan) PreviewTables(
	ctx context.Context, dst sink.Sink, src source.Source, tables []Names,
) ([]Planned, error) {
	if err := p.checkCopy(); err != nil {
		return nil, err
	}
	all := *p
	planned, _, err := all.previewTables(ctx, dst, src, tables)
	return planned, err
}

// previewTables also returns the tables as they will be filled, and has the plan know how they are related, and what
// they need.
func (p *Plan) previewTables(
	ctx context.Context, dst sink.Sink, src source.Source, tables []Names,
) ([]Planned, []*job, error) {
	names := namesFrom(tables)
	p.progress().expectedRows.Store(0)
	var columns []string
	known := true
	p.Filling.Linked = len(tables) > 1 && p.linksCircles(dst)
	jobs, missing, err := p.lookAtAll(ctx, src, tables, p.links(dst))
	if err != nil {
		return nil, nil, err
	}
	if err := p.checkTypes(names, jobs); err != nil {
		return nil, nil, err
	}
	found := slices.DeleteFunc(slices.Clone(jobs), func(j *job) bool { return j == nil })
	p.related = relate(slices.Values(found))
	if p.Filling.Provided, err = p.needsOfSource(ctx, dst, src, found); err != nil {
		return nil, nil, err
	}
	p.ask(ctx, dst, found)
	planned, err := p.lookUp(ctx, names, func(i int) (plan sink.Plan, err error) {
		if err = missing[i]; err == nil {
			plan, jobs[i], err = p.plannedCopy(ctx, dst, src, jobs[i])
		}
		if known = known && jobs[i] != nil; known {
			columns = append(columns, jobs[i].columns.names...)
		}
		if err != nil {
			plan.Table = tables[i].To
		}
		return plan, err
	}, func(planned []Planned) error {
		return p.link(ctx, dst, planned, func(i int) *job { return jobs[i] }, func(i int) (sink.Plan, error) {
			return p.planned(ctx, dst, jobs[i].to, jobs[i])
		})
	})
	if err == nil && known {
		err = cmp.Or(p.checkConvert(columns), p.checkConversions(jobs...))
	}
	if err != nil {
		return nil, nil, err
	}
	p.unrelate(planned, func(i int) *job { return jobs[i] })
	if p.Check != nil {
		if err := p.Check(planned); err != nil {
			return nil, nil, err
		}
	}
	return planned, jobs, failures(planned)
}

// preparedTables is how many tables a source looks up at once, which bounds its memory.
const preparedTables = 500

func namesFrom(tables []Names) []string {
	names := make([]string, len(tables))
	for i, table := range tables {
		names[i] = table.From
	}
	return names
}

// lookAtAll looks tables of a source up. It returns those whose columns are known, and the error of each.
func (p *Plan) lookAtAll(
	ctx context.Context, src source.Source, tables []Names, grouped bool,
) (jobs []*job, errs []error, err error) {
	jobs, errs = make([]*job, len(tables)), make([]error, len(tables))
	preparer, prepares := src.(source.Preparer)
	for i, table := range tables {
		if prepares && i%preparedTables == 0 {
			if err := preparer.Prepare(ctx, namesFrom(tables[i:min(i+preparedTables, len(tables))])); err != nil {
				return nil, nil, err
			}
		}
		jobs[i], errs[i] = p.lookAt(ctx, src, table.From, table.To)
		if jobs[i] != nil {
			jobs[i].grouped = grouped
		}
		if errors.Is(errs[i], source.ErrUnavailable) || ctx.Err() != nil {
			return nil, nil, errs[i]
		}
	}
	return jobs, errs, nil
}

// isSmall reports whether a table that is copied is known to be small. PostgreSQL knows the size of an empty one.
func (j *job) isSmall() bool {
	return j.size != nil && j.size.Bytes <= smallTable && (j.size.Bytes > 0 || j.system == source.PostgreSQL)
}

// joinEnds opens a source and a sink for another worker.
func joinEnds(ctx context.Context, dst sink.Sink, another func() (source.Source, error)) (ends, error) {
	joined, err := another()
	if err != nil {
		return ends{}, err
	}
	clone, err := dst.(sink.Cloner).Clone(ctx)
	if err != nil {
		return ends{}, errors.Join(err, joined.Close())
	}
	return ends{joined, clone}, nil
}
