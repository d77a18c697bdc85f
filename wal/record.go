package wal

import (
	"encoding/binary"
	"hash/crc32"
)

// LSN is the number of an entry in its log (log sequence number). The first is 1; 0 stands for none.
type LSN uint64

const (
	recordHead = 32
	alignment  = 8
	tagSize    = 16 // of AES-GCM

	flagGroupEnd = 1
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// frame is a record as it stands in a segment.
type frame struct {
	lsn, watermark LSN
	groupEnd       bool
	size           int64  // all of it, with head and padding
	head           []byte // without the checksum
	payload        []byte // as stored: perhaps sealed
}

// frameSize is the size of the record of a payload in a segment.
func (s *segment) frameSize(payload int) int64 {
	size := int64(recordHead) + int64(payload)
	if s.keys != nil {
		size += tagSize
	}
	return aligned(size)
}

func aligned(n int64) int64 { return (n + alignment - 1) &^ (alignment - 1) }

// appendFrame appends the record of a payload to b. The nonce of a sealed one is its LSN, so that an LSN must not be
// given twice. Memory for the record must be there.
func (s *segment) appendFrame(b []byte, f frame, payload []byte) []byte {
	size := s.frameSize(len(payload))
	begin := len(b)
	b = b[:begin+int(size)]
	r := b[begin:]
	stored := len(payload)
	if s.keys != nil {
		stored += tagSize
	}
	binary.LittleEndian.PutUint32(r[4:], uint32(stored))
	r[8], r[9] = 0, 0
	if f.groupEnd {
		r[8] = flagGroupEnd
	}
	copy(r[10:16], s.salt[:])
	binary.LittleEndian.PutUint64(r[16:], uint64(f.lsn))
	binary.LittleEndian.PutUint64(r[24:], uint64(f.watermark))
	copy(r[recordHead:], payload)
	if s.keys != nil {
		s.keys.seal(r[recordHead:recordHead+len(payload)], f.lsn, r[4:recordHead])
	}
	clear(r[recordHead+stored:])
	binary.LittleEndian.PutUint32(r, crc32.Update(s.seed, castagnoli, r[4:]))
	return b
}

// verdict is what there is at a place where a record could begin.
type verdict int

const (
	good verdict = iota
	zeros
	bad
	more // there are not enough bytes to tell; frame.size says how many are needed
)

// parse looks at the beginning of b for the record with this LSN, which may be at most limit bytes long. Anything that
// is not that record, whole and of this segment, is bad.
func (s *segment) parse(b []byte, want LSN, limit int64) (frame, verdict) {
	if limit < recordHead {
		return frame{}, zeros // no record fits here
	}
	if len(b) < recordHead {
		return frame{size: recordHead}, more
	}
	if isZero(b[:recordHead]) {
		return frame{}, zeros
	}
	f := frameHead(b)
	switch {
	case f.size > limit, f.lsn != want, f.watermark >= f.lsn:
		return f, bad
	case f.size > int64(len(b)):
		return f, more
	}
	b = b[:f.size]
	if binary.LittleEndian.Uint32(b) != crc32.Update(s.seed, castagnoli, b[4:]) {
		return f, bad
	}
	f.head = b[4:recordHead]
	f.payload = b[recordHead : recordHead+binary.LittleEndian.Uint32(b[4:])]
	return f, good
}

// frameHead reads the head of a record, unchecked.
func frameHead(b []byte) frame {
	return frame{
		size:      aligned(recordHead + int64(binary.LittleEndian.Uint32(b[4:]))),
		groupEnd:  b[8] == flagGroupEnd,
		lsn:       LSN(binary.LittleEndian.Uint64(b[16:])),
		watermark: LSN(binary.LittleEndian.Uint64(b[24:])),
	}
}

func isZero(b []byte) bool {
	for len(b) >= 8 {
		if binary.LittleEndian.Uint64(b) != 0 {
			return false
		}
		b = b[8:]
	}
	for _, c := range b {
		if c != 0 {
			return false
		}
	}
	return true
}
