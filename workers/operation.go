package workers

import (
	"context"
	"errors"

	"culvert/export"
	"culvert/internal/grace"
	"culvert/manifest"
	"culvert/source"
	"culvert/workers/internal/queue"
)

// operation is what one coordinator does for a job.
type operation struct {
	c    *Coordinator
	job  *queue.Job
	note jobNote
	src  source.Source

	again    bool // another coordinator has begun
	ended    bool // it has written the manifest
	restored bool // the queue knew nothing of that

	journal   *journal                   // nil before the tables are planned
	snapshots map[string]source.Snapshot // of the journal, by key, when the job is restored
	tables    []tableState

	lost        map[taskID]bool // parts that were written, and whose files were lost
	directories []string        // of the tables
	removed     bool            // this coordinator has removed the job, which ends the lease, or has tried to
	gone        bool            // and it is
}

// tableState is what is known of a table.
type tableState struct {
	note     tableNote
	revision uint64
	cuts     []cut
	files    []manifest.Part // those of parts that are not written have no name
	failed   error
	dropped  bool // its parts are out of the queue, since it has failed

	// Figures of all parts, and of those that are written, so that no status has to count them.
	bytes, bytesDone int64 // as stored by the database
	done             int
	rows, text, out  int64
}

// isUnfinished reports whether the table is not cut, or some of its parts are not written.
func (t tableState) isUnfinished() bool {
	return t.failed == nil && (t.note.Plan == "" || t.done < len(t.cuts))
}

// run carries out the job in the context of the lease, which ends when the job is removed. So the job is removed in the
// outer one.
func (o *operation) run(ctx, outer context.Context) (m *manifest.Manifest, err error) {
	if err := o.enter(ctx); err != nil {
		return nil, err
	}
	if err := o.plan(ctx); err != nil {
		unknown, _ := errors.AsType[*source.UnknownError](err)
		if (unknown != nil || errors.Is(err, errTooManyParts)) && !o.again {
			err = errors.Join(err, o.abandon(outer)) // it would fail again
		} else {
			o.leave(ctx)
		}
		return nil, err
	}
	for again := true; again; again = errors.Is(err, errWriteAgain) {
		if err := o.collect(ctx); err != nil {
			o.leave(ctx)
			if _, is := errors.AsType[*fastFailure](err); is {
				err = errors.Join(err, o.removeJob(outer))
			}
			return nil, err
		}
		m, err = o.finish(ctx)
	}
	if err != nil {
		return m, err
	}
	if err := o.abandon(outer); err != nil {
		return m, err
	}
	failed := 0
	for _, t := range o.tables {
		if t.failed != nil {
			failed++
		}
	}
	if failed > 0 {
		return m, &export.PartialError{Failed: failed, Tables: len(o.tables)}
	}
	return m, nil
}

// enter begins the job, or goes on with it.
func (o *operation) enter(ctx context.Context) error {
	err := read(ctx, o.job, jobKey, &o.note)
	if err == nil {
		o.again = true
		if err := o.refuseOtherExport(ctx); err != nil {
			return err
		}
		return o.goOn(ctx)
	}
	if !errors.Is(err, queue.ErrNotFound) {
		return err
	}
	if o.restored, err = o.restore(ctx); err == nil {
		o.again = o.restored
		if !o.again {
			err = o.begin(ctx)
		} else if err = o.goOn(ctx); err == nil {
			err = o.job.Set(ctx, jobKey, encode(o.note))
		}
	}
	cause := context.Cause(ctx)
	if err == nil || errors.Is(cause, queue.ErrLost) || errors.Is(cause, queue.ErrNoJob) ||
		errors.Is(err, queue.ErrExists) {
		return err // if the lease is lost, or was removed with the job, the name belongs to another coordinator
	}
	ended := ctx.Err() != nil
	removing, cancel := grace.Context(ctx, patience)
	defer cancel()
	// The queue has nothing that the place does not have.
	err = errors.Join(err, o.removeJob(removing))
	o.removed = !ended
	return err
}

// removeJob removes the job from the queue.
func (o *operation) removeJob(ctx context.Context) error {
	o.removed = true
	err := o.c.Queue.Remove(ctx, o.job.Name)
	o.gone = err == nil
	return err
}

// abandon removes the job. Its journal may be left: beside a manifest, it means nothing.
func (o *operation) abandon(ctx context.Context) error {
	if o.journal != nil {
		if err := o.journal.remove(ctx); err != nil && ctx.Err() == nil {
			o.c.report("the journal of the export is left, and is not needed any more: %v", err)
		}
	}
	return o.removeJob(ctx)
}
