package pace

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"
)

// Load lets batches wait while a database is busy, or whatever else a question says that is asked again and again. A
// nil Load lets nothing wait. It is safe for concurrent use.
type Load struct {
	ask     func(context.Context) (isBusy bool, err error)
	turn    chan struct{} // whoever asks has it
	next    time.Time     // when to ask again
	asked   bool
	waiting atomic.Bool
}

// Interval is the time between two questions of a [Load].
const Interval = time.Second

// NewLoad returns a Load that asks before the first batch, then at most once in each [Interval], and in it again and
// again as long as the answer is busy. One question is asked at a time. If the first one fails, so does its batch.
// Later errors count as busy, since a server under load may refuse even a question.
func NewLoad(ask func(context.Context) (isBusy bool, err error)) *Load {
	return &Load{ask: ask, turn: make(chan struct{}, 1)}
}

// Wait waits until the answer is not busy. The error is that of the first question, or the cause of the end of the
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
