package wal

import (
	"context"
	"fmt"
	"time"
)

const (
	// batchSize is how many bytes wait to be written at most, but for a group that is larger.
	batchSize = 1 << 20

	// kickSize is how many bytes of AppendAsync make the flusher write before lingerTime is over.
	kickSize = 256 << 10

	lingerTime = 10 * time.Millisecond
)

// batch is what one write puts into a segment.
type batch struct {
	number  uint64
	data    []byte
	offset  int64 // in the active segment
	last    LSN
	entries int

	appenders int   // that wait for it
	sync      bool  // it is to be synced, whatever the mode
	kicked    bool  // the flusher is to write it
	lingers   bool  // the flusher is to write it soon
	need      int64 // somebody waits until the active segment has room for so much
	waiters   *waiters
}

// waiters are those who wait until a batch is flushed.
type waiters struct {
	done chan struct{}
	room error // why there is no room for more
	err  error // the log has failed
}

// pending reports whether somebody wants the batch flushed.
func (b *batch) pending() bool { return b.sync || b.kicked || b.need > 0 || b.waiters != nil }

// wait gives what is done when the batch is flushed.
func (b *batch) wait() *waiters {
	if b.waiters == nil {
		b.waiters = &waiters{done: make(chan struct{})}
	}
	return b.waiters
}

// reset empties the batch for its next use. A buffer that one large group has made is not kept.
func (b *batch) reset() {
	data := b.data[:0]
	if cap(data) > 4*batchSize {
		data = nil
	}
	*b = batch{data: data}
}

// Append appends a group of payloads, all or none of which will be there after a crash, and returns when it is as safe
// as [Options.Sync] says. It gives the LSN of the last one; the others are before it without a gap. The payloads are
// copied.
//
// When the context ends, Append stops waiting. The group may or may not be in the log then, as after [ErrFailed],
// unless nothing was appended yet: in that case the LSN is 0. A context that can end costs a switch to another
// goroutine.
//
// Errors are [ErrTooLarge], [ErrEmpty], [ErrFailed], [ErrClosed], that of the context, and that of a disk which has no
// room for a new segment.
func (l *Log) Append(ctx context.Context, payloads ...[]byte) (LSN, error) {
	lsn, _, err := l.put(ctx, payloads, true)
	if err != nil {
		return 0, err // mu is not held
	}
	if _, err := l.await(ctx); err != nil {
		return lsn, err
	}
	return lsn, nil
}

// AppendAsync appends a group and returns at once, without waiting until it is safe: see the table of the package. It
// waits only if the log cannot be written as fast as entries come, and while a segment is begun.
func (l *Log) AppendAsync(ctx context.Context, payloads ...[]byte) (Ticket, error) {
	lsn, number, err := l.put(ctx, payloads, false)
	if err != nil {
		return Ticket{}, err
	}
	l.expect()
	return Ticket{log: l, batch: number, lsn: lsn}, nil
}

// expect has the filling batch written before long. mu is held, and released.
func (l *Log) expect() {
	b := l.filling
	begun := b.entries > 0 && !b.kicked
	switch {
	case !begun:
	case l.options.Sync == Each || len(b.data) >= kickSize:
		b.kicked = true
		l.mu.Unlock()
		l.kick()
		return
	case !b.lingers:
		b.lingers = true
		l.linger.Reset(lingerTime)
	}
	l.mu.Unlock()
}

// put puts a group into the filling batch. Without an error it leaves mu held, so that who waits misses nothing.
func (l *Log) put(ctx context.Context, payloads [][]byte, waits bool) (LSN, uint64, error) {
	if len(payloads) == 0 {
		return 0, 0, fmt.Errorf("%w group", ErrEmpty)
	}
	if err := ctx.Err(); err != nil {
		return 0, 0, err
	}
	size, limit := l.sizeOf(payloads), l.options.SegmentSize-headerSize
	if size > limit {
		return 0, 0, fmt.Errorf("%w: %d bytes with their heads, of %d", ErrTooLarge, size, limit)
	}
	for {
		l.mu.Lock()
		if err := l.err(); err != nil {
			l.mu.Unlock()
			return 0, 0, err
		}
		if !l.hasRoom(size) {
			l.filling.need = max(l.filling.need, size)
		} else if held := len(l.filling.data); held == 0 || int64(held)+size <= batchSize {
			break
		}
		room, err := l.await(ctx)
		if err == nil && room != nil && !l.fits(size) { // it may have been another that there is no room for
			err = room
		}
		if err != nil {
			return 0, 0, err
		}
	}
	lsn := l.encode(payloads, size)
	if waits {
		l.filling.appenders++
	}
	return lsn, l.filling.number, nil
}

func firstError(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// sizeOf is the size of a group in a segment. It is bounded by the caller before anything of that size is made.
func (l *Log) sizeOf(payloads [][]byte) int64 {
	size := int64(0)
	for _, p := range payloads {
		size += recordHead + int64(len(p))
		if l.options.Key != nil {
			size += tagSize
		}
		size = aligned(size)
	}
	return size
}

// hasRoom reports whether a group fits into the active segment. mu is held.
func (l *Log) hasRoom(size int64) bool { return l.active != nil && l.end+size <= l.active.size }

// fits reports whether a group fits into the segment that is left if there is no room for another.
func (l *Log) fits(size int64) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.kept != nil && l.end+size <= l.kept.size
}

// encode appends the records of a group to the filling batch. There is room for them. mu is held.
func (l *Log) encode(payloads [][]byte, size int64) LSN {
	b := l.filling
	if len(b.data) == 0 {
		b.offset = l.end
	}
	b.grow(int(size))
	for i, p := range payloads {
		b.data = l.active.appendFrame(b.data, frame{
			lsn: l.next, watermark: l.durable, groupEnd: i == len(payloads)-1,
		}, p)
		l.next++
	}
	b.last = l.next - 1
	b.entries += len(payloads)
	l.end += size
	l.active.length = l.end
	return b.last
}

// grow makes room for n more bytes.
func (b *batch) grow(n int) {
	if need := len(b.data) + n; need > cap(b.data) {
		larger := make([]byte, len(b.data), max(need, min(2*cap(b.data), batchSize), 4096))
		copy(larger, b.data)
		b.data = larger
	}
}

// await has the filling batch flushed and waits for that, or until the context ends. mu is held, and released. If no
// one else is writing, and the context cannot end, the caller writes itself, which is quicker than waking another.
func (l *Log) await(ctx context.Context) (room, err error) {
	b := l.filling
	if ctx.Done() == nil && l.io.TryLock() {
		l.gather()
		room, err = l.flush()
		l.leave()
		return room, err
	}
	kick := ctx.Done() != nil && !b.kicked
	b.kicked = b.kicked || kick
	w := b.wait()
	l.mu.Unlock()
	if kick {
		l.kick()
	}
	return w.await(ctx)
}

func (w *waiters) await(ctx context.Context) (room, err error) {
	select {
	case <-w.done:
		return w.room, w.err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// kick wakes the flusher.
func (l *Log) kick() {
	select {
	case l.kicks <- struct{}{}:
	default: // it is about to look anyway
	}
}

// Ticket stands for a group of [Log.AppendAsync] that may not be safe yet.
type Ticket struct {
	log   *Log
	batch uint64
	lsn   LSN
}

// LSN is that of the last entry of the group.
func (t Ticket) LSN() LSN { return t.lsn }

// Wait returns when the group is as safe as Append would have made it, or with an error if it will not be. When the
// context ends, it stops waiting.
func (t Ticket) Wait(ctx context.Context) error {
	l := t.log
	l.mu.Lock()
	switch {
	case t.batch <= l.finished:
		l.mu.Unlock()
		return nil
	case l.failure != nil:
		defer l.mu.Unlock()
		return l.failure
	case t.batch == l.filling.number:
		_, err := l.await(ctx)
		return err
	}
	w := l.flushing.wait()
	l.mu.Unlock()
	_, err := w.await(ctx)
	return err
}
