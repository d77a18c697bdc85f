package workers

import (
	"context"
	"errors"
	"time"

	"culvert/workers/internal/queue"
)

// ErrNoCoordinator means that a worker has left a job, since nobody coordinates it, and its snapshot is lost, or there
// was nothing to write for the Patience of the worker. The job remains, and its next coordinator goes on with it.
var ErrNoCoordinator = errors.New("workers: nobody coordinates the job")

// heartbeatsOfDead is for how many heartbeats a coordinator has renewed no lease that counts as dead to workers.
// Another one would have taken over long before.
const heartbeatsOfDead = 30

// isCoordinated reports whether a coordinator of a job lives, which renews its lease at each heartbeat.
func isCoordinated(ctx context.Context, q *Queue, job *queue.Job) (bool, error) {
	lease, err := job.Get(ctx, leaseKey)
	if errors.Is(err, queue.ErrNotFound) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	now, err := job.Now(ctx)
	return err == nil && now.Sub(lease.Written) <= heartbeatsOfDead*q.Heartbeat(), err
}

// refuseIdle fails if a job has neither a coordinator nor a part to write.
func (w *Worker) refuseIdle(ctx context.Context, job *queue.Job) error {
	backlog, err := job.Backlog(ctx)
	if err != nil || backlog.Waiting+backlog.Running > 0 {
		return err
	}
	lives, err := isCoordinated(ctx, w.Queue, job)
	if lives || err != nil {
		return err
	}
	return ErrNoCoordinator
}

// forsake fails if nobody coordinates the job, whose snapshot is lost. Otherwise the coordinator is about to end, or to
// take another snapshot.
func (r *run) forsake(ctx context.Context, lost error) error {
	if lives, err := isCoordinated(ctx, r.worker.Queue, r.job); lives || err != nil {
		return err
	}
	return errors.Join(ErrNoCoordinator, lost, r.job.Set(ctx, lostKey, []byte(r.worker.Name)))
}

// isLostInQueue reports whether a worker has noted that the snapshot of a job is lost, and nobody has shared one since.
func isLostInQueue(ctx context.Context, job *queue.Job) (bool, error) {
	lost, err := job.Get(ctx, lostKey)
	if errors.Is(err, queue.ErrNotFound) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	shared := false
	err = job.List(ctx, sharedKeys, func(snapshot queue.Value) error {
		shared = shared || snapshot.Revision > lost.Revision
		return nil
	})
	return !shared, err
}

// vigil finds out for how long a worker has had neither a coordinator nor a part.
type vigil struct{ since time.Time }

// look reports whether it is time to leave the job. Parts that others write count too: this worker may be given them.
func (v *vigil) look(ctx context.Context, r *run, status WorkerStatus) (bool, error) {
	if len(status.Writing) > 0 {
		v.since = time.Time{}
		return false, nil
	}
	err := r.worker.refuseIdle(ctx, r.job)
	switch now := time.Now(); {
	case err == nil:
		v.since = time.Time{}
	case !errors.Is(err, ErrNoCoordinator):
		return false, err
	case v.since.IsZero():
		v.since = now
	default:
		return now.Sub(v.since) >= r.worker.patience(), nil
	}
	return false, nil
}

func (w *Worker) patience() time.Duration {
	if w.Patience == 0 {
		return time.Hour
	}
	return w.Patience
}
