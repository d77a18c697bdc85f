package wal

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"slices"

	"culvert/internal/disk"
)

// advance begins the segment with the records from base on, in the place of the active one. All before base is durable,
// and appenders are kept out; without room for the segment, they may go on in the active one. io is held.
func (l *Log) advance(base LSN, least int64) (room, err error) {
	former := l.file
	l.mu.Lock()
	end := l.end
	l.mu.Unlock()
	room, err = l.begin(base, least, nil)
	switch {
	case err != nil:
		return nil, err
	case room != nil:
		l.resume()
		return room, nil
	case former != nil:
		trim(former, end)
		err = former.Close()
	}
	l.sweep()
	return nil, err
}

// trim gives back the space that a segment has reserved behind its records. If it cannot, the space is lost until the
// segment is removed, and the log is as good as before.
func trim(file disk.File, end int64) { _ = file.Truncate(end) }

// spare is what is reserved behind a segment, for the segment that [Open] begins after a kill on a disk that is full:
// its headers, and the records that nothing proves durable. With Each they are not many. With the other modes they may
// be all of the segment.
func (o *Options) spare(size int64) int64 {
	switch {
	case o.disposable:
		return 0
	case o.Sync == Each:
		return headerSize + size/16
	}
	return headerSize + size
}

// resume lets appenders go on in the active segment. io is held.
func (l *Log) resume() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.active, l.halted = l.kept, false
}

// sealActive notes in the header of the active segment where it ends, and gives back the space behind that. All of it
// is durable. io is held.
func (l *Log) sealActive() error {
	if l.file == nil {
		return nil
	}
	l.mu.Lock()
	s := l.chain[len(l.chain)-1]
	s.sealed, s.watermark, s.end = true, l.next-1, l.end
	l.mu.Unlock()
	if err := l.file.Truncate(s.end); err != nil {
		return err
	}
	return s.writeHeader(l.file)
}

// writeHeader makes a changed header durable, in the slot that does not hold the former one. Then it takes that one's
// place, too, so that damage to one slot does not bring the former back; when that comes to the disk matters to nobody.
// It must not be used on a segment of an earlier process, of whose headers it is not certain that they are durable.
func (s *segment) writeHeader(file disk.File) error {
	s.generation++
	slot := s.slot()
	if _, err := file.WriteAt(slot, slotOffset(s.generation)); err != nil {
		return err
	}
	if err := file.Sync(); err != nil {
		return err
	}
	_, err := file.WriteAt(slot, slotOffset(s.generation+1))
	return err
}

// begin makes the segment with the records from base on the active one, as large as the options say. If the disk has no
// room for that, it may be as small as least. There may be some records already, which fill puts into it and whose end
// it gives. io is held. If the segment cannot even be written, that is no failure of the log but a lack of room.
func (l *Log) begin(base LSN, least int64, fill func(*segment, disk.File) (end int64, err error)) (room, err error) {
	if err := l.lock.Held(); err != nil {
		return nil, err // the directory may be that of another log now
	}
	size := max(l.options.SegmentSize, least)
	room, err = l.create(base, size, size+l.options.spare(size), fill)
	if room != nil && least < size { // with room for another of the kind, if there is
		room, err = l.create(base, least, 2*least, fill)
	}
	if room != nil && least < size {
		room, err = l.create(base, least, least, fill)
	}
	return room, err
}

// create is begin for one size, and what is reserved for it.
func (l *Log) create(base LSN, size, reserve int64, fill func(*segment, disk.File) (end int64, err error)) (
	room, err error,
) {
	s, err := l.newSegment(base, size, fill != nil)
	if err != nil {
		return err, nil
	}
	unnamed := s.name() + temporary
	file, err := l.dir.Create(unnamed)
	if err != nil {
		return fmt.Errorf("wal: %w", err), nil
	}
	abandon := func(err error) error {
		return errors.Join(fmt.Errorf("wal: %w", err), file.Close(), l.dir.Remove(unnamed))
	}
	if err := file.Reserve(reserve); err != nil {
		return abandon(err), nil
	}
	slot := s.slot()
	if _, err := file.WriteAt(append(slot, slot...), 0); err != nil {
		return abandon(err), nil
	}
	end := int64(headerSize)
	if fill != nil {
		if end, err = fill(s, file); err != nil {
			return nil, abandon(err)
		}
	}
	if file, err = l.publish(file, unnamed, s.name()); err != nil {
		return nil, err
	}
	l.activate(s, file, end, fill == nil)
	return nil, nil
}

// publish makes a segment durable under its name. It is opened anew, since not all systems rename open files.
func (l *Log) publish(file disk.File, unnamed, name string) (disk.File, error) {
	if err := file.Sync(); err != nil {
		return nil, errors.Join(err, file.Close())
	}
	if err := file.Close(); err != nil {
		return nil, err
	}
	if err := l.dir.Rename(unnamed, name); err != nil {
		return nil, err
	}
	file, err := l.dir.Open(name, true)
	if err != nil {
		return nil, err
	}
	if err := l.syncNames(); err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return file, nil
}

// syncNames makes the names of segments durable.
func (l *Log) syncNames() error { return l.dir.Sync() }

// newSegment makes up the header of the segment with the records from base on, of which there may be some already.
func (l *Log) newSegment(base LSN, size int64, filled bool) (*segment, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.number++
	watermark := base - 1
	if filled {
		watermark = l.next - 1
	}
	h := header{
		encrypted: l.options.Key != nil, log: l.id, number: l.number, generation: 1,
		base: base, first: l.first, size: size, check: l.check, watermark: watermark, cuts: l.cuts,
	}
	if !filled && base < l.next {
		h.cuts++ // entries behind base are cut off
	}
	_, _ = rand.Read(h.salt[:]) // never fails
	for _, s := range l.chain {
		if s.base < base {
			h.previous = s.salt
		}
	}
	return newSegment(l.dir.path, h, l.options.Key)
}

// activate takes a segment for the records to come. Those from its base on in other segments are cut off with that. An
// empty segment continues the log at its base; all before it is durable.
func (l *Log) activate(s *segment, file disk.File, end int64, empty bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if s.cuts != l.cuts {
		l.cuts = s.cuts
		l.announce()
	}
	if empty {
		l.next, l.written, l.durable = s.base, s.base-1, s.base-1
	}
	for len(l.chain) > 0 && l.chain[len(l.chain)-1].base >= s.base {
		l.dropped = append(l.dropped, l.chain[len(l.chain)-1].name())
		l.chain = l.chain[:len(l.chain)-1]
	}
	l.chain = append(l.chain[:len(l.chain):len(l.chain)], s) // readers have the old slice
	l.active, l.kept, l.file, l.halted = s, s, file, false
	s.length = end
	l.end, l.size, l.zeroed, l.step, l.begun = end, s.size, end, firstStep, headerSize
}

// sweep removes the segments that were cut off. What took their place is durable; whether their removal is matters to
// nobody. Those that cannot be removed take space until the next sweep, and are no part of the log.
func (l *Log) sweep() {
	l.mu.Lock()
	names := l.dropped
	l.dropped = nil
	unused := l.dropLookups()
	l.mu.Unlock()
	for _, c := range unused {
		_ = c.leave() // it was only read
	}
	left := slices.DeleteFunc(names, func(name string) bool {
		err := l.dir.Remove(name)
		return err == nil || errors.Is(err, fs.ErrNotExist)
	})
	l.mu.Lock()
	l.dropped = append(l.dropped, left...)
	l.mu.Unlock()
}
