package wal

import (
	"bytes"
	"cmp"
	"errors"
	"io"

	"culvert/internal/disk"
)

const (
	readSize = 64 << 10 // of a segment at a time
	tailSize = 1 << 20  // of the end of a log; from a disk, up to twice as fast
)

// scanner reads the records of a segment in order.
type scanner struct {
	segment *segment
	file    disk.File
	next    LSN   // of the next record
	offset  int64 // where it begins
	limit   int64 // all records end before it
	buffer  []byte
	unread  []byte // the part of the buffer from offset on
	nonce   nonce
	marking int64 // the index takes the next mark from this offset on
}

// newScanner returns a scanner at the first record. The caller closes the file.
func newScanner(s *segment, file disk.File, buffer []byte) *scanner {
	return &scanner{segment: s, file: file, next: s.base, offset: headerSize, limit: s.size, buffer: buffer}
}

// scan returns the next record, checked but still sealed. It is valid until the next call. The verdict is good, bad, or
// zeros at an end. Errors are those of reading the file.
func (s *scanner) scan() (frame, verdict, error) {
	f, v, err := s.peek()
	if v == good && err == nil {
		s.next++
		s.advance(f.size)
	}
	return f, v, err
}

// peek is like scan, but does not move.
func (s *scanner) peek() (frame, verdict, error) {
	for {
		f, v := s.segment.parse(s.unread, s.next, s.limit-s.offset)
		if v != more {
			return f, v, nil
		}
		short, err := s.fill(int(f.size))
		switch {
		case err != nil:
			return f, bad, err
		case short && isZero(s.unread):
			return f, zeros, nil // the file is shorter than its segment
		case short:
			return f, bad, nil
		}
	}
}

// unseal returns the payload of the record that was just read, decrypted in place.
func (s *scanner) unseal(f frame) ([]byte, error) {
	if s.segment.keys == nil {
		return f.payload, nil
	}
	payload, err := s.segment.keys.aead.Open(f.payload[:0], s.nonce.set(f.lsn), f.payload, f.head)
	if err != nil {
		return nil, &SegmentError{
			Segment: s.segment.path, Offset: s.offset - f.size, LSN: f.lsn,
			Reason: "authentication failed", Err: ErrCorrupt,
		}
	}
	return payload, nil
}

func (s *scanner) advance(n int64) {
	s.offset += n
	s.unread = s.unread[n:]
}

// fill reads until at least need bytes are unread, or reports that the file is shorter.
func (s *scanner) fill(need int) (short bool, err error) {
	if need > len(s.buffer) {
		// The need is at most the size of the segment, but may still be wrong, so the size of the file is checked
		// first.
		size, err := s.file.Size()
		if err != nil {
			return false, s.errorAt(err)
		}
		if s.offset+int64(need) > size {
			need = int(max(0, size-s.offset))
			short = true
		}
		if grown := max(need, readSize); grown > len(s.buffer) {
			buffer := make([]byte, grown)
			s.unread = buffer[:copy(buffer, s.unread)]
			s.buffer = buffer
		}
	}
	n := copy(s.buffer, s.unread)
	read, err := s.file.ReadAt(s.buffer[n:], s.offset+int64(n))
	s.unread = s.buffer[:n+read]
	if err != nil && !errors.Is(err, io.EOF) {
		return false, s.errorAt(err)
	}
	return short || len(s.unread) < need, nil
}

// refresh discards data that was read ahead: the file may have grown.
func (s *scanner) refresh() { s.unread = nil }

// errorAt adds the place of the next record.
func (s *scanner) errorAt(err error) error {
	return &SegmentError{Segment: s.segment.path, Offset: s.offset, LSN: s.next, Err: err}
}

func (s *scanner) corrupt(reason string) error {
	return &SegmentError{Segment: s.segment.path, Offset: s.offset, LSN: s.next, Reason: reason, Err: ErrCorrupt}
}

// tail is the end of a segment that is not sealed.
type tail struct {
	last   LSN   // of the last complete group
	end    int64 // of that group
	proven LSN   // all entries up to it were durable
	torn   int64 // bytes behind the end, up to the last one that is not zero
}

// findTail reads a segment up to its last complete group. It fails with [ErrCorrupt] if durable records are missing.
func findTail(s *segment, file disk.File) (tail, error) {
	t := tail{last: s.base - 1, end: headerSize, proven: s.base - 1}
	scan := newScanner(s, file, make([]byte, min(s.size, tailSize)))
	for {
		if err := t.follow(scan); err != nil {
			return t, err
		}
		missing, place := scan.next, scan.offset
		damaged := scan.corrupt("it had been durable, as the header or a later record says")
		watermark, lastByte, err := scan.searchRest()
		if err != nil {
			return t, err
		}
		if max(watermark, t.proven, s.watermark) <= t.last {
			t.torn = max(0, lastByte-t.end)
			return t, nil
		}
		// Beside a writer, the record may have been written since.
		scan.next, scan.offset = missing, place
		scan.refresh()
		if _, v, err := scan.peek(); err != nil || v != good {
			return t, cmp.Or(err, damaged)
		}
	}
}

// follow reads the next good records.
func (t *tail) follow(scan *scanner) error {
	for {
		scan.mark()
		f, v, err := scan.scan()
		if err != nil || v != good {
			return err
		}
		t.proven = max(t.proven, f.watermark)
		if f.groupEnd {
			t.last, t.end = f.lsn, scan.offset
		}
	}
}

// searchRest searches for records behind a place without the record that should be there. It returns their highest
// watermark, and the offset behind the last byte of the segment that is not zero.
//
// With the salt, payloads can be filled with heads that each claim the rest of the segment. If more than a few times
// the segment would have to be read, the search ends undecided, which counts as damage.
func (s *scanner) searchRest() (watermark LSN, lastByte int64, err error) {
	missing, doubtful := s.next, 4*s.segment.size
	undecided := s.corrupt("too much behind it looks like records")
	lastByte = s.offset
	for s.limit-s.offset >= alignment {
		if len(s.unread) < recordHead {
			short, err := s.fill(recordHead)
			if err != nil {
				return 0, 0, err
			}
			if short && len(s.unread) < alignment {
				if !isZero(s.unread) {
					lastByte = s.offset + int64(len(s.unread))
				}
				return watermark, lastByte, nil
			}
		}
		if isZero(s.unread[:alignment]) {
			s.skipZeros()
			continue
		}
		lastByte = s.offset + alignment
		if lsn, ok := s.plausible(missing); ok {
			s.next = lsn
			f, v, err := s.peek()
			if err != nil {
				return 0, 0, err
			}
			if v == good {
				watermark = max(watermark, f.watermark)
				s.advance(f.size)
				lastByte = s.offset
				continue
			}
			if doubtful -= f.size; doubtful < 0 {
				return 0, 0, undecided
			}
		}
		s.advance(alignment)
	}
	return watermark, lastByte, nil
}

// plausible reports whether a record with an LSN from missing on could begin here. It does not check the checksum.
func (s *scanner) plausible(missing LSN) (LSN, bool) {
	if len(s.unread) < recordHead {
		return 0, false
	}
	f := frameHead(s.unread)
	farthest := missing + LSN(s.segment.size/recordHead)
	return f.lsn, bytes.Equal(s.unread[10:16], s.segment.salt[:6]) && f.lsn >= missing && f.lsn <= farthest &&
		f.watermark < f.lsn && f.size <= s.limit-s.offset
}

// skipZeros skips eight zeros, or many at once, so that an almost empty segment takes no time.
func (s *scanner) skipZeros() {
	const many = 4096
	for len(s.unread) >= many && isZero(s.unread[:many]) {
		s.advance(many)
	}
	if len(s.unread) >= alignment && isZero(s.unread[:alignment]) {
		s.advance(alignment)
	}
}
