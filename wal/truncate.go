package wal

import "fmt"

// TruncateFront cuts off the entries before an LSN, which may be that behind the last one: then the log is empty.
// Segments that hold no other entries are removed; nothing is rewritten. When it returns, the cut is durable. An LSN
// that is not behind First changes nothing; one farther behind the end gives [ErrRange].
//
// A read under way ends with [ErrTruncated] if it needs what was removed.
func (l *Log) TruncateFront(lsn LSN) error {
	l.io.Lock()
	defer l.release()
	l.mu.Lock()
	err, nothing := l.err(), lsn <= l.first
	l.mu.Unlock()
	if err != nil || nothing {
		return err
	}
	if done, err := l.settleFor(lsn - 1); done || err != nil {
		return err
	}
	room, err := l.noteFirst(lsn)
	l.mu.Lock()
	if err != nil {
		l.fail(err)
		err = l.failure
	}
	if err != nil || room != nil {
		l.mu.Unlock()
		return firstError(err, room)
	}
	keep := 0
	for keep < len(l.chain)-1 && l.chain[keep+1].base <= lsn {
		l.dropped = append(l.dropped, l.chain[keep].name())
		keep++
	}
	l.chain = l.chain[keep:]
	l.mu.Unlock()
	l.sweep()
	return nil
}

// settleFor syncs what was appended, which the cut after an LSN builds on. It reports that there is nothing to cut if
// the log has no entries at all. io is held.
func (l *Log) settleFor(lsn LSN) (done bool, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	err = l.err()
	l.filling.sync = true
	if err != nil {
		return false, err
	}
	if _, err := l.flush(); err != nil {
		return false, err
	}
	if lsn > l.durable {
		return false, fmt.Errorf("%w: LSN %d, and the last is %d", ErrRange, lsn, l.durable)
	}
	return len(l.chain) == 0, nil
}

// noteFirst notes where the log begins, in the active segment or in a new one. The older ones may go only when that is
// durable. io is held.
func (l *Log) noteFirst(first LSN) (room, err error) {
	l.mu.Lock()
	former := l.first
	l.first = first
	base := l.next
	s := l.active
	l.mu.Unlock()
	if s == nil {
		if room, err = l.advance(base, headerSize); room != nil {
			l.mu.Lock()
			l.first = former
			l.mu.Unlock()
		}
		return room, err
	}
	s.first = first
	return nil, s.writeHeader(l.file)
}

// TruncateBack cuts off the entries behind an LSN; with that before First, all of them. The next entry gets the LSN
// behind it. When it returns, the cut is durable. An LSN behind the end gives [ErrRange], one farther before First
// [ErrTruncated].
//
// What was appended before the cut began is written first. What comes while it works waits, and is appended after it.
// Every [Log.Tail] ends with [ErrTruncated], and so does a read under way if it needs what was removed.
func (l *Log) TruncateBack(lsn LSN) error {
	l.io.Lock()
	defer l.release()
	l.halt() // else what came between the sync and the cut would be acknowledged, and cut off
	done, err := l.settleFor(lsn)
	if before := l.First() - 1; err == nil && lsn < before {
		err = fmt.Errorf("%w: LSN %d, and the first is %d", ErrTruncated, lsn, before+1)
	}
	if done || err != nil || lsn == l.Last() {
		l.resume()
		return err
	}
	// The moment that the new segment gets its name is that of the cut.
	room, err := l.advance(lsn+1, headerSize)
	if err != nil {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.fail(err)
		return l.failure
	}
	return room
}

// halt keeps appenders from the active segment. io is held.
func (l *Log) halt() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.active, l.halted = nil, true
}
