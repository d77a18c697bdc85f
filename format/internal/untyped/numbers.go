package untyped

import (
	"math"
	"math/big"
	"strconv"
)

// appendFloat appends a number as PostgreSQL prints it: the shortest one that reads back as the same.
func appendFloat(dst []byte, v float64, bits int) []byte {
	switch {
	case math.IsInf(v, 1):
		return append(dst, "Infinity"...)
	case math.IsInf(v, -1):
		return append(dst, "-Infinity"...)
	}
	most := 1e15
	if bits == 32 {
		most = 1e6
	}
	verb := byte('f')
	if abs := math.Abs(v); abs != 0 && abs < 1e-4 || abs >= most {
		verb = 'e'
	}
	return strconv.AppendFloat(dst, v, verb, -1, bits)
}

// float16 returns a number of IEEE 754 with 11 bits of precision.
func float16(v uint16) float64 {
	sign, exponent, fraction := 1.0, int(v>>10&0x1f), float64(v&0x3ff)
	if v>>15 != 0 {
		sign = -1
	}
	switch exponent {
	case 0:
		return math.Copysign(math.Ldexp(fraction, -24), sign)
	case 0x1f:
		if fraction != 0 {
			return math.NaN()
		}
		return math.Inf(int(sign))
	}
	return sign * math.Ldexp(fraction+1024, exponent-25)
}

// appendDecimal appends an integer with a point before its last digits.
func (p *Printer) appendDecimal(dst []byte, v int64) ([]byte, Reason) {
	var digits [20]byte
	unsigned := uint64(v)
	if v < 0 {
		dst, unsigned = append(dst, '-'), -unsigned
	}
	return p.appendDigits(dst, strconv.AppendUint(digits[:0], unsigned, 10))
}

// appendLargeDecimal is appendDecimal for a two's complement, the highest byte first.
func (p *Printer) appendLargeDecimal(dst, v []byte) ([]byte, Reason) {
	const word = 8
	for len(v) > word && (v[0] == 0 && v[1] < 0x80 || v[0] == 0xff && v[1] >= 0x80) {
		v = v[1:] // it only repeats the sign
	}
	if len(v) <= word {
		n := int64(0)
		if len(v) > 0 {
			n = int64(int8(v[0]))
			for _, b := range v[1:] {
				n = n<<8 | int64(b)
			}
		}
		return p.appendDecimal(dst, n)
	}
	if len(v) > MostDecimal {
		return dst, outOfRange
	}
	n := new(big.Int).SetBytes(v)
	if v[0]&0x80 != 0 {
		n.Sub(n, new(big.Int).Lsh(big.NewInt(1), uint(8*len(v))))
	}
	if n.Sign() < 0 {
		dst = append(dst, '-')
		n.Neg(n)
	}
	return p.appendDigits(dst, n.Append(nil, 10))
}

func (p *Printer) appendDigits(dst, digits []byte) ([]byte, Reason) {
	scale := p.Logical.Scale
	if len(digits)+p.Zeros > p.Logical.Precision && string(digits) != "0" {
		return dst, outOfRange
	}
	if scale == 0 {
		dst = append(dst, digits...)
		for range p.Zeros {
			if string(digits) != "0" {
				dst = append(dst, '0')
			}
		}
		return dst, ""
	}
	if len(digits) <= scale {
		dst = append(dst, '0', '.')
		for range scale - len(digits) {
			dst = append(dst, '0')
		}
		return append(dst, digits...), ""
	}
	whole := len(digits) - scale
	dst = append(append(dst, digits[:whole]...), '.')
	return append(dst, digits[whole:]...), ""
}
