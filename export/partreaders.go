package export

import (
	"context"
	"errors"

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

// close closes all sessions except the first, which belongs to the caller.
func (r *partReaders) close() error {
	var errs []error
	for _, src := range r.sources[1:] {
		errs = append(errs, src.Close())
	}
	return errors.Join(errs...)
}
