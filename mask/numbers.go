package mask

import (
	"bytes"
	"encoding/binary"
	"math"
	"math/bits"
	"slices"
	"strconv"

	"culvert/source"
)

// decimal is a number as databases print it. Its digits without the point are an integer.
type decimal struct {
	negative bool
	digits   uint64
	scale    int  // digits after the point
	large    bool // it has more digits than an integer holds
	exponent bool
}

// parse reports whether the text is a number.
func (d *decimal) parse(text []byte) bool {
	*d = decimal{}
	if len(text) > 0 && (text[0] == '-' || text[0] == '+') {
		d.negative, text = text[0] == '-', text[1:]
	}
	point, count := -1, 0
	for i, b := range text {
		switch {
		case '0' <= b && b <= '9':
			high, low := bits.Mul64(d.digits, 10)
			sum, carry := bits.Add64(low, uint64(b-'0'), 0)
			d.digits, d.large = sum, d.large || high > 0 || carry > 0
			count++
		case b == '.' && point < 0:
			point = i
		case (b == 'e' || b == 'E') && count > 0:
			_, err := strconv.ParseInt(string(text[i+1:]), 10, 32)
			d.exponent, d.large = true, true
			return err == nil
		default:
			return false
		}
	}
	if point >= 0 {
		d.scale = len(text) - point - 1
	}
	return count > 0
}

// append appends the text.
func (d *decimal) append(dst []byte) []byte {
	if d.negative && d.digits != 0 {
		dst = append(dst, '-')
	}
	begin := len(dst)
	dst = appendInt(dst, d.digits)
	if d.scale == 0 {
		return dst
	}
	for len(dst)-begin <= d.scale {
		dst = append(dst, '0')
		copy(dst[begin+1:], dst[begin:len(dst)-1])
		dst[begin] = '0'
	}
	dst = append(dst, '0')
	at := len(dst) - 1 - d.scale
	copy(dst[at+1:], dst[at:len(dst)-1])
	dst[at] = '.'
	return dst
}

// isSpecial reports whether a number is none: NaN and the infinities.
func isSpecial(text []byte) bool {
	switch string(text) {
	case "NaN", "Infinity", "-Infinity", "inf", "-inf", "+Inf", "-Inf", "Inf":
		return true
	}
	return false
}

// newNumber rounds a number, or adds noise to it. Both keep its number of digits after the point, and its range.
func (r Rule) newNumber(k *Key, c source.Column) masking {
	noise := newCMAC(k, "noise")
	most := largest(c)
	var normal []byte
	return each(func(dst []byte, kind source.Kind, value []byte) (source.Kind, []byte, error) {
		if kind != source.Number && kind != source.Text {
			return kind, dst, errNotNumber
		}
		if isSpecial(value) || kind == source.Text && len(value) == 0 {
			return kind, append(dst, value...), nil
		}
		var d decimal
		switch valid := d.parse(value); {
		case !valid:
			return kind, dst, errNotNumber
		case d.large || c.Logical.Class == source.FloatClass || isStored(kind, c) && d.scale > 0 && d.digits >= exact:
			return r.float(dst, kind, value, noise, c)
		case r.part == "round":
			d.round(uint64(r.number))
		default:
			normal = appendNormal(normal[:0], value, 0) // equal numbers have the same noise
			d.add(share(noise.of(normal), r.number), most)
		}
		begin := len(dst)
		if dst = d.append(dst); isStored(kind, c) {
			dst = appendStored(dst[:begin], dst[begin:], c.Type != "")
		}
		return kind, dst, nil
	})
}

// isStored reports whether a value may be a number of SQLite in a column without a known type, or in a column of whole
// numbers, which may have fractions in SQLite. Such numbers are compared as they are printed.
func isStored(kind source.Kind, c source.Column) bool {
	return kind == source.Number && (c.Logical.Class == source.UnknownClass || c.Logical.Class == source.IntClass)
}

// exact is where numbers begin that may have more digits than a float64 can hold.
const exact = 1e15

// appendStored appends a decimal number as SQLite prints it in a column of isStored: without zeros at the end of its
// fraction. If the column has a type, and so the affinity NUMERIC or INTEGER, a fraction of 0 is left out. The number
// may be in the memory after dst.
func appendStored(dst, number []byte, numeric bool) []byte {
	point := bytes.IndexByte(number, '.')
	if point < 0 {
		return append(dst, number...)
	}
	number = bytes.TrimRight(number, "0")
	if point < len(number)-1 {
		return append(dst, number...)
	}
	if number = number[:point]; numeric {
		return append(dst, number...)
	}
	return append(append(dst, number...), '.', '0')
}

// scaleLimit is the most digits after the point that an integer holds with a digit before it.
const scaleLimit = 19

// round rounds to a multiple in the direction of zero, so that the number stays in its range.
func (d *decimal) round(multiple uint64) {
	if d.scale > scaleLimit {
		d.digits = 0 // it is less than 1
		return
	}
	for range d.scale {
		high, low := bits.Mul64(multiple, 10)
		if multiple = low; high > 0 {
			d.digits = 0 // the multiple is larger than the number
			return
		}
	}
	d.digits -= d.digits % multiple
}

// parts of noise in one percent.
const percent = 10_000

// share returns a number between -limit and limit percent, as a multiple of 1/(100*percent).
func share(sum []byte, limit int64) int64 {
	width := uint64(2*limit*percent + 1)
	return int64(binary.LittleEndian.Uint64(sum)>>16%width) - limit*percent
}

// add adds a share of the number, or takes it away if the sum would be too large.
func (d *decimal) add(share int64, most uint64) {
	size := uint64(max(share, -share))
	high, low := bits.Mul64(d.digits, size)
	difference, _ := bits.Div64(high, low, 100*percent)
	if sum := d.digits + difference; share > 0 && sum >= d.digits && sum <= most {
		d.digits = sum
		return
	}
	d.digits -= difference
}

// float is for numbers that an integer does not hold.
func (r Rule) float(
	dst []byte, kind source.Kind, value []byte, noise *cmac, c source.Column,
) (source.Kind, []byte, error) {
	if c.Logical.Class == source.DecimalClass && c.Logical.Precision > 0 {
		return kind, dst, errTooManyDigits
	}
	size := 64
	if c.Logical.Class == source.FloatClass {
		size = c.Logical.Bits
	}
	v, err := strconv.ParseFloat(string(value), size)
	if err != nil {
		return kind, dst, errNotNumber
	}
	if r.part == "round" {
		v = math.Trunc(v/float64(r.number))*float64(r.number) + 0 // a zero has no sign
	} else {
		var normal [64]byte
		sum := noise.of(strconv.AppendFloat(normal[:0], v, 'f', -1, size))
		part := v * float64(share(sum, r.number)) / (100 * percent)
		if math.Abs(v+part) > math.MaxFloat32 && size == 32 || math.IsInf(v+part, 0) {
			part = -part
		}
		v += part
	}
	stored := isStored(kind, c) // see appendStored
	if abs := math.Abs(v); stored && c.Type != "" && abs < math.MaxInt64 && v == math.Trunc(v) {
		return kind, strconv.AppendInt(dst, int64(v), 10), nil
	}
	verb, begin, least := byte('f'), len(dst), 1e15
	if stored {
		least = 1e17
	}
	if abs := math.Abs(v); abs != 0 && abs < 1e-4 || abs >= least {
		verb = 'e'
	}
	dst = strconv.AppendFloat(dst, v, verb, -1, size)
	if stored && bytes.IndexByte(dst[begin:], '.') < 0 {
		end := bytes.IndexByte(dst[begin:], 'e')
		if end < 0 {
			end = len(dst) - begin
		}
		dst = slices.Insert(dst, begin+end, '.', '0')
	}
	return kind, dst, nil
}
