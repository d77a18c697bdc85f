package wal

import (
	"runtime"
	"time"
)

const (
	maxGathering  = 500 * time.Microsecond
	maxMisses     = 6
	writebackStep = 2 << 20
	pageSize      = 4096
	firstStep     = 64 << 10 // of zeros
	lastStep      = 512 << 10
)

// flusher writes batches for goroutines that do not write themselves.
func (l *Log) flusher() {
	for {
		select {
		case <-l.kicks:
		case <-l.quit:
			return
		}
		l.io.Lock()
		l.mu.Lock()
		l.gather()
		_, _ = l.flush() // waiters get the error
		l.leave()
	}
}

// syncer syncs at every tick of mode Interval.
func (l *Log) syncer() {
	ticks := time.NewTicker(l.options.Interval)
	defer ticks.Stop()
	for {
		select {
		case <-ticks.C:
		case <-l.quit:
			return
		}
		l.mu.Lock()
		dirty := l.durable < l.next-1
		l.filling.sync = l.filling.sync || dirty
		l.mu.Unlock()
		if dirty {
			l.kick()
		}
	}
}

// release unlocks io, as leave does. io is held.
func (l *Log) release() {
	l.mu.Lock()
	l.leave()
}

// leave unlocks io and mu, and wakes the flusher for goroutines that have found io locked.
func (l *Log) leave() {
	l.io.Unlock()
	pending := l.filling.pending()
	l.mu.Unlock()
	if pending {
		l.kick()
	}
}

// gathering decides how long a sync waits for more appenders.
//
// Goroutines of the last sync are likely to append again at once. If the next sync began before they do, each sync
// would carry half of them. So a sync waits for as many appenders as before, for a part of the time that a sync takes.
// If they do not come, it waits less often.
type gathering struct {
	expected int           // appenders
	sync     time.Duration // duration of the last one
	misses   uint          // in a row
	skip     int           // syncs that do not wait
}

// gather waits for appenders. io and mu are held; mu is unlocked while it waits.
func (l *Log) gather() {
	g := &l.gathered
	come := l.filling.appenders
	if l.options.Sync != Each || g.expected < 2 || come == 0 || come >= g.expected {
		return
	}
	if g.skip > 0 {
		g.skip--
		return
	}
	before, start, patience := come, time.Now(), min(g.sync/4, maxGathering)
	for come < g.expected && time.Since(start) < patience {
		l.mu.Unlock()
		runtime.Gosched()
		l.mu.Lock()
		come = l.filling.appenders
	}
	if come-before >= (g.expected-before)/2 {
		g.misses = 0
		return
	}
	g.misses = min(g.misses+1, maxMisses)
	g.skip = 1 << g.misses
}

// flush writes the filling batch, syncs it if the mode or a goroutine requires it, and begins a new segment if an
// appender needs one. io and mu are held; mu is unlocked meanwhile. It returns why there is no room for a segment, and
// the failure of the log.
func (l *Log) flush() (room, err error) {
	b := l.filling
	l.batches++
	l.flushing, l.filling, l.spare = b, l.spare, nil
	l.filling.number = l.batches
	err = l.failure
	rotate := b.need > 0 && !l.hasRoom(b.need) && !l.closed && !l.halted
	if rotate {
		l.active = nil // nobody may append to it anymore
	}
	base := l.next
	sync := (rotate || b.sync || l.options.Sync == Each) && (len(b.data) > 0 || l.durable < l.written)
	l.mu.Unlock()

	told := Flush{Entries: b.entries, Bytes: int64(len(b.data))}
	written := err == nil && (len(b.data) > 0 || sync)
	if written {
		err = l.failedAt(b, l.write(b, sync, &told))
		written = err == nil
	}
	if err == nil && rotate {
		room, err = l.advance(base, l.options.SegmentSize)
	}

	l.mu.Lock()
	if written {
		l.written = max(l.written, b.last)
	}
	if written && sync {
		l.durable = l.written
		l.announce()
	}
	if err != nil {
		l.fail(err)
		err = l.failure
	} else {
		l.finished = b.number
	}
	told.Durable, told.Err = l.durable, err
	w := b.waiters
	l.gathered.expected = b.appenders + l.filling.appenders
	b.reset()
	l.flushing, l.spare = nil, b
	observed := l.options.Observe != nil && told.Write > 0
	if w == nil && !observed {
		return room, err
	}
	l.mu.Unlock()
	if w != nil {
		w.room, w.err = room, err
		close(w.done)
	}
	if observed {
		l.options.Observe(told)
	}
	l.mu.Lock()
	return room, err
}

// failedAt adds the place to the error of a write or sync.
func (l *Log) failedAt(b *batch, err error) error {
	if err == nil {
		return nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	e := &SegmentError{Segment: l.chain[len(l.chain)-1].path, Offset: b.offset, LSN: l.durable + 1, Err: err}
	if b.entries > 0 {
		e.LSN = b.last + 1 - LSN(b.entries)
	}
	return e
}

// write writes a batch to the active segment, and syncs it if wanted. io is held.
func (l *Log) write(b *batch, sync bool, told *Flush) error {
	var start time.Time
	timed := l.options.Observe != nil
	if timed {
		start = time.Now()
	}
	err := l.writeData(b, sync)
	if timed {
		told.Write = max(1, time.Since(start))
	}
	if err == nil && sync {
		begin := time.Now()
		err = l.file.Sync()
		l.gathered.sync = time.Since(begin)
		told.Sync = l.gathered.sync
		if err == nil {
			err = l.lock.Held() // otherwise another writer may have the log, without this batch
		}
	}
	return err
}

func (l *Log) writeData(b *batch, sync bool) error {
	if len(b.data) == 0 {
		return nil
	}
	if _, err := l.file.WriteAt(b.data, b.offset); err != nil {
		return err
	}
	end := b.offset + int64(len(b.data))
	if !sync {
		return l.writeBack(end)
	}
	return l.zeroAhead(end, len(b.data))
}

// writeBack has the system begin to write the full pages of the segment. Otherwise, the sync before the next segment
// would have to write all of this one, and all appenders would wait for it.
func (l *Log) writeBack(end int64) error {
	end -= end % pageSize
	begun := l.begun
	if end-begun < min(writebackStep, l.size/8) {
		return nil
	}
	l.begun = end
	return l.file.Writeback(begun, end-begun)
}

var noughts [lastStep]byte

// zeroAhead writes zeros behind the records. A sync after a write to reserved space costs a second write, to the
// journal of the file system, since the space becomes used. With zeros, only the sync after them costs that. Steps grow
// with use, so that a log with few entries does not wait for many zeros. Large writes have none.
func (l *Log) zeroAhead(end int64, written int) error {
	if end <= l.zeroed {
		return nil
	}
	l.zeroed = end
	if written > firstStep/4 {
		return nil
	}
	n := min(l.step, l.size-end)
	l.step = min(2*l.step, lastStep)
	if n <= 0 {
		return nil
	}
	l.zeroed += n
	_, err := l.file.WriteAt(noughts[:n], end)
	return err
}
