package queue

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"time"

	"culvert/internal/grace"
)

// Looks is the number of consecutive looks that have to see the same revision before its writer is considered dead.
const Looks = 5

// Pulse tells who is alive from the revisions of values. The zero value is ready for use. It must be used by one
// goroutine at a time.
type Pulse struct{ seen map[string]heartbeat }

type heartbeat struct {
	revision uint64
	looks    int
}

// Look notes the revision of a value, and reports whether its writer is dead. It should be called once in each
// heartbeat.
func (p *Pulse) Look(v Value) (dead bool) {
	if p.seen == nil {
		p.seen = map[string]heartbeat{}
	}
	b := p.seen[v.Key]
	if b.revision != v.Revision {
		b = heartbeat{revision: v.Revision}
	}
	b.looks++
	p.seen[v.Key] = b
	return b.looks > Looks
}

// suspects reports whether a value had the revision of the look before. Its writer is dead, or late.
func (p *Pulse) suspects(key string) bool { return p.seen[key].looks > 1 }

// A Lease has one owner at a time. An owner that was stopped or cut off, and so was considered dead, may believe for a
// while that it still has the lease. So a lease prevents work that is done twice, but is no proof.
type Lease struct {
	ctx    context.Context
	cancel context.CancelCauseFunc
	ended  chan struct{}
	job    *Job
	key    string

	// These belong to the renewing goroutine until it has ended.
	revision uint64
	lost     bool
}

// ErrLost is the cause of the end of [Lease.Context] after another owner has taken the lease.
var ErrLost = errors.New("queue: another one has taken the lease")

// looksPerHeartbeat bounds the leases at which one that waits looks in each heartbeat: a thousand may wait for one of a
// hundred.
const looksPerHeartbeat = 8

// Acquire waits until no live process holds one of the leases, and takes it. Before each heartbeat that it waits, it
// calls waits, which may be nil, and gives up with the error of that. It first looks at all leases, and then at a few
// in each heartbeat.
func (j *Job) Acquire(ctx context.Context, keys []string, waits func() error) (*Lease, error) {
	var pulse Pulse
	keys = slices.Clone(keys)
	rand.Shuffle(len(keys), func(i, k int) { keys[i], keys[k] = keys[k], keys[i] })
	for looks := len(keys); ; looks = min(len(keys), looksPerHeartbeat) {
		var suspects, others []string
		for _, key := range keys[:looks] {
			lease, err := j.tryAcquire(ctx, key, &pulse)
			if lease != nil || err != nil {
				return lease, err
			}
			if pulse.suspects(key) {
				suspects = append(suspects, key)
			} else {
				others = append(others, key)
			}
		}
		keys = slices.Concat(suspects, keys[looks:], others)
		if waits != nil {
			if err := waits(); err != nil {
				return nil, err
			}
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(j.q.config.Heartbeat):
		}
	}
}

// tryAcquire returns nil if somebody else holds the lease.
func (j *Job) tryAcquire(ctx context.Context, key string, pulse *Pulse) (*Lease, error) {
	now, err := j.Get(ctx, key)
	switch {
	case errors.Is(err, ErrNotFound):
	case err != nil:
		return nil, err
	case !pulse.Look(now):
		return nil, nil
	}
	revision, err := j.Update(ctx, key, nil, now.Revision)
	if errors.Is(err, ErrReplaced) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return j.hold(ctx, key, revision), nil
}

func (j *Job) hold(ctx context.Context, key string, revision uint64) *Lease {
	l := &Lease{job: j, key: key, revision: revision, ended: make(chan struct{})}
	l.ctx, l.cancel = context.WithCancelCause(ctx)
	go l.renew()
	return l
}

// Context ends with that of Acquire, when the lease is released, and when it is lost. Then its cause wraps [ErrLost],
// or is [ErrNoJob].
func (l *Lease) Context() context.Context { return l.ctx }

func (l *Lease) renew() {
	defer close(l.ended)
	ticks := time.NewTicker(l.job.q.config.Heartbeat)
	defer ticks.Stop()
	for {
		select {
		case <-l.ctx.Done():
			return
		case <-ticks.C:
		}
		revision, err := l.job.Update(l.ctx, l.key, nil, l.revision)
		switch {
		case err == nil:
			l.revision = revision
		case l.ctx.Err() != nil:
			return
		case errors.Is(err, ErrReplaced):
			err = ErrLost
			fallthrough
		default:
			l.lost = true
			l.cancel(err)
			return
		}
	}
}

// Release gives the lease up, so that the next one need not wait. It does nothing if it is lost. If ctx has ended, it
// tries that for one heartbeat.
func (l *Lease) Release(ctx context.Context) error {
	ctx, cancel := grace.Context(ctx, l.job.q.config.Heartbeat)
	defer cancel()
	l.Drop()
	if l.lost {
		return nil
	}
	err := l.job.Delete(ctx, l.key, l.revision)
	if errors.Is(err, ErrReplaced) || errors.Is(err, ErrNoJob) {
		return nil
	}
	return err
}

// Drop ends a lease that was removed with its job. To delete it would take half a second: for so long, the library for
// NATS asks again for a stream that nobody answers for.
func (l *Lease) Drop() {
	l.cancel(context.Canceled)
	<-l.ended
}
