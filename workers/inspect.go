package workers

import (
	"context"
	"errors"
	"time"

	"culvert/workers/internal/queue"
)

// Inspect returns the state of a job. The error is [ErrNoJob] if there is none that has begun, and wraps [ErrSealed] if
// it has another secret.
func Inspect(ctx context.Context, q *Queue, name string, secret []byte) (Status, error) {
	job, err := q.Job(ctx, name, secret)
	if err != nil {
		return Status{}, err
	}
	o := &operation{c: &Coordinator{Queue: q}, job: job}
	if err := read(ctx, job, jobKey, &o.note); err != nil {
		if errors.Is(err, queue.ErrNotFound) {
			err = queue.ErrNoJob
		}
		return Status{}, err
	}
	w := watch{operation: o, workers: map[string]queue.Value{}}
	if err := o.readTables(ctx); err != nil {
		return Status{}, err
	}
	for _, prefix := range []string{recordKeys, deadKeys, failureKeys, workerKeys} {
		if err := job.List(ctx, prefix, w.note); err != nil {
			return Status{}, err
		}
	}
	if w.backlog, err = job.Backlog(ctx); err != nil {
		return Status{}, err
	}
	status := w.status()
	if err := w.listen(ctx, status.Workers); err != nil {
		return Status{}, err
	}
	lives, err := isCoordinated(ctx, q, job)
	if lives || err != nil {
		return status, err
	}
	status.NoCoordinator = true
	status.SnapshotLost, err = isLostInQueue(ctx, job)
	return status, err
}

// listen finds out for how long workers have been silent: as of the last note of all who live.
func (w *watch) listen(ctx context.Context, statuses []WorkerStatus) error {
	var last time.Time
	lease, err := w.job.Get(ctx, leaseKey)
	if err == nil {
		last = lease.Written
	} else if !errors.Is(err, queue.ErrNotFound) {
		return err
	}
	for _, v := range w.workers {
		if v.Written.After(last) {
			last = v.Written
		}
	}
	usual := heartbeatsOfWorkers * w.c.Queue.Heartbeat()
	for i := range statuses {
		if silent := last.Sub(w.workers[statuses[i].Name].Written); silent > 2*usual {
			statuses[i].Silent = silent.Seconds()
		}
	}
	return nil
}
