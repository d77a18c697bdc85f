// Package rowsum computes a checksum of rows that does not depend on their order.
//
// The sum of a row is the XXH3-128 of its line of CSV, as PostgreSQL's COPY … (FORMAT csv) prints it, with the line
// feed at its end. The sum of several rows is the sum of theirs modulo 2^128. So the sums of the parts of a table add
// up to the sum of the table, whatever the parts, and equal rows count as often as they occur:
//
//	var table rowsum.Adder
//	for _, line := range lines {
//		table.Line(line)
//	}
//	fmt.Println(table.Sum)
//
// It detects accidents. Two multisets of rows differ by a count d(x) for some rows x, and have the same sum if
// Σ d(x) · h(x) is 0 modulo 2^128. If XXH3 behaves like a random function h, and 2^k is the largest power of two that
// divides all d(x), then that sum is any multiple of 2^k with the same probability, so it is 0 with 2^k · 2^-128. This
// is 2^-128 if no row occurs twice. Since 2^k is at most the number of rows n, it is never more than n · 2^-128: 2^-98
// for 10^9 equal rows that were exchanged for as many others. The sum does not detect an attacker, who can choose
// rows for any sum.
package rowsum

import (
	"encoding/binary"
	"encoding/hex"
	"errors"
	"math/bits"

	"github.com/zeebo/xxh3"
)

const size = 16 // bytes of a Sum

// Sum is the sum of rows. The zero value is the sum of none. Equal sums are ==.
type Sum struct{ hi, lo uint64 }

// Add adds the sum of other rows.
func (s *Sum) Add(other Sum) { s.add(other.hi, other.lo) }

func (s *Sum) add(hi, lo uint64) {
	var carry uint64
	s.lo, carry = bits.Add64(s.lo, lo, 0)
	s.hi, _ = bits.Add64(s.hi, hi, carry)
}

// String returns the sum as 32 hexadecimal digits, the most significant first.
func (s Sum) String() string {
	var number [size]byte
	binary.BigEndian.PutUint64(number[:8], s.hi)
	binary.BigEndian.PutUint64(number[8:], s.lo)
	return hex.EncodeToString(number[:])
}

// Parse reads what String returns.
func Parse(text string) (Sum, error) {
	number, err := hex.DecodeString(text)
	if err == nil && len(number) == size {
		s := Sum{hi: binary.BigEndian.Uint64(number[:8]), lo: binary.BigEndian.Uint64(number[8:])}
		if s.String() == text {
			return s, nil
		}
	}
	return Sum{}, errors.New("rowsum: not 32 hexadecimal digits in lower case")
}

// Adder computes the Sum of rows, which may come in parts. The zero value is ready. It must be used by one goroutine at
// a time, and retains no text.
type Adder struct {
	Sum Sum // of all rows that are complete

	parts *xxh3.Hasher // of a row in parts; made for the first one, as it takes more than 1 KiB
}

// Of returns the sum of one row. The line includes its line feed.
func Of(line []byte) Sum {
	hash := xxh3.Hash128(line)
	return Sum{hash.Hi, hash.Lo}
}

// Line adds a whole row. The line includes its line feed.
func (a *Adder) Line(line []byte) { a.Sum.Add(Of(line)) }

// Part takes the next part of a row, which EndLine completes.
func (a *Adder) Part(text []byte) {
	if a.parts == nil {
		a.parts = xxh3.New()
	}
	_, _ = a.parts.Write(text) // never fails
}

// EndLine adds the row whose parts were passed to Part.
func (a *Adder) EndLine() {
	a.Part(nil)
	hash := a.parts.Sum128()
	a.Sum.add(hash.Hi, hash.Lo)
	a.parts.Reset()
}

// Reset forgets all rows. It keeps memory.
func (a *Adder) Reset() {
	a.Sum = Sum{}
	if a.parts != nil {
		a.parts.Reset()
	}
}
