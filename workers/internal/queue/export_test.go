package queue

import (
	"testing"
	"time"
)

// Hasten changes how long an answer is waited for, until the test ends.
func Hasten(t *testing.T, longest time.Duration) {
	before := attempt
	attempt = longest
	t.Cleanup(func() { attempt = before })
}

// Subscriptions returns how many the connection has.
func Subscriptions(q *Queue) int { return q.conn.NumSubscriptions() }
