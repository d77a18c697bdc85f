package export

import (
	"context"
	"errors"
	"sync"

	"culvert/internal/compress"
	"culvert/source"
)

// sessions read files at the same time. All show one snapshot. Package workers does the same by a queue, whose server
// weighs 12 MB, and which needs a source that can share its snapshot. Whoever imports this package has neither.
type sessions struct {
	plan    Plan // of each
	codec   *compress.Encoder
	sources []source.Source
	fewer   *source.IndivisibleError // why there are fewer than wanted
}

// openSessions joins the snapshot of a source with as many sessions as are useful for so many parts, or uses those that
// were opened beside it. The source is the first of them. If no other session can be had, such as because the server
// refuses more connections, there are fewer.
func (p *Plan) openSessions(ctx context.Context, src source.Source, parts int) (*sessions, error) {
	s := &sessions{plan: *p, codec: p.compressor(), sources: []source.Source{src}}
	most := min(p.MaxReaders(), parts)
	if most < 2 {
		return s, nil
	}
	switch src := src.(type) {
	case source.Grouped:
		var beside []source.Source
		beside, s.fewer = src.Beside(most - 1)
		s.sources = append(s.sources, beside...)
	case source.Sharer:
		snapshot, err := src.Share(ctx)
		if err != nil {
			return nil, err
		}
		if err := s.join(ctx, src, snapshot, most-1); err != nil {
			return nil, err
		}
	}
	if len(s.sources) > 1 {
		s.plan.Jobs = 1
		s.codec = compress.NewEncoder(p.Compression.codec(), len(s.sources))
	}
	return s, nil
}

// join opens n sessions, or fewer. All connect at the same time, since each takes several round trips.
func (s *sessions) join(ctx context.Context, sharer source.Sharer, snapshot source.Snapshot, n int) error {
	joined, errs := make([]source.Source, n), make([]error, n)
	var joining sync.WaitGroup
	for i := range n {
		joining.Go(func() { joined[i], errs[i] = sharer.Join(ctx, snapshot) })
	}
	joining.Wait()
	for i, err := range errs {
		if err == nil {
			s.sources = append(s.sources, joined[i])
		} else if s.fewer == nil {
			s.fewer = &source.IndivisibleError{Reason: "no other session can join: " + err.Error(), Err: err}
		}
	}
	if s.fewer != nil && ctx.Err() != nil {
		return errors.Join(s.fewer.Err, s.close())
	}
	return nil
}

// close closes all sessions except the first, which belongs to the caller. Each may wait for its server.
func (s *sessions) close() error {
	errs := make([]error, len(s.sources))
	var closing sync.WaitGroup
	for i, src := range s.sources[1:] {
		closing.Go(func() { errs[i] = src.Close() })
	}
	closing.Wait()
	return errors.Join(errs...)
}
