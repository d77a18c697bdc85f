package workers

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"syscall"
	"time"

	"culvert/export"
	"culvert/internal/grace"
	"culvert/manifest"
	"culvert/place"
	"culvert/source"
	"culvert/workers/internal/queue"
)

// do writes the part of a task, unless that is done. The error is one that the part is not to blame for, such as one of
// the place; unless the place is proven, since the session has just written to it, and no other worker will have the
// part.
func (r *run) do(ctx context.Context, src source.Source, task *queue.Task, proven bool) error {
	id, err := parseTaskID(task.ID)
	if err != nil {
		task.Bury()
		return nil
	}
	_, err = r.job.Get(ctx, recordKeys+"."+task.ID)
	if errors.Is(err, queue.ErrNotFound) {
		err = r.write(ctx, src, task, id)
	}
	switch {
	case err == nil, errors.Is(err, errOtherPlan):
		task.Done()
		return nil
	case ctx.Err() != nil:
		task.Return(0)
		return ctx.Err()
	case errors.Is(err, queue.ErrNoJob):
		task.Return(r.worker.Queue.Heartbeat()) // it may be one of a later job of the same name
		return err
	case errors.Is(err, queue.ErrSealed):
		return err
	case errors.Is(err, source.ErrUnavailable), errors.Is(err, source.ErrOtherSnapshot), isFull(err),
		isOfPlace(err) && !proven:
		task.Return(r.worker.Queue.Heartbeat()) // the part is not to blame
		if errors.Is(err, source.ErrOtherSnapshot) {
			r.plans.forget(id.plan)
		}
		return err
	}
	return r.fail(ctx, task, err)
}

// isOfPlace reports whether a file could not be written. Other parts are likely to fail in the same way.
func isOfPlace(err error) bool {
	_, is := errors.AsType[*export.PlaceError](err)
	return is || isFull(err)
}

// isFull reports whether there is no room for a file. Other parts would fail in the same way.
func isFull(err error) bool { return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) }

// fail notes why a part could not be written, and gives it to another worker, if there may be another.
func (r *run) fail(ctx context.Context, task *queue.Task, failure error) error {
	r.worker.report("%v", failure)
	note := encode(failureNote{Worker: r.worker.Name, Delivery: task.Delivery, Error: bounded(failure)})
	if err := r.job.Set(ctx, failureKeys+"."+task.ID, note); err != nil {
		return err
	}
	if !task.Last {
		task.Return(r.worker.Queue.Heartbeat() << min(task.Delivery-1, 5))
		return nil
	}
	err := r.job.Create(ctx, deadKeys+"."+task.ID, note)
	if err != nil && !errors.Is(err, queue.ErrExists) {
		return err
	}
	task.Bury()
	return nil
}

// write writes a part to a new file and records it. If another worker was first, the file is removed.
func (r *run) write(ctx context.Context, src source.Source, task *queue.Task, id taskID) error {
	part, err := r.plans.part(ctx, id)
	if err != nil {
		return err
	}
	plan := *r.output.Plan
	plan.Overwrite = false // a worker that wakes up late must not replace the file of another one
	plan.Progress = &export.Progress{}
	r.begin(plan.Progress, part.Table)
	stop := r.extend(task, plan.Progress)
	file, to, err := r.attempt(ctx, &plan, src, part, id, task.Delivery)
	stop()
	if err == nil {
		err = r.record(ctx, task.ID, file, to)
	}
	r.end(ctx, plan.Progress, err)
	return err
}

// attempt writes a part under the first name that is free. The number of the delivery is usually that.
func (r *run) attempt(
	ctx context.Context, plan *export.Plan, src source.Source, part source.Part, id taskID, first int,
) (file manifest.Part, to *keeper, err error) {
	if id.table >= len(r.directories) {
		return file, nil, errOtherPlan
	}
	directory := r.directories[id.table]
	for attempt := max(1, first); ; attempt++ {
		name := manifest.PartFile(directory, id.number+1, attempt, plan.Extension())
		if attempt > 1 {
			// Places find out only at the end that a name is taken.
			if _, err := fs.Stat(place.WithContext(ctx, r.output.Place), name); err == nil {
				continue
			}
		}
		to = &keeper{Place: r.output.Place}
		file, err = plan.Part(ctx, to, name, src, part)
		if !errors.Is(err, fs.ErrExist) {
			return file, to, err
		}
	}
}

// extend tells the queue that a task makes progress, as long as it does. A session that waits for a database that is
// stuck loses the task.
func (r *run) extend(task *queue.Task, progress *export.Progress) (stop func()) {
	ticks := time.NewTicker(r.job.AckWait() / 3)
	done, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		defer ticks.Stop()
		var before [2]int64
		for {
			select {
			case <-done:
				return
			case <-ticks.C:
			}
			if now := [2]int64{progress.Rows.Load(), progress.Out.Load()}; now != before {
				before = now
				task.Extend()
			}
		}
	}()
	return func() {
		close(done)
		<-ended
	}
}

// patience is how long a worker that is told to end still tries to record a part that it has written.
const patience = 10 * time.Second

// record notes that a part is written. The file is removed if another one was recorded before, or the job had ended.
// Since the file exists, the end of ctx is no reason to leave it there.
//
// A file that is not encrypted is left: it cannot be told from the same part of the next export. The coordinator
// removes it, if the job goes on.
//
// If the job has ended while it is not known whether the record arrived, the manifest may list the file. So it is left.
func (r *run) record(ctx context.Context, id string, file manifest.Part, to *keeper) error {
	ctx, cancel := grace.Context(ctx, patience)
	defer cancel()
	err := r.job.Create(ctx, recordKeys+"."+id, encode(recordNote{File: file, Worker: r.worker.Name}))
	exists := errors.Is(err, queue.ErrExists)
	if exists {
		// The record may be that of an earlier attempt, which the queue has lost and got back from the journal.
		var first recordNote
		if err := read(ctx, r.job, recordKeys+"."+id, &first); err != nil || first.File.File == file.File {
			return err
		}
	}
	switch unneeded := exists || errors.Is(err, queue.ErrNoJob) && !errors.Is(err, queue.ErrUncertain); {
	case unneeded && r.output.Plan.Unencrypted:
		r.worker.report("%s is not needed, and is left: the next export may have an equal file", file.File)
	case unneeded:
		switch removeErr := to.remove(ctx, file.File); {
		case isForbidden(removeErr):
			r.worker.report("%v", removeErr)
		case removeErr != nil:
			return removeErr
		}
	}
	if exists {
		return nil
	}
	return err
}

// keeper is a place that remembers how the file that was written begins. Encrypted files have new keys, so no two begin
// alike.
type keeper struct {
	place.Place
	head   bytes.Buffer
	before func(head []byte) error // is called before the file gets its name; may be nil
}

const headSize = 512 // more than the public part of the header of an age file for one recipient

func (k *keeper) Create(ctx context.Context, name string) (place.File, error) {
	return k.keep(k.Place.Create(ctx, name))
}

func (k *keeper) Replace(ctx context.Context, name string) (place.File, error) {
	return k.keep(k.Place.Replace(ctx, name))
}

func (k *keeper) keep(file place.File, err error) (place.File, error) {
	if err != nil {
		return nil, err
	}
	return &keptFile{file, k}, nil
}

type keptFile struct {
	place.File
	keeper *keeper
}

func (f *keptFile) Write(p []byte) (int, error) {
	n, err := f.File.Write(p)
	head := &f.keeper.head
	head.Write(p[:min(n, headSize-head.Len())])
	return n, err
}

func (f *keptFile) Commit() error {
	if f.keeper.before != nil {
		if err := f.keeper.before(f.keeper.head.Bytes()); err != nil {
			return errors.Join(err, f.Discard())
		}
	}
	return f.File.Commit()
}

// readHead returns how a file begins.
func readHead(ctx context.Context, from place.Place, name string) (head []byte, err error) {
	file, err := place.WithContext(ctx, from).Open(name)
	if err != nil {
		return nil, err
	}
	head, err = io.ReadAll(io.LimitReader(file, headSize))
	return head, errors.Join(err, file.Close())
}

// remove removes the file that was written, unless another one has its name now. This process may have been stopped for
// so long that the next export to the same place is under way.
func (k *keeper) remove(ctx context.Context, name string) error {
	head, err := readHead(ctx, k.Place, name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil // the coordinator has removed it
	}
	if err != nil {
		return fmt.Errorf("workers: a file that is not needed is left: %w", err)
	}
	if !bytes.Equal(head, k.head.Bytes()) {
		return nil
	}
	if err := k.Place.Remove(ctx, name); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("workers: a file that is not needed is left: %w", err)
	}
	return nil
}
