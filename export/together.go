package export

import (
	"context"
	"errors"
	"sync/atomic"

	"golang.org/x/sync/errgroup"

	"culvert/source"
)

// write writes all files. It returns the error that stopped the export.
func (t *tables) write(ctx context.Context, src source.Source) error {
	tasks, parts := t.tasks()
	t.plan.Progress.expect(tasks)
	var err error
	if parts > 0 {
		err = t.writeWith(ctx, src, parts, tasks)
	} else {
		small, others, sessions := t.divide(tasks)
		if err = t.writeWith(ctx, src, sessions, small); err == nil {
			err = t.writeWith(ctx, src, 1, others)
		}
	}
	return errors.Join(err, t.commits.settle())
}

const (
	// smallTable is the size up to which a table is not worth several connections.
	smallTable = 4 << 20

	// smallOfSession is the least number of small tables for which another session is opened, which takes about as long
	// as reading some of them.
	smallOfSession = 8

	// smallOfCondition is how many small tables one with a condition counts for: the server has to look for its rows in
	// a table that may be large, and often in others that it refers to.
	smallOfCondition = 4
)

// divide returns the tasks of small tables, which several sessions read at the same time, one each, the others, and how
// many sessions that are worth it. None are small unless the source looks up tables together: otherwise that takes
// longer than to read them.
func (t *tables) divide(tasks []task) (small, others []task, sessions int) {
	count := 0
	for _, task := range tasks {
		switch {
		case !t.prepares || task.table.share.size.Bytes >= smallTable || task.table.share.size.Rows >= smallTable:
			others = append(others, task)
			continue
		case t.plan.choiceOf(task.table.stats.Name).Selection.Where != "":
			count += smallOfCondition
		default:
			count++
		}
		small = append(small, task)
	}
	if count < 2*smallOfSession {
		return nil, tasks, 0
	}
	return small, others, count / smallOfSession
}

// writeWith writes files with so many sessions at most.
func (t *tables) writeWith(ctx context.Context, src source.Source, sessions int, tasks []task) (err error) {
	if len(tasks) == 0 {
		return nil
	}
	if t.sessions, err = t.plan.openSessions(ctx, src, sessions); err != nil {
		return err
	}
	for i := range t.all {
		one := &t.all[i]
		if len(one.outline.Parts) == 0 {
			continue
		}
		one.stats.Readers = min(len(t.sessions.sources), len(one.files))
		if one.stats.Indivisible == nil {
			one.stats.Indivisible = t.sessions.fewer
		}
	}
	if sessions > 1 && len(tasks[0].table.outline.Parts) == 0 {
		// Another export to the same place may take the first name; see commits.
		if err = t.run(ctx, 1, tasks[:1]); err == nil {
			tasks = tasks[1:]
		}
	}
	if err == nil {
		err = t.run(ctx, len(t.sessions.sources), tasks)
	}
	if err == nil {
		err = t.run(ctx, 1, t.left)
		t.left = nil
	}
	return errors.Join(err, t.sessions.close())
}

// run has sessions write files. Each takes the next one when it has written one.
func (t *tables) run(ctx context.Context, sessions int, tasks []task) error {
	var next atomic.Int64
	work := func(ctx context.Context, session int) error {
		for ctx.Err() == nil {
			i := int(next.Add(1)) - 1
			if i >= len(tasks) {
				return nil
			}
			if err := t.do(ctx, session, tasks[i]); err != nil {
				return err
			}
		}
		return context.Cause(ctx)
	}
	if sessions == 1 {
		return work(ctx, 0) // here, so that the caller can recover from a source that panics
	}
	group, inner := errgroup.WithContext(ctx)
	for session := range sessions {
		group.Go(func() error {
			// The context of the files ends with the group.
			return errors.Join(work(inner, session), t.commits.settle())
		})
	}
	return group.Wait()
}
