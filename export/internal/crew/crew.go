// Package crew has several members take tasks from one list.
package crew

import (
	"context"
	"sync"
	"sync/atomic"
)

// Work has each task, from 0 on, done by one of the members. Each member takes another task when it has done one. The
// first error of do cancels the context of the others, and is returned.
func Work(ctx context.Context, members, tasks int, do func(ctx context.Context, member, task int) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var (
		next    atomic.Int64
		working sync.WaitGroup
		failing sync.Once
		failure error
	)
	for member := range members {
		working.Go(func() {
			for {
				task := int(next.Add(1)) - 1
				if task >= tasks {
					return
				}
				err := context.Cause(ctx)
				if err == nil {
					err = do(ctx, member, task)
				}
				if err != nil {
					failing.Do(func() {
						failure = err
						next.Store(int64(tasks))
						cancel(err)
					})
					return
				}
			}
		})
	}
	working.Wait()
	return failure
}
