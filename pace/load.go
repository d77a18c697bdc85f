package pace

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"
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

// NewLoad returns a Load that calls ask before the first batch, and then before a batch if the last answer is older
// than [Interval]. While the answer is busy, it asks again after each Interval. One call of ask runs at a time. If the
// first one fails, so does its batch. Later errors count as busy, since a busy server may refuse even a question.
func NewLoad(ask func(context.Context) (isBusy bool, err error)) *Load {
	return &Load{ask: ask, turn: make(chan struct{}, 1)}
}

// Wait waits until the answer is not busy. The error is that of the first call of ask, or the cause of the end of the
// context.
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
		isBusy, err := l.ask(ctx)
		switch {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case err != nil && !l.asked:
			return fmt.Errorf("pace: asking whether the database is busy: %w", err)
		}
		l.asked, l.next = true, time.Now().Add(Interval)
		if err == nil && !isBusy {
			return nil
		}
		l.waiting.Store(true)
		if err := sleep(ctx, Interval); err != nil {
			return err
		}
	}
}

// IsWaiting reports whether batches wait.
func (l *Load) IsWaiting() bool { return l != nil && l.waiting.Load() }
