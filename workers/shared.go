package workers

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"time"

	"culvert/internal/grace"
	"culvert/source"
	"culvert/workers/internal/queue"
)

// Join opens a session that reads a snapshot, with the address and the credentials of this machine.
type Join func(ctx context.Context, snapshot source.Snapshot) (source.Source, error)

// joinAny joins a snapshot by the shared snapshot of any participant that still holds it, or by a known one. Most is
// how many shared snapshots are tried at the same time, each with a connection. The error is one of isLost if nobody
// holds the snapshot, and errSilent if that is not known.
//
// Those of other snapshots are left out: a coordinator that was killed while it replaced a lost one may have left
// some.
func joinAny(
	ctx context.Context, job *queue.Job, join Join, snapshot source.Snapshot, most int, known ...source.Snapshot,
) (source.Source, error) {
	snapshots := slices.Clone(known)
	err := job.List(ctx, sharedKeys, func(v queue.Value) error {
		var one source.Snapshot
		if err := decode(v, &one); err != nil {
			return err
		}
		if one.Same(snapshot) {
			snapshots = append(snapshots, one)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	rand.Shuffle(len(snapshots), func(i, j int) { snapshots[i], snapshots[j] = snapshots[j], snapshots[i] })
	return joinFirst(ctx, join, snapshots, most)
}

// tryMost is how many shared snapshots one tries at the same time whose connections are not limited.
const tryMost = 16

// joinPatience is how long joining a snapshot may take, by whatever shared snapshot.
const joinPatience = 10 * time.Second

// errSilent means that it is not known whether a snapshot is lost.
var errSilent = fmt.Errorf("workers: the snapshot cannot be joined in time: %w", source.ErrUnavailable)

// joinFirst joins a snapshot by the first shared snapshot that is not lost. It tries one, and then more and more at
// once. Each attempt may take half of the time that is left, so that one that hangs keeps nobody from others.
func joinFirst(ctx context.Context, join Join, snapshots []source.Snapshot, most int) (source.Source, error) {
	end := time.Now().Add(joinPatience)
	lost := source.ErrSnapshotLost
	var silent error
	for n := 1; len(snapshots) > 0; n = min(2*n, most) {
		left := time.Until(end)
		if left < joinPatience/1000 {
			return nil, errSilent
		}
		n = min(n, len(snapshots))
		patient, cancel := context.WithTimeout(ctx, max(left/2, joinPatience/1000))
		src, errs := tryTogether(patient, join, snapshots[:n])
		cancel()
		switch {
		case src != nil:
			return src, nil
		case ctx.Err() != nil:
			return nil, ctx.Err()
		}
		snapshots = snapshots[n:]
		for _, err := range errs {
			switch {
			case errors.Is(err, source.ErrOtherServer): // one may be from before a restart, and another one not
				lost = err
			case isLost(err):
				if !errors.Is(lost, source.ErrOtherServer) {
					lost = err
				}
			case errors.Is(err, errSilent):
				silent = err
			default:
				return nil, err // it is no use to try others
			}
		}
	}
	return nil, cmp.Or(silent, lost) // a shared snapshot that was silent may not be lost
}

// tryTogether tries several shared snapshots at once, until one is joined. It returns the errors if none is.
func tryTogether(ctx context.Context, join Join, snapshots []source.Snapshot) (joined source.Source, errs []error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var group sync.WaitGroup
	all := make([]source.Source, len(snapshots))
	errs = make([]error, len(snapshots))
	for i, snapshot := range snapshots {
		group.Go(func() {
			src, err := join(ctx, snapshot)
			switch {
			case err == nil:
				all[i] = src
				cancel()
			case ctx.Err() != nil:
				errs[i] = errSilent
			default:
				errs[i] = err
			}
		})
	}
	group.Wait()
	for _, src := range all {
		switch {
		case src == nil:
		case joined == nil:
			joined = src
		default:
			_ = src.Close() // nothing was read
		}
	}
	return joined, errs
}

// joinOne joins the snapshot of one participant. The error is errSilent if that hangs.
func joinOne(ctx context.Context, join Join, snapshot source.Snapshot) (source.Source, error) {
	return joinFirst(ctx, join, []source.Snapshot{snapshot}, 1)
}

// passOn shares the snapshot of a session, so that it lives as long as any participant. It returns the shared snapshot.
func passOn(ctx context.Context, job *queue.Job, src source.Source, name string) (snapshot source.Snapshot, err error) {
	sharer, ok := src.(source.Sharer)
	if !ok {
		return snapshot, errors.New("workers: other sessions cannot join the snapshot of this source")
	}
	if snapshot, err = sharer.Share(ctx); err != nil {
		return snapshot, err
	}
	return snapshot, job.Set(ctx, sharedKeys+"."+name, encode(snapshot))
}

// dropSnapshot removes the shared snapshot of a session that ends, unless that takes long: those that join the snapshot
// would try it in vain.
func (r *run) dropSnapshot(ctx context.Context, name string) {
	ctx, cancel := grace.Context(ctx, r.worker.Queue.Heartbeat())
	defer cancel()
	v, err := r.job.Get(ctx, sharedKeys+"."+name)
	if err == nil {
		err = r.job.Delete(ctx, v.Key, v.Revision)
	}
	if err != nil && ctx.Err() == nil && !errors.Is(err, queue.ErrNotFound) && !errors.Is(err, queue.ErrNoJob) {
		r.worker.report("%v", err)
	}
}

// dropSnapshots removes the shared snapshots of workers that are silent, once their sessions have ended. One that was
// cut off may still hold the snapshot, so each look asks again. If the database hangs, the others wait for the next
// look.
func (w *watch) dropSnapshots(ctx context.Context) error {
	patient, cancel := context.WithTimeout(ctx, joinPatience)
	defer cancel()
	for worker, mayBeLeft := range w.silent {
		if !mayBeLeft {
			continue
		}
		done := true
		for key, v := range w.snapshots {
			if !strings.HasPrefix(key, sharedKeys+"."+worker+"-") {
				continue
			}
			if patient.Err() != nil {
				return ctx.Err()
			}
			dropped, err := w.dropSnapshot(ctx, patient, v)
			if err != nil {
				return err
			}
			if dropped {
				delete(w.snapshots, key)
			}
			done = done && dropped
		}
		w.silent[worker] = !done
	}
	return nil
}

// dropSnapshot removes a shared snapshot if it is lost. It reports whether the queue has said so.
func (w *watch) dropSnapshot(ctx, patient context.Context, v queue.Value) (dropped bool, err error) {
	var snapshot source.Snapshot
	if err := decode(v, &snapshot); err != nil {
		return false, err
	}
	src, err := joinOne(patient, w.c.Join, snapshot)
	if err == nil {
		err = src.Close()
	}
	if !errors.Is(err, source.ErrSnapshotLost) {
		if err != nil && ctx.Err() == nil {
			w.c.report("%v", err)
		}
		return false, nil
	}
	err = w.job.Delete(ctx, v.Key, v.Revision)
	if errors.Is(err, queue.ErrReplaced) {
		err = nil // it has joined again
	}
	return err == nil, err
}
