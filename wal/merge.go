package wal

import (
	"errors"
	"fmt"

	"culvert/internal/disk"
)

// mergeSize is how many bytes of records Open joins at most.
const mergeSize = 256 << 10

// merge joins the short segments at the end of the log in a new one, so that a program that opens a log for each entry
// does not fill its directory with headers. Records that nothing proves durable are copied as in settle. A log whose
// records cannot be read, or that has no room for their copies, stays as it is. io is not needed yet.
func (l *Log) merge(t tail) (merged bool, err error) {
	run := l.shortRun()
	if len(run) < 2 {
		return false, nil
	}
	records, size, err := l.recordsOf(run, t)
	if err != nil {
		return false, nil //nolint:nilerr // damage before the end of the log is reported when it is read
	}
	if newest := run[len(run)-1]; !newest.sealed {
		if err := l.trimTail(newest, t); err != nil {
			return false, err
		}
	}
	base := run[0].base
	fill := func(into *segment, to disk.File) (int64, error) {
		b := make([]byte, 0, size)
		for _, r := range records {
			b = into.appendFrame(b, frame{lsn: r.LSN, watermark: base - 1, groupEnd: r.Last}, r.Data)
		}
		_, err := to.WriteAt(b, headerSize)
		return headerSize + size, err
	}
	room, err := l.begin(base, headerSize+size, fill)
	return room == nil, err
}

// shortRun returns the segments at the end of the log that can be joined: they leave half of a segment free, and
// nothing was cut off between them or from the first of them, so that a reader that knows them sees no cut.
func (l *Log) shortRun() []*segment {
	left := min(mergeSize, (l.options.SegmentSize-headerSize)/2)
	i := len(l.chain)
	for i > 0 {
		s := l.chain[i-1]
		left -= s.length - headerSize
		if left < 0 || s.cuts != l.cuts || s.base < l.first {
			break
		}
		i--
	}
	return l.chain[i:]
}

// trimTail frees the space that a segment has reserved behind its tail: it may be all that is left on the disk.
func (l *Log) trimTail(s *segment, t tail) error {
	file, err := l.dir.Open(s.name(), true)
	if err != nil {
		return fmt.Errorf("wal: %w", err)
	}
	trim(file, t.end)
	return file.Close()
}

// recordsOf returns the records of the segments at the end of the log, and the size that they take in another one.
func (l *Log) recordsOf(run []*segment, t tail) (records []Record, size int64, err error) {
	v := view{dir: l.dir, chain: run, first: run[0].base, last: t.last}
	c := newCursor(v.first, v)
	defer func() { err = errors.Join(err, c.leave()) }()
	for c.next <= v.last {
		r, err := c.read(v)
		if err != nil {
			return nil, 0, err
		}
		size += frameSize(len(r.Data), l.options.Key != nil)
		r.Data = append([]byte(nil), r.Data...)
		records = append(records, r)
	}
	return records, size, nil
}
