package workers

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"culvert/internal/grace"
	"culvert/source"
	"culvert/workers/internal/queue"
)

// Join opens a session that reads a snapshot, with the address and the credentials of this machine.
type Join func(ctx context.Context, snapshot source.Snapshot) (source.Source, error)

// joinAny joins the snapshot of any participant that still holds it, by the batons of the job or by known ones. The
// error is one of isLost if nobody does, and errSilent if that is not known.
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
	var silent error
	for _, baton := range batons {
		src, err := tryBaton(ctx, join, baton)
		switch {
		case err == nil:
			return src, nil
		case errors.Is(err, errSilent):
			silent = err
		case !isLost(err):
			return nil, err // it is no use to try others
		case errors.Is(err, source.ErrOtherServer): // a baton may be from before a restart, and another one not
			lost = err
		case !errors.Is(lost, source.ErrOtherServer):
			lost = err
		}
	}
	return nil, cmp.Or(silent, lost) // a baton that was silent may not be lost
}

// joinPatience is how long joining the snapshot of one participant may take. Only tests change it.
var joinPatience = 10 * time.Second

// errSilent means that it is not known whether a baton is lost.
var errSilent = fmt.Errorf("workers: the snapshot cannot be joined in time: %w", source.ErrUnavailable)

// tryBaton joins the snapshot of one participant. The error is errSilent if that hangs.
func tryBaton(ctx context.Context, join Join, baton source.Snapshot) (source.Source, error) {
	patient, cancel := context.WithTimeout(ctx, joinPatience)
	defer cancel()
	src, err := join(patient, baton)
	if err != nil && patient.Err() != nil && ctx.Err() == nil {
		return nil, errSilent
	}
	return src, err
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

// dropBatons removes the batons of workers that are silent, once their sessions have ended. One that was cut off may
// still hold the snapshot, so each look asks again.
func (w *watch) dropBatons(ctx context.Context) error {
	for worker := range w.silent {
		done := true
		for key, v := range w.batons {
			if !strings.HasPrefix(key, batonKeys+"."+worker+"-") {
				continue
			}
			dropped, err := w.dropBaton(ctx, v)
			if err != nil {
				return err
			}
			if dropped {
				delete(w.batons, key)
			}
			done = done && dropped
		}
		if done {
			delete(w.silent, worker)
		}
	}
	return nil
}

// dropBaton removes a baton if it is lost. It reports whether the queue has said so.
func (w *watch) dropBaton(ctx context.Context, v queue.Value) (dropped bool, err error) {
	var baton source.Snapshot
	if err := decode(v, &baton); err != nil {
		return false, err
	}
	src, err := tryBaton(ctx, w.c.Join, baton)
	if err == nil {
		err = src.Close()
	}
	if !errors.Is(err, source.ErrSnapshotLost) {
		if err != nil && ctx.Err() == nil {
			w.c.tell("%v", err)
		}
		return false, nil
	}
	err = w.job.Delete(ctx, v.Key, v.Revision)
	if errors.Is(err, queue.ErrReplaced) {
		err = nil // it has joined again
	}
	return err == nil, err
}
