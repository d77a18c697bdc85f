package pace

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"culvert/internal/grace"
)

// Load makes batches wait while a database is busy. It asks a function again and again whether that is so. A nil Load
// makes nothing wait. It is safe for concurrent use.
type Load struct {
	ask     func(context.Context) (isBusy bool, err error)
	turn    chan struct{} // has a value while a caller asks
	next    time.Time     // when to ask again
	asked   bool
	waiting atomic.Bool
}

// Interval is how long a [Load] relies on an answer before it asks again.
const Interval = time.Second

// Patience is how long a call of ask may take: what it waits for may be a lock of those who wait for its answer.
const Patience = 30 * time.Second

// NewLoad returns a Load that calls ask before the first batch, and then before a batch if the last answer is older
// than [Interval]. While the answer is busy, it asks again after each Interval. One call of ask runs at a time, for
// [Patience] at most. Its error is that of the batch.
func NewLoad(ask func(context.Context) (isBusy bool, err error)) *Load {
	return &Load{ask: ask, turn: make(chan struct{}, 1)}
}

// Wait waits until the answer is not busy. The error is that of ask, or the cause of the end of the context.
func (l *Load) Wait(ctx context.Context) error {
	if l == nil {
		return nil
	}
	select {
	case l.turn <- struct{}{}:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	defer func() { <-l.turn }()
	if l.asked && time.Now().Before(l.next) {
		return nil
	}
	defer l.waiting.Store(false)
	for {
		isBusy, err := l.once(ctx)
		if err != nil {
			return err
		}
		l.asked, l.next = true, time.Now().Add(Interval)
		if !isBusy {
			return nil
		}
		l.waiting.Store(true)
		if err := grace.Wait(ctx, Interval); err != nil {
			return err
		}
	}
}

func (l *Load) once(ctx context.Context) (isBusy bool, err error) {
	asking, cancel := context.WithTimeout(ctx, Patience)
	defer cancel()
	isBusy, err = l.ask(asking)
	switch {
	case ctx.Err() != nil:
		return false, context.Cause(ctx)
	case err != nil && asking.Err() != nil:
		err = fmt.Errorf("no answer after %v; does it wait for a lock of those who ask? %w", Patience, err)
	}
	if err != nil {
		return false, fmt.Errorf("pace: asking whether the database is busy: %w", err)
	}
	return isBusy, nil
}

// IsWaiting reports whether batches wait.
func (l *Load) IsWaiting() bool { return l != nil && l.waiting.Load() }
