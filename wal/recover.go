package wal

import (
	"cmp"
	"errors"
	"fmt"
	"path/filepath"

	"culvert/internal/disk"
)

// recover finds the log in its directory and repairs it after a crash. io is not needed yet.
func (l *Log) recover() (Recovery, error) {
	inv, err := load(l.dir, l.options.Key, nil, false)
	if err != nil {
		return Recovery{}, err
	}
	l.dropped = inv.leavings
	l.sweep() // their space may be needed now
	if len(inv.chain) == 0 {
		return l.found(inv)
	}
	newest := inv.chain[len(inv.chain)-1]
	l.id, l.check = newest.log, newest.check
	l.chain, l.first, l.next = inv.chain, inv.first, inv.tail.last+1
	l.written, l.durable = inv.tail.last, inv.tail.last
	l.number, l.cuts = newest.number, newest.cuts
	r := inv.recovery()
	for _, s := range inv.others {
		l.dropped = append(l.dropped, s.name())
	}
	merged, err := l.merge(inv.tail)
	if err == nil && !merged && !newest.sealed {
		err = l.settle(newest, inv.tail)
	}
	if err != nil {
		return r, err
	}
	l.sweep()
	return r, nil
}

// found begins a new log. It has no segment until there is an entry.
func (l *Log) found(inv *inventory) (Recovery, error) {
	r := Recovery{First: l.first, Last: l.first - 1, Clean: true}
	if inv.foreign != "" {
		return r, errNoLog(inv.foreign)
	}
	l.written, l.durable = r.Last, r.Last
	// The program that made the directory may have been killed before its name was durable.
	if err := l.options.fs.SyncDir(filepath.Dir(l.dir.path)); err != nil {
		return r, fmt.Errorf("wal: %w", err)
	}
	return r, l.newID()
}

// settle copies the records that nothing proves durable, at the end of a log that was not closed, to a new segment. If
// a sync of their file has failed before, they may be only in the memory of the system, even if a later sync succeeds.
// The same is true of headers and names of old segments, which are therefore not changed. The new segment says where
// the log begins and ends.
func (l *Log) settle(s *segment, t tail) (err error) {
	file, err := l.dir.Open(s.name(), true)
	if err != nil {
		return fmt.Errorf("wal: %w", err)
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	scan := newScanner(s, file, make([]byte, readSize))
	if err := scan.skipTo(t.proven + 1); err != nil {
		return err
	}
	end := scan.offset
	// The space behind the records may be all that is left on the disk. Readers may still need the records.
	trim(file, t.end)
	fill := func(into *segment, to disk.File) (int64, error) { return scan.copyTo(into, to, t) }
	room, err := l.begin(t.proven+1, headerSize+t.end-end, fill)
	if room != nil && l.trimCopied() == nil {
		room, err = l.begin(t.proven+1, headerSize+t.end-end, fill)
	}
	return cmp.Or(err, room)
}

// trimCopied frees the space of records that a former Open has copied into the newest segment.
func (l *Log) trimCopied() (err error) {
	n := len(l.chain)
	if n < 2 {
		return nil
	}
	s, newest := l.chain[n-2], l.chain[n-1]
	file, err := l.dir.Open(s.name(), true)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	scan := newScanner(s, file, make([]byte, readSize))
	if err := scan.skipTo(newest.base); err != nil {
		return err
	}
	trim(file, scan.offset)
	return nil
}

// skipTo moves forward to a record that is known to exist.
func (s *scanner) skipTo(lsn LSN) error {
	if m := s.segment.index.before(lsn); m.lsn > s.next {
		s.next, s.offset, s.unread = m.lsn, m.offset, nil
	}
	for s.next < lsn {
		s.mark()
		_, v, err := s.scan()
		if err != nil {
			return err
		}
		if v != good {
			return s.corrupt("")
		}
	}
	return nil
}

// restart moves to any record and discards data that was read ahead.
func (s *scanner) restart(lsn LSN) error {
	s.next, s.offset, s.unread = s.segment.base, headerSize, nil
	return s.skipTo(lsn)
}

// copyTo copies the records up to the end of a tail to another segment, and returns the end there.
func (s *scanner) copyTo(into *segment, to disk.File, t tail) (int64, error) {
	end := int64(headerSize)
	var b []byte
	for {
		done := s.next > t.last
		if len(b) > 0 && (done || len(b) >= batchSize) {
			if _, err := to.WriteAt(b, end); err != nil {
				return 0, err
			}
			end += int64(len(b))
			b = b[:0]
		}
		if done {
			return end, nil
		}
		f, v, err := s.scan()
		if err != nil {
			return 0, err
		}
		if v != good {
			return 0, s.corrupt("")
		}
		payload, err := s.unseal(f)
		if err != nil {
			return 0, err
		}
		size := int(frameSize(len(payload), into.encrypted))
		if len(b)+size > cap(b) {
			rest := min(batchSize, t.end-s.offset)
			b = append(make([]byte, 0, len(b)+size+int(rest)), b...)
		}
		b = into.appendFrame(b, frame{lsn: f.lsn, watermark: t.proven, groupEnd: f.groupEnd}, payload)
	}
}
