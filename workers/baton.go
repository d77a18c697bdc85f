package workers

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"strings"

	"culvert/internal/grace"
	"culvert/source"
	"culvert/workers/internal/queue"
)

// Join opens a session that reads a snapshot, with the address and the credentials of this machine.
type Join func(ctx context.Context, snapshot source.Snapshot) (source.Source, error)

// joinAny joins the snapshot of any participant that still holds it, by the batons of the job or by known ones. The
// error wraps [source.ErrSnapshotLost] if nobody does.
func joinAny(ctx context.Context, job *queue.Job, join Join, known ...source.Snapshot) (source.Source, error) {
	batons := slices.Clone(known)
	err := job.List(ctx, batonKeys, func(v queue.Value) error {
		var one source.Snapshot
		batons = append(batons, one)
		return decode(v, &batons[len(batons)-1])
	})
	if err != nil {
		return nil, err
	}
	rand.Shuffle(len(batons), func(i, j int) { batons[i], batons[j] = batons[j], batons[i] })
	lost := source.ErrSnapshotLost
	for _, baton := range batons {
		src, err := join(ctx, baton)
		if err == nil {
			return src, nil
		}
		switch {
		case errors.Is(err, source.ErrOtherServer): // a baton may be from before a restart, and another one not
			lost = err
		case !errors.Is(err, source.ErrSnapshotLost):
			return nil, err // it is no use to try others
		case !errors.Is(lost, source.ErrOtherServer):
			lost = err
		}
	}
	return nil, lost
}

// passOn shares the snapshot of a session, so that it lives as long as any participant. It returns the baton.
func passOn(ctx context.Context, job *queue.Job, src source.Source, name string) (baton source.Snapshot, err error) {
	sharer, ok := src.(source.Sharer)
	if !ok {
		return baton, errors.New("workers: other sessions cannot join the snapshot of this source")
	}
	if baton, err = sharer.Share(ctx); err != nil {
		return baton, err
	}
	return baton, job.Set(ctx, batonKeys+"."+name, encode(baton))
}

// dropBaton removes the baton of a session that ends, unless that takes long: those that join the snapshot would try
// it in vain.
func (r *run) dropBaton(ctx context.Context, name string) {
	ctx, cancel := grace.Context(ctx, r.worker.Queue.Beat())
	defer cancel()
	v, err := r.job.Get(ctx, batonKeys+"."+name)
	if err == nil {
		err = r.job.Delete(ctx, v.Key, v.Revision)
	}
	if err != nil && ctx.Err() == nil && !errors.Is(err, queue.ErrNotFound) && !errors.Is(err, queue.ErrNoJob) {
		r.worker.tell("%v", err)
	}
}

// dropBatons removes the batons of a worker that is silent, if its sessions have ended. One that was cut off may still
// hold the snapshot.
func (w *watch) dropBatons(ctx context.Context, worker string) error {
	for key, v := range w.batons {
		if !strings.HasPrefix(key, batonKeys+"."+worker+"-") {
			continue
		}
		delete(w.batons, key)
		var baton source.Snapshot
		if err := decode(v, &baton); err != nil {
			return err
		}
		src, err := w.c.Join(ctx, baton)
		if err == nil {
			err = src.Close()
		}
		if errors.Is(err, source.ErrSnapshotLost) {
			if err = w.job.Delete(ctx, key, v.Revision); errors.Is(err, queue.ErrReplaced) {
				err = nil // it has joined again
			}
			if err != nil {
				return err
			}
		} else if err != nil {
			w.c.tell("%v", err)
		}
	}
	return nil
}
