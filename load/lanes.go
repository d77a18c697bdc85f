package load

import (
	"context"
	"errors"
	"sync"

	"culvert/source"
)

// open opens one more lane, unless its connections are refused. Then the work goes on with the lanes that there are,
// and the result is the reason. A server that cannot be reached at all fails them too.
func open(lane func() error) (fewer string, err error) {
	err = lane()
	if errors.Is(err, source.ErrUnavailable) {
		return err.Error(), nil
	}
	return "", err
}

// atOnce runs lanes at the same time, until all have ended. The first error ends the others.
func atOnce[L any](ctx context.Context, lanes []L, run func(ctx context.Context, lane L) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var running sync.WaitGroup
	for _, lane := range lanes {
		running.Go(func() {
			if err := run(ctx, lane); err != nil {
				cancel(err)
			}
		})
	}
	running.Wait()
	return context.Cause(ctx)
}

// alone has tables say why fewer of them were filled at the same time, unless they have a reason of their own.
func alone(tables []Stats, fewer string) {
	for i := range tables {
		if stats := &tables[i]; stats.Name != "" && stats.Alone == "" {
			stats.Alone = fewer
		}
	}
}
