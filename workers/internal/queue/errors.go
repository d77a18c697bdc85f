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

	// ErrPayload: the server accepts only messages that are too small for the notes of jobs.
	ErrPayload = errors.New("queue: the NATS server accepts only small messages")

	// ErrDisk: the server within this process cannot store messages, and never will.
	ErrDisk = errors.New("queue: the temporary files of the queue cannot be written")

	// ErrUncertain: the value may have been stored, and used by others, before the job was removed.
	ErrUncertain = errors.New("queue: it is not known whether the value was stored")
)

// Waits between the attempts of a call double from the first to the last.
const (
	firstWait = 50 * time.Millisecond
	lastWait  = 2 * time.Second
)

// attempt is how long an answer is waited for. Only tests change it.
var attempt = 5 * time.Second

// again calls f until its error is not one that passes, or ctx ends, or the server within this process cannot store
// messages. The context of f ends after an attempt, and when the connection is lost, since no answer comes then.
func (q *Queue) again(ctx context.Context, f func(context.Context) error) error {
	wait, begun, told := firstWait, time.Now(), false
	for {
		try, cancel := context.WithTimeout(ctx, attempt)
		stop := context.AfterFunc(q.link.Load(), cancel)
		err := nats.ErrDisconnected
		if !q.conn.IsReconnecting() { // a call that cannot send leaves its subscription behind
			err = f(try)
		}
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
		if failed := q.embedded.failed(); failed != nil {
			return failed
		}
		if !told && time.Since(begun) >= 2*attempt && q.conn.IsConnected() {
			told = true
			q.config.Notice(q.silence(ctx, err))
		}
		select {
		case <-ctx.Done():
			return errors.Join(ctx.Err(), err)
		case <-time.After(wait/2 + rand.N(wait/2)): // not all at once
		}
		wait = min(2*wait, lastWait)
	}
}

// silence says what is known of a server that is connected and does not answer a call. One whose disk is full answers
// others.
func (q *Queue) silence(ctx context.Context, err error) string {
	ctx, cancel := context.WithTimeout(ctx, attempt)
	defer cancel()
	if _, infoErr := q.stream.AccountInfo(ctx); infoErr != nil {
		return "the queue does not answer, and is asked again: " + err.Error()
	}
	return "the queue runs, but does not do what it is asked, and is asked again: its disk may be full, after which " +
		"the NATS server has to be restarted with room; or too few servers of a cluster run: " + err.Error()
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
