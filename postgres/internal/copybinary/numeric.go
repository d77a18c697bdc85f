package copybinary

import (
	"bytes"
	"encoding/binary"

	"culvert/source"
)

// A numeric is sent as the number of its groups of four decimal digits; the weight, so that the point is behind the
// first weight+1 groups; its sign; the number of digits after the point that it prints; and the groups. The server
// drops groups that are zero at either end (numeric_recv in numeric.c).
const (
	groupDigits = 4
	groupSize   = 2
	headSize    = 8

	negative   = 0x4000
	notANumber = 0xC000

	// mostNumeric are the digits on either side of the point that are not left to CSV. There can be far more, but
	// hardly ever are.
	mostNumeric = 1000
)

func numeric(dst []byte, kind source.Kind, value []byte) ([]byte, bool) {
	if kind == source.Bytes {
		return dst, false
	}
	if string(value) == "NaN" {
		return appendHead(dst, 0, 0, notANumber, 0), true
	}
	sign, digits := 0, bytes.TrimPrefix(value, []byte{'-'})
	if len(digits) < len(value) {
		sign = negative
	}
	whole, fraction, hasPoint := bytes.Cut(digits, []byte{'.'})
	if len(whole) == 0 || hasPoint && len(fraction) == 0 || len(whole) > mostNumeric || len(fraction) > mostNumeric {
		return dst, false
	}
	groups := (len(whole) + groupDigits - 1) / groupDigits
	weight := groups - 1
	groups += (len(fraction) + groupDigits - 1) / groupDigits
	dst = appendHead(dst, groups, weight, sign, len(fraction))
	first := (len(whole)-1)%groupDigits + 1
	dst, ok := appendGroup(dst, whole[:first], 1)
	dst, wholeOK := appendGroups(dst, whole[first:])
	dst, fractionOK := appendGroups(dst, fraction)
	return dst, ok && wholeOK && fractionOK
}

func appendHead(dst []byte, groups, weight, sign, scale int) []byte {
	for _, field := range [headSize / 2]int{groups, weight, sign, scale} {
		dst = binary.BigEndian.AppendUint16(dst, uint16(field))
	}
	return dst
}

// appendGroups appends groups of digits, of which zeros complete the last.
func appendGroups(dst, digits []byte) ([]byte, bool) {
	ok := true
	for len(digits) > groupDigits && ok {
		dst, ok = appendGroup(dst, digits[:groupDigits], 1)
		digits = digits[groupDigits:]
	}
	if len(digits) > 0 && ok {
		scale := [groupDigits + 1]int{1: 1000, 2: 100, 3: 10, 4: 1}[len(digits)]
		dst, ok = appendGroup(dst, digits, scale)
	}
	return dst, ok
}

func appendGroup(dst, digits []byte, scale int) ([]byte, bool) {
	n := 0
	for _, c := range digits {
		if c < '0' || c > '9' {
			return dst, false
		}
		n = n*10 + int(c-'0')
	}
	return binary.BigEndian.AppendUint16(dst, uint16(n*scale)), true
}
