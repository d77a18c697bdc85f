package read

import (
	"context"
	"testing"
)

// SetRangeBytes sets the least size of a range until the test ends.
func SetRangeBytes(tb testing.TB, size int64) { set(tb, &rangeBytes, size) }

// SetBesideTimeout sets how many seconds sessions beside the first wait for locks, until the test ends.
func SetBesideTimeout(tb testing.TB, seconds int) { set(tb, &besideTimeout, seconds) }

// WithoutStages has servers locked as those without stages of a backup are, until the test ends.
func WithoutStages(tb testing.TB) { set(tb, &withStages, 1<<20) }

// UnderLock has a function called when a connection holds the lock, until the test ends.
func UnderLock(tb testing.TB, do func(ctx context.Context, connection int64)) {
	set(tb, &underLock, do)
}

func set[T any](tb testing.TB, variable *T, value T) {
	before := *variable
	*variable = value
	tb.Cleanup(func() { *variable = before })
}

// IsPlain reports whether a condition has the same result in every statement.
var IsPlain = isPlain
