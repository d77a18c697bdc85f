package parquet

import "encoding/binary"

// Levels and ids are written in runs, as the encoding RLE of the specification has them: a run is either one value that
// repeats, or groups of eight values of so many bits each.

// appendLevels appends the definition levels of a page, 1 for a value and 0 for NULL, with their size before them.
// A column without NULL has no levels.
func (s *scratch) appendLevels(dst []byte, c *column, rows, nulls int) []byte {
	if c.list != nil {
		return s.appendListLevels(dst, c)
	}
	if c.NotNull {
		return dst
	}
	size := len(dst)
	dst = append(dst, 0, 0, 0, 0)
	switch nulls {
	case 0:
		dst = append(binary.AppendUvarint(dst, uint64(rows)<<1), 1)
	case rows:
		dst = append(binary.AppendUvarint(dst, uint64(rows)<<1), 0)
	default:
		dst = binary.AppendUvarint(dst, uint64(len(s.present))<<1|1)
		dst = append(dst, s.present...)
	}
	binary.LittleEndian.PutUint32(dst[size:], uint32(len(dst)-size-4))
	return dst
}

// longRun is the number of equal ids from which on they are written as one value that repeats.
const longRun = 24

// appendIDs appends ids of so many bits.
func appendIDs(dst []byte, ids []uint32, width int) []byte {
	for len(ids) > 0 {
		if n := runOf(ids); n >= longRun || n == len(ids) {
			dst = binary.AppendUvarint(dst, uint64(n)<<1)
			for shift := 0; shift < width; shift += 8 {
				dst = append(dst, byte(ids[0]>>shift))
			}
			ids = ids[n:]
			continue
		}
		// Groups of eight up to the next long run; the last group may have too few values, and then is the last of all.
		n := 8
		for n < len(ids) && runOf(ids[n:min(len(ids), n+longRun)]) < longRun {
			n += 8
		}
		n = min(n, len(ids))
		dst = binary.AppendUvarint(dst, uint64((n+7)/8)<<1|1)
		dst = appendBits(dst, ids[:n], width)
		ids = ids[n:]
	}
	return dst
}

// runOf returns how many ids are equal to the first.
func runOf(ids []uint32) int {
	n := 1
	for n < len(ids) && ids[n] == ids[0] {
		n++
	}
	return n
}

// appendBits appends ids one after the other, the lowest bit first, up to a whole number of groups of eight.
func appendBits(dst []byte, ids []uint32, width int) []byte {
	var word uint64
	filled := 0
	for i := range (len(ids) + 7) / 8 * 8 {
		if i < len(ids) {
			word |= uint64(ids[i]) << filled
		}
		for filled += width; filled >= 8; filled -= 8 {
			dst = append(dst, byte(word))
			word >>= 8
		}
	}
	return dst
}
