package load

import (
	"context"
	"errors"
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
// If the source is a [source.Sharer] and the sink a [sink.Cloner], up to Loaders tables are copied at the same time. If
// there are fewer tables, each has several connections. Tables whose rows refer to rows that are not there yet, or
// whose definitions need other tables, are copied again after the others.
func (p *Plan) CopyTables(ctx context.Context, dst sink.Sink, src source.Source, tables []Names) ([]Stats, error) {
	planned, err := p.PreviewTables(ctx, dst, src, tables)
	switch {
	case none(err):
		return failed(planned), err
	case planned == nil:
		return nil, err
	}
	c := &copies{tables: tables, planned: planned, stats: make([]Stats, len(tables))}
	lanes := 1
	_, shares := src.(source.Sharer)
	if shares {
		lanes = p.lanes(dst, len(tables))
	}
	each := *p
	each.Loaders = max(1, p.loaders()/lanes)
	c.plan = &each
	for i := range slices.Backward(tables) {
		c.left = append(c.left, i)
	}
	err = c.run(ctx, dst, src, lanes)
	alone(c.stats, c.fewer)
	if err == nil {
		err = c.again(func() error { return c.lane(ctx, ends{src, dst}) })
	}
	if err == nil {
		err = Finish(ctx, dst, c.stats)
	} else {
		unfinished(c.stats)
	}
	var tried []Stats
	failed := 0
	for _, stats := range c.stats {
		if !stats.tried {
			continue
		}
		if stats.Err != nil {
			failed++
		}
		tried = append(tried, stats)
	}
	if err == nil && failed > 0 {
		err = &PartialError{Failed: failed, Tables: len(tables)}
	}
	return tried, err
}

// PreviewTables returns what CopyTables would do with each table, and changes nothing. The error is the one that
// CopyTables would return if nothing else failed. The progress then expects the rows that the source has.
func (p *Plan) PreviewTables(
	ctx context.Context, dst sink.Sink, src source.Source, tables []Names,
) ([]Planned, error) {
	names := make([]string, len(tables))
	for i, table := range tables {
		names[i] = table.From
	}
	p.progress().expectedRows.Store(0)
	var columns []string
	known := true
	planned, err := p.lookUp(ctx, names, func(i int) (sink.Plan, error) {
		plan, found, err := p.preview(ctx, dst, src, tables[i].From, tables[i].To)
		if err != nil {
			plan.Table = tables[i].To
		}
		columns = append(columns, found...)
		known = known && found != nil
		return plan, err
	})
	if err == nil && known {
		err = p.checkConvert(columns)
	}
	if err != nil {
		return nil, err
	}
	if p.Check != nil {
		if err := p.Check(planned); err != nil {
			return nil, err
		}
	}
	return planned, failures(planned)
}

// copies is the work of CopyTables.
type copies struct {
	plan    *Plan
	tables  []Names
	planned []Planned // by table
	stats   []Stats   // by table
	fewer   string    // why fewer tables are copied at the same time, or ""

	turns
}

// ends are a source and a sink of a lane, which copies one table after the other.
type ends struct {
	src source.Source
	dst sink.Sink
}

func (c *copies) run(ctx context.Context, dst sink.Sink, src source.Source, lanes int) (err error) {
	all := []ends{{src, dst}}
	defer func() {
		for _, one := range all[1:] {
			err = errors.Join(err, one.src.Close(), one.dst.Close())
		}
	}()
	if lanes > 1 {
		snapshot, err := src.(source.Sharer).Share(ctx)
		if err != nil {
			return err
		}
		for len(all) < lanes && c.fewer == "" {
			c.fewer, err = open(func() error {
				more, err := joinEnds(ctx, dst, src, snapshot)
				if err == nil {
					all = append(all, more)
				}
				return err
			})
			if err != nil {
				return err
			}
		}
	}
	c.several = len(all) > 1
	return atOnce(ctx, all, c.lane)
}

// joinEnds opens a source and a sink for another lane.
func joinEnds(ctx context.Context, dst sink.Sink, src source.Source, snapshot source.Snapshot) (ends, error) {
	joined, err := src.(source.Sharer).Join(ctx, snapshot)
	if err != nil {
		return ends{}, err
	}
	clone, err := dst.(sink.Cloner).Clone(ctx)
	if err != nil {
		return ends{}, errors.Join(err, joined.Close())
	}
	return ends{joined, clone}, nil
}

// lane copies tables as long as there are any. It returns only errors that end the work.
func (c *copies) lane(ctx context.Context, e ends) error {
	for {
		i, more := c.take()
		if !more {
			return nil
		}
		table := c.tables[i]
		if failed := c.planned[i]; failed.Err != nil {
			c.stats[i] = Stats{Name: failed.Name, Table: failed.Table, Err: failed.Err, tried: true}
			continue
		}
		stats, err := c.plan.copy(ctx, e, table, func(j *job) error { return c.claim(i, j) })
		stats.Name, stats.Err, stats.tried = table.From, err, true
		if stats.Table == "" {
			stats.Table = table.To
		}
		c.stats[i] = stats
		if !isCommitted(err) {
			c.postpone(i, err)
		}
		switch {
		case err == nil:
			c.plan.progress().Tables.Add(1)
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case errors.Is(err, source.ErrUnavailable), errors.Is(err, sink.ErrUnconfirmed), len(c.tables) == 1:
			return err
		}
	}
}
