package wal

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
)

// LSN is the number of an entry in its log (log sequence number). 0 means none.
type LSN uint64

const (
	recordHead = 32
	alignment  = 8
	tagSize    = 16 // of AES-GCM

	flagGroupEnd = 1
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// frame is a record in a segment.
type frame struct {
	lsn, watermark LSN
	groupEnd       bool
	size           int64  // with head and padding
	head           []byte // without the checksum
	payload        []byte // as stored: sealed with a key
}

// frameSize returns the size of the record of a payload.
func frameSize(payload int, encrypted bool) int64 {
	size := int64(recordHead) + int64(payload)
	if encrypted {
		size += tagSize
	}
	return aligned(size)
}

func aligned(n int64) int64 { return (n + alignment - 1) &^ (alignment - 1) }

// appendFrame appends the record of a payload to b, which must have the capacity. An LSN must not be used twice, since
// it is the nonce.
func (s *segment) appendFrame(b []byte, f frame, payload []byte) []byte {
	size := frameSize(len(payload), s.encrypted)
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

// verdict says what is at a place where a record could begin.
type verdict int

const (
	good verdict = iota
	zeros
	bad
	more // frame.size bytes are needed to tell
)

// parse decodes the record with this LSN, of at most limit bytes, from the beginning of b. Everything else is bad.
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

// frameHead decodes the head of a record, unchecked.
func frameHead(b []byte) frame {
	return frame{
		size:      aligned(recordHead + int64(binary.LittleEndian.Uint32(b[4:]))),
		groupEnd:  b[8] == flagGroupEnd,
		lsn:       LSN(binary.LittleEndian.Uint64(b[16:])),
		watermark: LSN(binary.LittleEndian.Uint64(b[24:])),
	}
}

// isZero compares each byte with the next, which is as fast as comparing memory.
func isZero(b []byte) bool { return len(b) == 0 || b[0] == 0 && bytes.Equal(b[:len(b)-1], b[1:]) }
