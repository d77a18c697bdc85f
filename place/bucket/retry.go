package bucket

import (
	"context"
	"math/rand/v2"
	"time"

	"culvert/internal/grace"
)

const (
	firstPause = 50 * time.Millisecond
	maxPause   = 5 * time.Second

	// maxDamaged is how often a part or a range may arrive damaged. A connection that always damages is not waited for.
	maxDamaged = 4
)

// retry calls attempt until it succeeds, fails for good, or has failed for Config.Timeout. It returns the error in the
// words of this package.
func (b *bucket) retry(ctx context.Context, attempt func(context.Context) error) error {
	tries := tries{timeout: b.Timeout, clock: b.clock}
	for {
		err := attempt(ctx)
		if err == nil || !tries.again(ctx, err) {
			return translate(ctx, err)
		}
	}
}

// tries decides how often a request is repeated.
type tries struct {
	timeout time.Duration
	clock   clock
	since   time.Time // when the tries began to fail
	failed  int       // since then
	damaged int
	skewed  bool // was refused for the clock
}

// progress notes that something of use has arrived.
func (t *tries) progress() { t.since, t.failed = time.Time{}, 0 }

// again waits, and reports whether to try again after an error.
func (t *tries) again(ctx context.Context, err error) bool {
	if ctx.Err() == nil && !t.skewed && isSkewed(err) {
		t.skewed = true // the library now knows the time of the store
		return true
	}
	if ctx.Err() != nil || !isRetryable(err) {
		return false
	}
	if isDamaged(err) {
		if t.damaged++; t.damaged >= maxDamaged {
			return false
		}
	}
	if t.since.IsZero() {
		t.since = t.clock.now()
		if isSilence(err) {
			t.since = t.since.Add(-t.timeout / 2) // the store was silent all that time
		}
	}
	// Full jitter, so that many who were refused do not come back together.
	longest := min(maxPause, firstPause<<min(t.failed, 10))
	t.failed++
	pause := rand.N(longest)
	if t.clock.now().Sub(t.since)+pause >= t.timeout {
		return false
	}
	return t.clock.wait(ctx, pause)
}

// clock is what pauses are measured with. That of tests takes no time for them.
type clock interface {
	now() time.Time

	// wait waits, and reports whether the context has not ended meanwhile.
	wait(ctx context.Context, pause time.Duration) bool
}

type systemClock struct{}

func (systemClock) now() time.Time { return time.Now() }

func (systemClock) wait(ctx context.Context, pause time.Duration) bool {
	return grace.Wait(ctx, pause) == nil
}
