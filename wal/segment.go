package wal

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"slices"

	"culvert/internal/disk"
)

// advance replaces the active segment by a new one for the records from base on. All records before base are durable.
// Appenders wait; without room for the new segment, they may continue in the active one. io is held.
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

// trim frees the space that a segment has reserved behind its records. If it fails, the space is lost until the segment
// is removed, which does not harm the log.
func trim(file disk.File, end int64) { _ = file.Truncate(end) }

// spare returns the space that is reserved behind a segment for the one that [Open] begins after a kill on a full disk:
// for its headers and the unproven records. With Each they are few, with other modes possibly all of the segment.
func (o *Options) spare(size int64) int64 {
	switch {
	case o.copy:
		return 0
	case o.Sync == Each:
		return headerSize + size/16
	}
	return headerSize + size
}

// resume lets appenders continue in the active segment. io is held.
func (l *Log) resume() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.active, l.halted = l.kept, false
}

// sealActive writes the end of the active segment to its header, and frees the space behind it. All records are
// durable. io is held.
func (l *Log) sealActive() error {
	if l.file == nil || len(l.chain) == 0 { // the chain is empty if there was no room to restart
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

// writeHeader makes a changed header durable in the slot without the former one. Then it replaces the former one, too,
// without a sync, so that damage to one slot does not restore the former header. It must not be used on a segment of an
// earlier process, whose headers may not be durable.
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

// begin creates the segment for the records from base on, and makes it the active one. If the disk has no room for the
// size of the options, the segment may be as small as least. If there are records already, fill writes them and returns
// their end. io is held. A segment that cannot even be created is a lack of room, and no failure of the log.
func (l *Log) begin(base LSN, least int64, fill func(*segment, disk.File) (end int64, err error)) (room, err error) {
	if err := l.lock.Held(); err != nil {
		return nil, err // the directory may be that of another log now
	}
	size := max(l.options.SegmentSize, least)
	room, err = l.create(base, size, size+l.options.spare(size), fill)
	if room != nil && least < size { // with room for another small one, if possible
		room, err = l.create(base, least, 2*least, fill)
	}
	if room != nil && least < size {
		room, err = l.create(base, least, least, fill)
	}
	return room, err
}

// create is begin for one size and one reserve.
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

// publish makes a segment durable under its name. It opens the file again, since not all systems rename open files.
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

// newSegment makes the header of the segment for the records from base on. It is filled if there are some already.
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

// activate makes a segment the active one. This cuts off records from its base on in other segments. An empty segment
// continues the log at its base; all records before it are durable.
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

// sweep removes segments that were cut off. Their successors are durable; the removal need not be. Segments that cannot
// be removed take space until the next sweep, and are not part of the log.
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
