package read

import (
	"context"
	"io"
	"testing"

	"culvert/source"
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

// RangesOf returns the conditions of the ranges that n readers take, and how many rows each is to have.
func RangesOf(ctx context.Context, of source.Rows, n int) (conditions []string, shares []float64, err error) {
	rows := of.(*tableRows)
	all, err := rows.divisible(n)
	if err != nil || all == nil {
		return nil, nil, err
	}
	all.readers = float64(all.useful(n))
	for {
		share := all.wanted(all.taken)
		condition, _, err := all.take(ctx, rows.db.session)
		if err == io.EOF {
			return conditions, shares, nil
		}
		if err != nil {
			return nil, nil, err
		}
		conditions, shares = append(conditions, condition), append(shares, share)
	}
}

// IsPlain reports whether a condition has the same result in every statement.
var IsPlain = isPlain
