package export

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"

	"culvert/internal/compress"
	"culvert/source"
)

// partReaders are the sessions that read parts at the same time. All show one snapshot. Package workers does the same
// by a queue, whose server weighs 12 MB, and which needs a source that can share its snapshot. Whoever imports this
// package has neither, and a source without a second session still writes parts.
type partReaders struct {
	plan    Plan // of each
	codec   *compress.Encoder
	sources []source.Source
	fewer   *source.IndivisibleError // why there are fewer than wanted
}

// openPartReaders joins the snapshot of a source with as many sessions as are useful. The source is the first of them.
// If no other session can be had, such as because the server refuses more connections, there are fewer.
func (p *Plan) openPartReaders(ctx context.Context, src source.Source, tasks int) (*partReaders, error) {
	r := &partReaders{plan: *p, codec: p.compressor(), sources: []source.Source{src}}
	sharer, ok := src.(source.Sharer)
	sessions := min(p.MaxReaders(), tasks)
	if !ok || sessions < 2 {
		return r, nil
	}
	snapshot, err := sharer.Share(ctx)
	if err != nil {
		return nil, err
	}
	for len(r.sources) < sessions {
		another, err := sharer.Join(ctx, snapshot)
		if err != nil && ctx.Err() == nil {
			r.fewer = &source.IndivisibleError{Reason: "no other session can join: " + err.Error(), Err: err}
			break
		} else if err != nil {
			return nil, errors.Join(err, r.close())
		}
		r.sources = append(r.sources, another)
	}
	if len(r.sources) > 1 {
		r.plan.Jobs = 1
		r.codec = compress.NewEncoder(p.Compression.codec(), len(r.sources))
	}
	return r, nil
}

// first returns the first of the sessions alone.
func (r *partReaders) first() *partReaders {
	return &partReaders{plan: r.plan, codec: r.codec, sources: r.sources[:1]}
}

// each has each task read by one of the sessions, which read is told by its number. The first error of read stops the
// others, and is returned.
func (r *partReaders) each(
	ctx context.Context, tasks []partTask, read func(context.Context, *partReaders, int, partTask) error,
) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var (
		next     atomic.Int64
		sessions sync.WaitGroup
		failing  sync.Once
		failure  error
	)
	for session := range r.sources {
		sessions.Go(func() {
			for {
				i := int(next.Add(1)) - 1
				if i >= len(tasks) {
					return
				}
				err := context.Cause(ctx)
				if err == nil {
					err = read(ctx, r, session, tasks[i])
				}
				if err != nil {
					failing.Do(func() {
						failure = err
						next.Store(int64(len(tasks)))
						cancel(err)
					})
					return
				}
			}
		})
	}
	sessions.Wait()
	return failure
}

// close closes all sessions except the first, which belongs to the caller.
func (r *partReaders) close() error {
	var errs []error
	for _, src := range r.sources[1:] {
		errs = append(errs, src.Close())
	}
	return errors.Join(errs...)
}
