package format

import "encoding/binary"

// Values are looked through in words of eight bytes. Each function here gives a word with the highest bit set in the
// bytes that are looked for, the lowest of them exactly; above it there may be others. (Sean Eron Anderson, Bit
// Twiddling Hacks: haszero, hasless.)
const (
	ones     = 0x0101010101010101
	highBits = 0x8080808080808080
)

// word is the first eight bytes.
func word(b []byte) uint64 { return binary.LittleEndian.Uint64(b) }

func hasByte(w uint64, c byte) uint64 {
	x := w ^ ones*uint64(c)
	return (x - ones) &^ x & highBits
}

// everyByte is hasByte, and has exactly the bytes that are looked for.
func everyByte(w uint64, c byte) uint64 {
	x := w ^ ones*uint64(c)
	return ^(x&^uint64(highBits) + ^uint64(highBits) | x) & highBits
}

// hasLess looks for bytes below c, which is at most 0x80.
func hasLess(w uint64, c byte) uint64 {
	return (w - ones*uint64(c)) &^ w & highBits
}
