package wal

import (
	"context"
	"fmt"
	"time"
)

const (
	batchSize  = 1 << 20               // bytes that wait to be written at most, except for a larger group
	kickSize   = 256 << 10             // bytes of AppendAsync that make the flusher write before lingerTime is over
	lingerTime = 10 * time.Millisecond // after which the flusher writes
)

// batch is the data of one write to a segment.
type batch struct {
	number  uint64
	data    []byte
	offset  int64 // in the active segment
	last    LSN
	entries int

	appenders int   // that wait for the batch
	sync      bool  // sync it, whatever the mode
	kicked    bool  // the flusher is to write it
	lingers   bool  // the flusher is to write it soon
	need      int64 // an appender waits until the active segment has room for this many bytes
	waiters   *waiters
}

// waiters let goroutines wait until a batch is flushed.
type waiters struct {
	done chan struct{}
	room error // why there is no room for more
	err  error // the log has failed
}

// pending reports whether a goroutine wants the batch flushed.
func (b *batch) pending() bool { return b.sync || b.kicked || b.need > 0 || b.waiters != nil }

// wait returns the waiters of the batch.
func (b *batch) wait() *waiters {
	if b.waiters == nil {
		b.waiters = &waiters{done: make(chan struct{})}
	}
	return b.waiters
}

// reset empties the batch for its next use. The buffer of a large group is not kept.
func (b *batch) reset() {
	data := b.data[:0]
	if cap(data) > 4*batchSize {
		data = nil
	}
	*b = batch{data: data}
}

// Append appends a group of entries and returns when it is as safe as [Options.Sync] says. After a crash, either all
// entries of the group are in the log or none. Append returns the LSN of the last one; the others have the LSNs before
// it. The payloads are copied.
//
// When the context ends, Append stops waiting. As after [ErrFailed], the group may or may not be in the log then. If
// the LSN is 0, it is not. A context that can end costs a switch to another goroutine.
//
// Errors are [ErrTooLarge], [ErrEmpty], [ErrFailed], [ErrClosed], the error of the context, and the error of a disk
// without room for a new segment.
func (l *Log) Append(ctx context.Context, payloads ...[]byte) (LSN, error) {
	lsn, _, err := l.put(ctx, payloads, true)
	if err != nil {
		return 0, err // mu is not held
	}
	_, err = l.await(ctx)
	return lsn, err
}

// AppendAsync appends a group and returns without waiting until it is safe: see the table of the package. It waits only
// while a segment is created, and if entries are appended faster than they can be written.
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

// put adds a group to the filling batch. Unless it fails, it leaves mu locked, so that the caller can wait for the
// batch.
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
		if err == nil && room != nil && !l.fits(size) { // the room may have been missing for another group
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

// sizeOf returns the size of a group in a segment. The caller bounds it before memory of that size is allocated.
func (l *Log) sizeOf(payloads [][]byte) int64 {
	size := int64(0)
	for _, p := range payloads {
		size += frameSize(len(p), l.options.Key != nil)
	}
	return size
}

// hasRoom reports whether a group fits into the active segment. mu is held.
func (l *Log) hasRoom(size int64) bool { return l.active != nil && l.end+size <= l.active.size }

// fits reports whether a group fits into the segment that is kept if there is no room for another.
func (l *Log) fits(size int64) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.kept != nil && l.end+size <= l.kept.size
}

// encode appends the records of a group, which fit into the active segment, to the filling batch. mu is held.
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

// await waits until the filling batch is flushed, or the context ends. mu is held, and released. If nobody is writing,
// and the context cannot end, the caller writes itself, which is quicker than waking the flusher.
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

// Ticket represents a group of [Log.AppendAsync] that may not be safe yet.
type Ticket struct {
	log   *Log
	batch uint64
	lsn   LSN
}

// LSN returns the LSN of the last entry of the group.
func (t Ticket) LSN() LSN { return t.lsn }

// Wait returns when the group is as safe as after Append, when the log has failed, or when the context ends.
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
