package queue

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// Errors that callers can act on.
var (
	ErrNoJob    = errors.New("queue: there is no such job") // not yet, or no longer
	ErrExists   = errors.New("queue: there is a value already")
	ErrNotFound = errors.New("queue: there is no such value")
	ErrReplaced = errors.New("queue: the value was replaced meanwhile")
	ErrTooLarge = errors.New("queue: too large for a message")

	// ErrUncertain: the value may have been stored, and used by others, before the job was removed.
	ErrUncertain = errors.New("queue: it is not known whether the value was stored")
)

// Waits between the attempts of a call double from the first to the last.
const (
	firstWait = 50 * time.Millisecond
	lastWait  = 2 * time.Second
	attempt   = 5 * time.Second // at most, for an answer
)

// again calls f until its error is not one that passes, or ctx ends. The context of f ends after an attempt, and when
// the connection is lost, since no answer comes then.
func (q *Queue) again(ctx context.Context, f func(context.Context) error) error {
	wait, told := firstWait, false
	for {
		try, cancel := context.WithTimeout(ctx, attempt)
		stop := context.AfterFunc(q.link.Load(), cancel)
		err := f(try)
		cut := try.Err() != nil
		stop()
		cancel()
		switch {
		case err == nil || !passes(err) && !cut:
			return err
		case ctx.Err() != nil:
			return errors.Join(ctx.Err(), err)
		case q.conn.IsClosed():
			return err
		}
		if wait >= lastWait && !told && q.conn.IsConnected() {
			told = true
			q.config.Notice("the queue does not answer, and is asked again: " + err.Error())
		}
		select {
		case <-ctx.Done():
			return errors.Join(ctx.Err(), err)
		case <-time.After(wait/2 + rand.N(wait/2)): // not all at once
		}
		wait = min(2*wait, lastWait)
	}
}

// passes reports whether an error says that the server cannot answer now: it is not reached, restarts, has no leader,
// or cannot write.
func passes(err error) bool {
	var answer *jetstream.APIError
	var older *nats.APIError // of calls that package jetstream passes on
	if errors.As(err, &older) {
		return older.Code >= 500
	}
	if errors.As(err, &answer) {
		return answer.Code >= 500 && answer.ErrorCode != jetstream.JSErrCodeJetStreamNotEnabled &&
			answer.ErrorCode != jetstream.JSErrCodeJetStreamNotEnabledForAccount
	}
	for _, passing := range []error{
		context.DeadlineExceeded, nats.ErrTimeout, nats.ErrNoResponders, nats.ErrDisconnected, nats.ErrConnectionClosed,
		nats.ErrConnectionReconnecting, nats.ErrReconnectBufExceeded, nats.ErrStaleConnection,
		jetstream.ErrNoStreamResponse, jetstream.ErrNoHeartbeat, jetstream.ErrConsumerLeadershipChanged,
		jetstream.ErrServerShutdown, jetstream.ErrConnectionClosed, jetstream.ErrInvalidJSAck,
	} {
		if errors.Is(err, passing) {
			return true
		}
	}
	return false
}

// isRefused reports whether an error says that a message was certainly not stored.
func isRefused(err error) bool {
	var answer *jetstream.APIError
	return errors.As(err, &answer) && answer.Code < 500 || errors.Is(err, jetstream.ErrNoStreamResponse) ||
		errors.Is(err, nats.ErrNoResponders) || isMissing(err)
}

// isConflict reports whether a message was refused since another one is stored under its subject.
func isConflict(err error) bool {
	var answer *jetstream.APIError
	return errors.As(err, &answer) && (answer.ErrorCode == jetstream.JSErrCodeStreamWrongLastSequence ||
		answer.ErrorCode == jetstream.JSErrCodeStreamWrongLastSequenceConstant)
}

// link is a context that ends when a connection is lost.
type link struct {
	context.Context
	lost context.CancelFunc
}

func newLink() *link {
	ctx, cancel := context.WithCancel(context.Background())
	return &link{ctx, cancel}
}
