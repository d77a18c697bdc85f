package format

import "encoding/binary"

// Values are searched in words of eight bytes. Each function here returns a word with the highest bit set in each byte
// that matches. The lowest set bit is exact; bits above it may be wrong. The method is haszero and hasless of Sean Eron
// Anderson's Bit Twiddling Hacks.
const (
	ones     = 0x0101010101010101
	highBits = 0x8080808080808080
)

// word returns the first eight bytes.
func word(b []byte) uint64 { return binary.LittleEndian.Uint64(b) }

func hasByte(w uint64, c byte) uint64 {
	x := w ^ ones*uint64(c)
	return (x - ones) &^ x & highBits
}

// everyByte is hasByte with all bits exact.
func everyByte(w uint64, c byte) uint64 {
	x := w ^ ones*uint64(c)
	return ^(x&^uint64(highBits) + ^uint64(highBits) | x) & highBits
}

// hasLess searches for bytes below c, which is at most 0x80.
func hasLess(w uint64, c byte) uint64 {
	return (w - ones*uint64(c)) &^ w & highBits
}
