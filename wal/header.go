package wal

import (
	"bytes"
	"crypto/hmac"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"path/filepath"
	"strconv"
	"strings"
)

const (
	slotSize   = 4096
	headerSize = 2 * slotSize

	formatVersion = 2
	magic         = "CULVERTW"

	flagSealed    = 1
	flagEncrypted = 2

	macOffset = 168
	macSize   = 32
	crcOffset = slotSize - 4

	farthest = 1 << 62 // no LSN or number is larger, so that sums do not overflow

	suffix    = ".wal"
	temporary = ".tmp"
	lockName  = "lock"
)

// header is the content of a slot.
type header struct {
	sealed, encrypted  bool
	log                [16]byte
	number, generation uint64
	base               LSN // of the first record of the segment
	first              LSN // of the first entry of the log
	salt, previous     [32]byte
	size               int64
	check              [8]byte
	watermark          LSN    // all entries up to it are durable, once the segment has its name; the last, once sealed
	end                int64  // once sealed
	cuts               uint64 // how often the end of the log was cut off before
}

// segment is a file of the log, with the state to read and write its records.
type segment struct {
	header
	path string       // for messages
	seed uint32       // of the checksums
	keys *segmentKeys // nil without encryption

	index  *index // of its records
	length int64  // of its header and records; in a Log, guarded by mu
}

// newSegment returns the segment with a header.
func newSegment(dir string, h header, master []byte) (*segment, error) {
	s := &segment{header: h, path: filepath.Join(dir, segmentName(h.number)), index: &index{}}
	s.seed = crc32.Update(0, castagnoli, h.salt[:])
	if !h.encrypted || master == nil {
		return s, nil
	}
	var err error
	s.keys, err = deriveKeys(master, &s.header)
	return s, err
}

// name returns the name of the file in the directory of the log.
func (s *segment) name() string { return segmentName(s.number) }

func segmentName(number uint64) string { return fmt.Sprintf("%016x%s", number, suffix) }

// segmentNumber returns the number in the name of a segment.
func segmentNumber(name string) (number uint64, ok bool) {
	digits, ok := strings.CutSuffix(name, suffix)
	if !ok || len(digits) != 16 {
		return 0, false
	}
	number, err := strconv.ParseUint(digits, 16, 64)
	return number, err == nil && segmentName(number) == name
}

// slot encodes the header.
func (s *segment) slot() []byte {
	b := make([]byte, slotSize)
	copy(b, magic)
	binary.LittleEndian.PutUint32(b[8:], formatVersion)
	flags := uint32(0)
	if s.sealed {
		flags |= flagSealed
	}
	if s.encrypted {
		flags |= flagEncrypted
	}
	binary.LittleEndian.PutUint32(b[12:], flags)
	copy(b[16:], s.log[:])
	binary.LittleEndian.PutUint64(b[32:], s.number)
	binary.LittleEndian.PutUint64(b[40:], s.generation)
	binary.LittleEndian.PutUint64(b[48:], uint64(s.base))
	binary.LittleEndian.PutUint64(b[56:], uint64(s.first))
	copy(b[64:], s.salt[:])
	copy(b[96:], s.previous[:])
	binary.LittleEndian.PutUint64(b[128:], uint64(s.size))
	copy(b[136:], s.check[:])
	binary.LittleEndian.PutUint64(b[144:], uint64(s.watermark))
	binary.LittleEndian.PutUint64(b[152:], uint64(s.end))
	binary.LittleEndian.PutUint64(b[160:], s.cuts)
	if s.keys != nil {
		copy(b[macOffset:], s.keys.mac(b[:macOffset]))
	}
	binary.LittleEndian.PutUint32(b[crcOffset:], crc32.Checksum(b[:crcOffset], castagnoli))
	return b
}

// slotOffset returns the place of the header of a generation.
func slotOffset(generation uint64) int64 { return int64(generation%2) * slotSize }

// parseSlot decodes a slot. It returns [ErrForeign] without the magic, [ErrCorrupt], or [ErrVersion]. In all versions,
// the magic, the version and the checksum have the same places.
func parseSlot(b []byte) (header, error) {
	switch {
	case string(b[:len(magic)]) != magic:
		return header{}, ErrForeign
	case binary.LittleEndian.Uint32(b[crcOffset:]) != crc32.Checksum(b[:crcOffset], castagnoli):
		return header{}, ErrCorrupt
	case binary.LittleEndian.Uint32(b[8:]) != formatVersion:
		return header{}, ErrVersion
	}
	flags := binary.LittleEndian.Uint32(b[12:])
	h := header{
		sealed:     flags&flagSealed != 0,
		encrypted:  flags&flagEncrypted != 0,
		log:        [16]byte(b[16:]),
		number:     binary.LittleEndian.Uint64(b[32:]),
		generation: binary.LittleEndian.Uint64(b[40:]),
		base:       LSN(binary.LittleEndian.Uint64(b[48:])),
		first:      LSN(binary.LittleEndian.Uint64(b[56:])),
		salt:       [32]byte(b[64:]),
		previous:   [32]byte(b[96:]),
		size:       int64(binary.LittleEndian.Uint64(b[128:])),
		check:      [8]byte(b[136:]),
		watermark:  LSN(binary.LittleEndian.Uint64(b[144:])),
		end:        int64(binary.LittleEndian.Uint64(b[152:])),
		cuts:       binary.LittleEndian.Uint64(b[160:]),
	}
	if h.base == 0 || h.first == 0 ||
		max(h.number, h.generation, uint64(h.base), uint64(h.first), uint64(h.watermark)) > farthest ||
		h.size < headerSize || h.size > maxSegmentSize ||
		h.sealed && (h.watermark < h.base-1 || h.end < headerSize || h.end > h.size) {
		return header{}, ErrCorrupt
	}
	return h, nil
}

// parseHeader returns the newer one of the intact slots.
func parseHeader(b []byte) (h header, slot int, err error) {
	first, errFirst := parseSlot(b[:slotSize])
	second, errSecond := parseSlot(b[slotSize:])
	switch {
	case errFirst == nil && (errSecond != nil || first.generation > second.generation):
		return first, 0, nil
	case errSecond == nil:
		return second, 1, nil
	case errFirst == ErrVersion || errSecond == ErrVersion:
		return header{}, 0, ErrVersion
	case errFirst == ErrForeign && errSecond == ErrForeign:
		return header{}, 0, ErrForeign
	}
	return header{}, 0, ErrCorrupt
}

// checkKeys checks that the header was made with a key.
func (s *segment) checkKeys(slot []byte, master []byte) error {
	switch {
	case s.encrypted != (master != nil):
		return ErrKey
	case master == nil:
		return nil
	}
	check, err := keyCheck(master, s.log)
	if err != nil {
		return err
	}
	if !bytes.Equal(check[:], s.check[:]) {
		return ErrKey
	}
	if !hmac.Equal(s.keys.mac(slot[:macOffset]), slot[macOffset:macOffset+macSize]) {
		return ErrCorrupt
	}
	return nil
}
