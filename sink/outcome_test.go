package sink_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"culvert/sink"
)

// TestOutcome asks what has become of a commit, of a database that answers at once, late or never.
func TestOutcome(t *testing.T) {
	lost := errors.New("the connection is lost")
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	for _, test := range []struct {
		silent      int // questions without an answer
		isCommitted bool
		grace       time.Duration
		want        error
	}{
		{0, true, time.Hour, nil},
		{0, false, time.Hour, lost},
		{2, true, time.Hour, nil},
		{1, false, time.Hour, lost},
		{1 << 30, true, time.Millisecond, sink.ErrUnconfirmed},
	} {
		asked := 0
		err := sink.Outcome(ended, test.grace, lost, func(ctx context.Context) (bool, error) {
			if asked++; asked > test.silent {
				return test.isCommitted, ctx.Err()
			}
			return false, errors.New("no answer")
		})
		if !errors.Is(err, test.want) || err != nil && !errors.Is(err, lost) {
			t.Errorf("%+v: %v", test, err)
		}
	}
}
