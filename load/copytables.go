package load

import (
	"cmp"
	"context"
	"errors"

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
// If the source is a [source.Sharer] and the sink a [sink.Cloner], up to Loaders tables are copied at the same time. If
// there are fewer tables, each has several connections. Tables whose rows refer to rows that are not there yet, or
// whose definitions need other tables, are copied again after the others.
func (p *Plan) CopyTables(ctx context.Context, dst sink.Sink, src source.Source, tables []Names) ([]Stats, error) {
	if err := p.checkCopy(); err != nil {
		return nil, err
	}
	return p.copyTables(ctx, dst, src, tables)
}

// copyTables copies tables that the ledger, if there is one, does not have.
func (p *Plan) copyTables(ctx context.Context, dst sink.Sink, src source.Source, tables []Names) ([]Stats, error) {
	planned, jobs, err := p.previewTables(ctx, dst, src, tables)
	switch {
	case none(err):
		return failed(planned), err
	case planned == nil:
		return nil, err
	}
	if _, provides := dst.(sink.Provider); provides && p.Create {
		schema, err := source.NeedsOf(ctx, src, missingOf(planned))
		if err == nil && schema != nil {
			err = p.provide(ctx, dst, schema, planned)
		}
		if err != nil {
			return nil, err
		}
	}
	workers := 1
	sharer, shares := src.(source.Sharer)
	if shares {
		workers = p.workers(dst, len(tables))
	}
	var shared source.Snapshot
	if workers > 1 {
		if shared, err = sharer.Share(ctx); err != nil {
			return nil, err
		}
	}
	each := *p
	each.Loaders = max(1, p.loaders()/workers)
	c := &pending{plan: &each}
	c.fill = func(ctx context.Context, e ends, i int) (Stats, error) {
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
		}
		return one.fillTogether(ctx, e.dst, known, func(at int, open opener) (Stats, error) {
			return one.copy(ctx, e, tables[task[at]], open, func(_ *Plan, j *job) error {
				j.table, j.grouped, j.alone = known[at].table, true, aloneTogether
				return nil
			})
		})
	}
	return c.run(ctx, planned, tasksOf(planned), ends{src, dst}, workers, func() (ends, error) {
		return joinEnds(ctx, dst, sharer, shared)
	})
}

// PreviewTables returns what CopyTables would do with each table, and changes nothing. The error is the one that
// CopyTables would return if nothing else failed. The progress then expects the rows that the source has.
func (p *Plan) PreviewTables(
	ctx context.Context, dst sink.Sink, src source.Source, tables []Names,
) ([]Planned, error) {
	if err := p.checkCopy(); err != nil {
		return nil, err
	}
	planned, _, err := p.previewTables(ctx, dst, src, tables)
	return planned, err
}

// previewTables also returns the tables as they will be filled.
func (p *Plan) previewTables(
	ctx context.Context, dst sink.Sink, src source.Source, tables []Names,
) ([]Planned, []*job, error) {
	names := make([]string, len(tables))
	for i, table := range tables {
		names[i] = table.From
	}
	p.progress().expectedRows.Store(0)
	var columns []string
	known := true
	jobs := make([]*job, len(tables))
	planned, err := p.lookUp(ctx, names, func(i int) (sink.Plan, error) {
		plan, j, err := p.preview(ctx, dst, src, tables[i].From, tables[i].To, p.links(dst))
		if err != nil {
			plan.Table = tables[i].To
		}
		if jobs[i] = j; j != nil {
			columns = append(columns, j.columns.names...)
		}
		known = known && j != nil
		return plan, err
	}, func(planned []Planned) error {
		return p.link(ctx, dst, planned, func(i int) *job { return jobs[i] }, func(i int) (sink.Plan, error) {
			return p.planned(ctx, dst, jobs[i].to, jobs[i])
		})
	})
	if err == nil && known {
		err = p.checkConvert(columns)
	}
	if err != nil {
		return nil, nil, err
	}
	if p.Check != nil {
		if err := p.Check(planned); err != nil {
			return nil, nil, err
		}
	}
	return planned, jobs, failures(planned)
}

// joinEnds opens a source and a sink for another worker.
func joinEnds(ctx context.Context, dst sink.Sink, src source.Sharer, snapshot source.Snapshot) (ends, error) {
	joined, err := src.Join(ctx, snapshot)
	if err != nil {
		return ends{}, err
	}
	clone, err := dst.(sink.Cloner).Clone(ctx)
	if err != nil {
		return ends{}, errors.Join(err, joined.Close())
	}
	return ends{joined, clone}, nil
}
