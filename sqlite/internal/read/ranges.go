package read

import (
	"context"
	"sync"
	"sync/atomic"
)

// leastSpan is the least number of rowids of which a reader gives away half. Only tests change it.
var leastSpan uint64 = 32

// ranges divides the rowids of a table among readers. The first one gets all. A reader that has none left takes the
// upper half of what another has still to read. So all read until the end, wherever the rowids of the rows are, and
// however large the rows. Of rowids that are far apart, it takes at most 64 halves to come to those of the rows.
//
// One reader alone reads large values, of which each connection would keep the memory: at first the first one. The
// others leave it their ranges when they come to one.
type ranges struct {
	table, rowid string // as SQL

	mu      sync.Mutex
	spans   []span
	whole   *bounds       // of all rows, before anybody has begun
	left    []bounds      // for the holder
	holder  *span         // of the reader that may read large values, or nil
	changed chan struct{} // has a value if there is something new for the holder
}

// bounds are the first and the last rowid of a range.
type bounds struct{ from, last int64 }

// span is what one reader has of the rowids.
type span struct {
	at     atomic.Int64 // the reader takes no row before it any more
	last   atomic.Int64 // nor after it
	active bool         // it may still take rows; guarded by the ranges
}

func newRanges(table, rowid string, first, last int64, readers int) *ranges {
	r := &ranges{table: table, rowid: rowid, spans: make([]span, readers), changed: make(chan struct{}, 1)}
	r.whole, r.holder = &bounds{first, last}, &r.spans[0]
	return r
}

// reach reports whether a reader may take a row. From false on, it has ended its range.
//
// The reader shows its rowid before it looks at the end of its range. One that takes the upper half sets that end
// before it looks at the rowid. So at least one of them sees what the other does, and the lock decides.
func (r *ranges) reach(own *span, rowid int64) bool {
	own.at.Store(rowid)
	if rowid <= own.last.Load() {
		return true
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return rowid <= own.last.Load()
}

// firstAfter returns the least rowid of a row that is larger than one, up to another one.
type firstAfter func(after, last int64) (rowid int64, found bool, err error)

// next returns the rowids that a reader has next, or not found if it can end. If the one that reads large values may
// wait, it ends after the others.
func (r *ranges) next(ctx context.Context, own *span, wait bool, first firstAfter) (b bounds, found bool, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	own.active = false
	for {
		switch {
		case r.whole != nil:
			b, r.whole, found = *r.whole, nil, true
		case own == r.holder && len(r.left) > 0:
			b, r.left, found = r.left[0], r.left[1:], true
		default:
			b, found, err = r.share(first)
		}
		if found {
			own.set(b)
		}
		if found || err != nil {
			return b, found, err
		}
		if own != r.holder {
			r.tell()
			return b, false, nil
		}
		if !wait || !r.anyActive() {
			r.holder = nil
			return b, false, nil
		}
		r.mu.Unlock()
		select {
		case <-r.changed:
		case <-ctx.Done():
			err = ctx.Err()
		}
		r.mu.Lock()
		if err != nil {
			return b, false, err
		}
	}
}

// share takes the upper half of what a reader has still to read.
func (r *ranges) share(first firstAfter) (b bounds, found bool, err error) {
	for {
		widest := r.widest()
		if widest == nil {
			return b, false, nil
		}
		last, middle, cut := widest.cut()
		if !cut {
			continue
		}
		from, found, err := first(middle, last)
		if err != nil {
			widest.last.Store(last)
			return b, false, err
		}
		if found {
			return bounds{from, last}, true, nil
		}
	}
}

// anyActive reports whether a reader has a range.
func (r *ranges) anyActive() bool {
	for i := range r.spans {
		if r.spans[i].active {
			return true
		}
	}
	return false
}

// leave leaves the rest of a range, from a rowid on, to the reader of large values. If there is none, the reader
// becomes it, and reads the range.
func (r *ranges) leave(own *span, from int64) (b bounds, holds bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	own.active = false
	b = bounds{from, own.last.Load()}
	if r.holder == nil {
		r.holder = own
		own.set(b)
		return b, true
	}
	r.left = append(r.left, b)
	r.tell()
	return b, false
}

// end records that a reader has ended.
func (r *ranges) end(own *span) {
	r.mu.Lock()
	defer r.mu.Unlock()
	own.active = false
	if r.holder == own {
		r.holder = nil
	}
	r.tell()
}

// tell wakes the reader of large values.
func (r *ranges) tell() {
	select {
	case r.changed <- struct{}{}:
	default:
	}
}

func (s *span) set(b bounds) {
	s.at.Store(b.from)
	s.last.Store(b.last)
	s.active = true
}

// width returns the number of rowids after the one that the reader may be taking.
func (s *span) width() uint64 {
	at, last := s.at.Load(), s.last.Load()
	if !s.active || at > last {
		return 0
	}
	return uint64(last) - uint64(at)
}

// widest returns the span with the most rowids left, or nil if none has enough to be cut.
func (r *ranges) widest() (widest *span) {
	most := max(leastSpan, 2) - 1
	for i := range r.spans {
		if width := r.spans[i].width(); width > most {
			widest, most = &r.spans[i], width
		}
	}
	return widest
}

// cut ends a span in the middle of what is left of it, unless its reader is just coming there.
func (s *span) cut() (last, middle int64, cut bool) {
	last = s.last.Load()
	at := s.at.Load()
	if at >= last {
		return last, 0, false
	}
	middle = at + int64((uint64(last)-uint64(at))/2)
	s.last.Store(middle)
	if s.at.Load() > middle {
		s.last.Store(last)
		return last, 0, false
	}
	return last, middle, true
}
