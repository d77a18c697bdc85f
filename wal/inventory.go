package wal

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strings"

	"culvert/internal/disk"
)

// inventory describes the directory of a log.
type inventory struct {
	chain    []*segment   // of the log, oldest first
	others   []*segment   // all of whose records were cut off
	leavings []string     // names of unfinished segments
	foreign  string       // path of a file that is not part of a log; may be empty
	names    []string     // all of them
	newest   newestHeader // for loadBesideWriter
	first    LSN
	scanned  int  // segments that had to be read
	tail     tail // of the last segment of the chain
	damage   error
}

// load finds the segments of the log and reads the last one if it is not sealed. All other segments were durable before
// the next one began. With salvage, load continues after damage and keeps it; the chain ends before the damage. The map
// known, if not nil, holds headers that were read before.
func load(dir folder, key []byte, known headers, salvage bool) (*inventory, error) {
	inv := &inventory{first: 1}
	segments, err := inv.list(dir, key, known, salvage)
	if err != nil {
		return inv, err
	}
	if err := inv.link(segments); err != nil {
		if !salvage {
			return inv, err
		}
		inv.damage = errors.Join(inv.damage, err)
	}
	return inv, inv.check(dir, salvage)
}

// list reads the headers.
func (inv *inventory) list(dir folder, key []byte, known headers, salvage bool) ([]*segment, error) {
	names, err := dir.List()
	if err != nil {
		return nil, fmt.Errorf("wal: %w", err)
	}
	slices.Sort(names)
	inv.names = names
	var segments []*segment
	var foreign, gone error
	for _, name := range names {
		number, ok := segmentNumber(name)
		if !ok {
			switch {
			case isLeaving(name):
				inv.leavings = append(inv.leavings, name)
			case name != lockName:
				inv.foreign = dir.join(name)
			}
			continue
		}
		s, err := known.read(dir, number, key)
		switch {
		case err == nil:
			segments = append(segments, s)
		case known != nil && errors.Is(err, fs.ErrNotExist): // the next attempt needs the others
			gone = err
		case errors.Is(err, ErrForeign):
			foreign = cmp.Or(foreign, err)
		case salvage && errors.Is(err, ErrCorrupt):
			inv.damage = errors.Join(inv.damage, err)
		default:
			return nil, err
		}
	}
	if gone != nil {
		return nil, gone
	}
	if foreign != nil {
		foreign = foreignOrDamaged(foreign, len(segments) > 0)
		if !salvage || len(segments) == 0 {
			return nil, foreign
		}
		inv.damage = errors.Join(inv.damage, foreign)
	}
	return segments, sameLog(segments)
}

// isLeaving reports whether a name belongs to an unfinished segment.
func isLeaving(name string) bool {
	rest, ok := strings.CutSuffix(name, temporary)
	if ok {
		_, ok = segmentNumber(rest)
	}
	return ok
}

// strangerAmong returns a name of a directory that is not a log, so that not even a lock is made in it.
func strangerAmong(names []string) string {
	stranger := ""
	for _, name := range names {
		if _, ok := segmentNumber(name); ok || name == lockName {
			return ""
		}
		if !isLeaving(name) {
			stranger = name
		}
	}
	return stranger
}

func errNoLog(path string) error {
	return &SegmentError{Segment: path, Reason: "the directory is not empty, and no log", Err: ErrForeign}
}

// foreignOrDamaged returns the error for a file that is named like a segment and lacks the magic. Among segments, it is
// a damaged one.
func foreignOrDamaged(err error, amongSegments bool) error {
	var e *SegmentError
	if amongSegments && errors.As(err, &e) {
		return &SegmentError{Segment: e.Segment, Reason: "both headers", Err: ErrCorrupt}
	}
	return err
}

// sameLog finds a segment of another log. The log is the one with most segments, or else the oldest.
func sameLog(segments []*segment) error {
	counts := map[[16]byte]int{}
	var own *segment
	for _, s := range segments {
		counts[s.log]++
	}
	for _, s := range segments {
		if own == nil || counts[s.log] > counts[own.log] {
			own = s
		}
	}
	for _, s := range segments {
		if s.log != own.log {
			reason := "it is of another log than " + own.name()
			return &SegmentError{Segment: s.path, LSN: s.base, Reason: reason, Err: ErrForeign}
		}
	}
	return nil
}

// readHeader reads the header of a segment.
func readHeader(dir folder, number uint64, key []byte) (s *segment, err error) {
	path := dir.join(segmentName(number))
	file, err := dir.Open(segmentName(number), false)
	if errors.Is(err, disk.ErrNotFile) {
		return nil, &SegmentError{Segment: path, Reason: "it is not a regular file", Err: ErrForeign}
	}
	if err != nil {
		return nil, fmt.Errorf("wal: %w", err)
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	b := make([]byte, headerSize)
	if _, err := file.ReadAt(b, 0); err != nil && !errors.Is(err, io.EOF) {
		return nil, &SegmentError{Segment: path, Err: err}
	}
	h, slot, err := parseHeader(b)
	if err == nil && h.number != number {
		err = ErrCorrupt
	}
	if err != nil {
		return nil, &SegmentError{Segment: path, Reason: "both headers", Err: err}
	}
	if s, err = newSegment(dir.path, h, key); err != nil {
		return nil, err
	}
	size, err := file.Size()
	if err != nil {
		return nil, &SegmentError{Segment: path, Err: err}
	}
	s.length = min(size, h.size)
	if err := s.checkKeys(b[slot*slotSize:][:slotSize], key); err != nil {
		return nil, &SegmentError{Segment: path, Offset: int64(slot) * slotSize, Err: err}
	}
	return s, nil
}

// link finds the chain: if two segments have the same LSN, the one with the higher number counts.
func (inv *inventory) link(segments []*segment) error {
	for _, s := range segments {
		inv.first = max(inv.first, s.first)
	}
	limit := ^LSN(0)
	for i, s := range slices.Backward(segments) {
		if s.base > limit || limit < inv.first && i != len(segments)-1 {
			inv.others = append(inv.others, s)
			continue
		}
		inv.chain = append(inv.chain, s)
		limit = s.base - 1
	}
	slices.Reverse(inv.chain)
	slices.Reverse(inv.others)
	if len(inv.chain) == 0 {
		return nil
	}
	if oldest := inv.chain[0]; oldest.base > inv.first {
		return missing(oldest, inv.first, "the segments before it are missing")
	}
	for i, s := range inv.chain[1:] {
		if s.previous != inv.chain[i].salt {
			inv.chain = inv.chain[:i+1]
			return missing(s, s.base-1, "a segment before it is missing")
		}
	}
	return nil
}

func missing(s *segment, lsn LSN, reason string) error {
	return &SegmentError{Segment: s.path, LSN: lsn, Reason: reason, Err: ErrCorrupt}
}

// check checks that sealed segments reach to the next one, and finds the end of the last. With salvage, it shortens the
// chain to the intact part.
func (inv *inventory) check(dir folder, salvage bool) error {
	for i, s := range inv.chain {
		last := i == len(inv.chain)-1
		if !last && !s.sealed {
			continue
		}
		t, err := inv.tailOf(dir, s, salvage)
		if err == nil && !last && t.last < inv.chain[i+1].base-1 {
			err = &SegmentError{
				Segment: s.path, Offset: t.end, LSN: t.last + 1, Reason: "it ends too early", Err: ErrCorrupt,
			}
		}
		if err == nil && last && t.last < inv.first-1 {
			err = missing(s, t.last+1, "the log ends before its first entry")
		}
		if err != nil && (!salvage || !errors.Is(err, ErrCorrupt)) {
			return err
		}
		if err != nil || last {
			inv.damage = errors.Join(inv.damage, err)
			inv.tail, s.length = t, t.end
			inv.chain = inv.chain[:i+1]
			break
		}
	}
	return nil
}

// tailOf returns the end of a segment, from its header if it is sealed, or else by reading it.
func (inv *inventory) tailOf(dir folder, s *segment, salvage bool) (t tail, err error) {
	file, err := dir.Open(s.name(), false)
	if err != nil {
		return tail{}, fmt.Errorf("wal: %w", err)
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	if !s.sealed {
		inv.scanned++
		return findTail(s, file)
	}
	size, err := file.Size()
	if err == nil && size < s.end && !salvage {
		err = &SegmentError{Segment: s.path, Offset: size, Reason: "the file is cut off", Err: ErrCorrupt}
	}
	return tail{last: s.watermark, end: s.end, proven: s.watermark}, err
}

// recovery describes the log.
func (inv *inventory) recovery() Recovery {
	if len(inv.chain) == 0 {
		return Recovery{First: inv.first, Last: inv.first - 1, Clean: true}
	}
	newest := inv.chain[len(inv.chain)-1]
	return Recovery{
		First: inv.first, Last: inv.tail.last, Clean: newest.sealed, Torn: inv.tail.torn, Scanned: inv.scanned,
		Unproven: uint64(inv.tail.last - max(inv.tail.proven, newest.watermark)),
	}
}
