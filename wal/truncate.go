package wal

import (
	"cmp"
	"fmt"
)

// TruncateFront cuts off the entries before an LSN. The LSN after the last entry empties the log. Segments without
// other entries are removed; nothing is rewritten. When TruncateFront returns, the cut is durable. An LSN up to First
// changes nothing, and one beyond Last+1 is an [ErrRange].
//
// Reads under way end with [ErrTruncated] if they need entries that were removed.
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
		return cmp.Or(err, room)
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

// settleFor syncs the log for a cut after an LSN. It is done if the log has no segment. io is held.
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

// noteFirst makes the beginning of the log durable, in the active segment or a new one, before older segments are
// removed. io is held.
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

// TruncateBack cuts off the entries after an LSN. First-1 empties the log. The next entry gets the LSN after the given
// one. When TruncateBack returns, the cut is durable. An LSN beyond the end is an [ErrRange], and one before First-1 an
// [ErrTruncated].
//
// Entries appended before are written first; appends that come meanwhile wait. Every [Log.Tail] ends with
// [ErrTruncated], as do reads under way that need entries that were removed.
func (l *Log) TruncateBack(lsn LSN) error {
	l.io.Lock()
	defer l.release()
	l.halt() // otherwise entries between the sync and the cut would be acknowledged and then cut off
	done, err := l.settleFor(lsn)
	if before := l.First() - 1; err == nil && lsn < before {
		err = fmt.Errorf("%w: LSN %d, and the first is %d", ErrTruncated, lsn, before+1)
	}
	if done || err != nil || lsn == l.Last() {
		l.resume()
		return err
	}
	// The cut happens when the new segment gets its name.
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
