package workers

import (
	"context"
	"errors"
	"fmt"
	"time"

	"culvert/source"
	"culvert/workers/internal/queue"
)

// Holder keeps a snapshot alive, so that the coordinator and all workers may die, and the next ones go on. It has one
// session of the database, and reads no rows.
//
// Holding costs the database something, more with each change. In PostgreSQL, while the snapshot is held:
//
//   - VACUUM does not remove the row versions that become dead after it was taken, in any table of the database. Tables
//     and indexes grow, and queries on tables that change much become slower. Newer row versions are not frozen either:
//     after some two billion transactions, the server would refuse writes.
//   - CREATE INDEX CONCURRENTLY, REINDEX CONCURRENTLY and DETACH PARTITION CONCURRENTLY wait for its end.
//   - On a standby with hot_standby_feedback, the primary keeps the row versions. Without it, the standby ends the
//     session when replay has waited for max_standby_streaming_delay.
//
// It keeps no segments of the write-ahead log, as replication slots do, and takes no locks on tables. So it does not
// prevent TRUNCATE and other statements that rewrite a table: parts of such a table then fail.
type Holder struct {
	// Name tells this holder from all other participants. It has letters, digits and hyphens.
	Name string

	// Queue, Secret and Job name a job. Its snapshot is held, as soon as there is one. Without a queue, a new snapshot
	// is held.
	Queue  *Queue
	Secret []byte
	Job    string

	// Open connects to the database, for a new snapshot, and Join for one that others hold. Open is not called if there
	// is a queue.
	Open func(ctx context.Context) (source.Source, error)
	Join Join

	// Patience is how long the snapshot is still held when the queue has no such job any more: the queue may have lost
	// it, and the next coordinator may put it there again. Zero means 10 minutes.
	Patience time.Duration

	// Held is called with the snapshot when others can join it. It may be nil.
	Held func(source.Snapshot)

	// Notice is called with a message about each failure that will be retried. It may be nil.
	Notice func(message string)
}

// ErrNotHeld means that the session that held a snapshot was ended, such as by the server.
var ErrNotHeld = errors.New("workers: the snapshot is not held any more")

// Run holds a snapshot until the context ends, or the job has. Then the error is that of the context, or nil. If the
// session is lost, the error wraps [ErrNotHeld].
func (h *Holder) Run(ctx context.Context) (err error) {
	hold := &hold{holder: h, patience: h.Patience}
	if hold.patience == 0 {
		hold.patience = 10 * time.Minute
	}
	defer func() {
		if hold.src != nil {
			err = errors.Join(err, hold.src.Close())
		}
	}()
	if h.Queue == nil {
		return hold.alone(ctx)
	}
	return hold.forJob(ctx)
}

// hold is what a Holder does.
type hold struct {
	holder   *Holder
	patience time.Duration
	src      source.Source
	snapshot source.Snapshot // as src shares it
	run      string          // of the job
	known    bool            // the queue has had the job
}

// checkEvery is how often a session is found to be alive. That needs another connection. Only tests change it.
var checkEvery = time.Minute

// alone holds a new snapshot.
func (h *hold) alone(ctx context.Context) (err error) {
	if h.src, err = h.holder.Open(ctx); err != nil {
		return err
	}
	if err := h.share(ctx); err != nil {
		return err
	}
	h.told()
	ticks := time.NewTicker(checkEvery)
	defer ticks.Stop()
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-ticks.C:
		}
		if err := h.check(ctx); err != nil {
			return err
		}
	}
}

func (h *hold) share(ctx context.Context) error {
	sharer, ok := h.src.(source.Sharer)
	if !ok {
		return errors.New("workers: other sessions cannot join the snapshot of this source")
	}
	var err error
	h.snapshot, err = sharer.Share(ctx)
	return err
}

// told tells of the snapshot.
func (h *hold) told() {
	if h.holder.Held != nil {
		h.holder.Held(h.snapshot)
	}
}

// check fails if the own session has ended.
func (h *hold) check(ctx context.Context) error {
	other, err := joinOne(ctx, h.holder.Join, h.snapshot)
	switch {
	case err == nil:
		return other.Close()
	case ctx.Err() != nil:
		return ctx.Err()
	case isLost(err):
		return fmt.Errorf("%w: %w", ErrNotHeld, err)
	}
	h.report("%v", err) // there may be too many connections
	return nil
}

// forJob holds the snapshot of a job.
func (h *hold) forJob(ctx context.Context) error {
	wait := heartbeatsOfWorkers * h.holder.Queue.Heartbeat()
	ticks := time.NewTicker(wait)
	defer ticks.Stop()
	var missing, checked time.Time
	for {
		err := h.join(ctx)
		switch now := time.Now(); {
		case err == nil:
			missing = time.Time{}
			if now.Sub(checked) >= checkEvery {
				err, checked = h.check(ctx), now
			}
		case errors.Is(err, errEnded):
			return nil
		case !errors.Is(err, queue.ErrNoJob):
		case h.src == nil: // it has not begun
			err = nil
		case missing.IsZero():
			h.report("the queue has no job %s any more: the snapshot is held for another %v", h.holder.Job, h.patience)
			err, missing = nil, now
		case now.Sub(missing) >= h.patience:
			return nil
		default:
			err = nil
		}
		if err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-ticks.C:
		}
	}
}

// errEnded means that the job cannot come back: it was removed before it began, or another one has its name.
var errEnded = errors.New("workers: the job has ended")

// join joins the snapshot of the job, unless it has done so, and makes sure that the queue has the shared snapshot. The
// error is ErrNoJob if there is no such job, or it has not begun, and errEnded if it will never come back.
func (h *hold) join(ctx context.Context) error {
	job, err := h.holder.Queue.Job(ctx, h.holder.Job, h.holder.Secret)
	if err != nil {
		if errors.Is(err, queue.ErrNoJob) && h.known && h.src == nil {
			return errEnded
		}
		return err
	}
	h.known = true
	var note jobNote
	if h.src == nil {
		err = read(ctx, job, jobKey, &note)
	} else {
		note, err = readRun(ctx, job)
	}
	switch {
	case errors.Is(err, queue.ErrNotFound):
		return queue.ErrNoJob
	case err != nil:
		return err
	case h.run != "" && h.run != note.Run:
		return errEnded
	}
	key := sharedKeys + "." + h.holder.Name
	if h.src != nil {
		if _, err = job.Get(ctx, key); errors.Is(err, queue.ErrNotFound) {
			err = job.Set(ctx, key, encode(h.snapshot))
		}
		return err
	}
	if h.src, err = joinAny(ctx, job, h.holder.Join, note.Snapshot, 1, note.Snapshot); err != nil {
		return err
	}
	h.run = note.Run
	if err := h.share(ctx); err != nil {
		return err
	}
	if err := job.Set(ctx, key, encode(h.snapshot)); err != nil {
		return err
	}
	h.told()
	return nil
}

func (h *hold) report(format string, args ...any) {
	if h.holder.Notice != nil {
		h.holder.Notice(fmt.Sprintf(format, args...))
	}
}
