// Package crc joins the checksums of consecutive pieces of a text into that of the text. So pieces can be hashed at the
// same time, and each only once.
//
//	joined := crc.NVME.Join()
//	joined.Append(first.Sum(nil), firstSize)
//	joined.Append(second.Sum(nil), secondSize)
//	sum := joined.Sum(nil) // that of both pieces, one after the other
//
// A checksum is a polynomial over GF(2) modulo the one of the CRC. To append n bytes to a text multiplies its checksum
// by the power 8n. That is a few thousand steps for each size of pieces, and 64 for each piece.
package crc

import (
	"encoding/binary"
	"hash/crc32"
)

// Polynomial is that of a CRC whose lowest coefficient is in the highest bit, and whose bits are inverted at both ends
// of a text.
type Polynomial struct {
	bits uint64
	one  uint64 // the polynomial 1: the highest bit
}

// The polynomials of CRC-32 (IEEE 802.3), CRC-32C and CRC-64/NVME.
var (
	IEEE       = Polynomial{crc32.IEEE, 1 << 31}
	Castagnoli = Polynomial{crc32.Castagnoli, 1 << 31}
	NVME       = Polynomial{0x9a6c9329ac4bc9b5, 1 << 63}
)

// multiply returns the product of two polynomials modulo the one of the CRC.
func (p Polynomial) multiply(a, b uint64) (product uint64) {
	for ; a != 0; a = a << 1 & (2*p.one - 1) {
		if a&p.one != 0 {
			product ^= b
		}
		low := b & 1
		b >>= 1
		if low != 0 {
			b ^= p.bits
		}
	}
	return product
}

// shift returns x to the power of the bits in n bytes.
func (p Polynomial) shift(n int64) uint64 {
	power, square := p.one, p.one>>8
	for ; n > 0; n >>= 1 {
		if n&1 != 0 {
			power = p.multiply(power, square)
		}
		square = p.multiply(square, square)
	}
	return power
}

// Join returns the checksum of an empty text, to which pieces can be appended.
func (p Polynomial) Join() *Joined { return &Joined{polynomial: p, shift: p.one} }

// Joined is the checksum of the pieces so far. Its methods must not be called concurrently.
type Joined struct {
	polynomial Polynomial
	value      uint64
	size       int64 // of the last piece
	shift      uint64
}

// Append appends a piece of size bytes that has this checksum, which has its most significant byte first.
func (j *Joined) Append(sum []byte, size int64) {
	if size != j.size {
		j.size, j.shift = size, j.polynomial.shift(size)
	}
	piece := uint64(0)
	for _, b := range sum {
		piece = piece<<8 | uint64(b)
	}
	j.value = j.polynomial.multiply(j.shift, j.value) ^ piece
}

// Sum appends the checksum to b, its most significant byte first.
func (j *Joined) Sum(b []byte) []byte {
	if j.polynomial.one>>32 == 0 {
		return binary.BigEndian.AppendUint32(b, uint32(j.value))
	}
	return binary.BigEndian.AppendUint64(b, j.value)
}
