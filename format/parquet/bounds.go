package parquet

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"math"
	"unicode/utf8"

	"culvert/source"
)

// bounds are the least and the greatest value of a page, as PLAIN stores them but without a length: by the order of
// the specification for the type of the column. Long ones are cut, the greatest one to a text that is greater.
//
// There are none if all values are NULL; nor if there is a NaN, which has no place in the order and which programs that
// trust the bounds would not find.
type bounds struct {
	least, most []byte
	known       bool
	cut         bool // one is not a value
}

const longestBound = 64

// find sets the bounds of values.
func (b *bounds) find(c *column, values []byte) {
	b.least, b.most, b.known, b.cut = b.least[:0], b.most[:0], false, false
	if len(values) == 0 {
		return
	}
	var least, most []byte
	switch c.physical {
	case boolean:
		b.known = true
		b.least = append(b.least, nearest(values, 0))
		b.most = append(b.most, nearest(values, 1))
		return
	case int32s, int64s:
		low, high := int64(math.MaxInt64), int64(math.MinInt64)
		for ; len(values) > 0; values = values[c.Size:] {
			v := c.intOf(values)
			low, high = min(low, v), max(high, v)
		}
		b.least, b.most, b.known = c.AppendInt(b.least, low), c.AppendInt(b.most, high), true
		return
	case floats, doubles:
		b.findFloats(c, values)
		return
	case fixed:
		least, most = values[:c.Size], values[:c.Size]
		for ; len(values) > 0; values = values[c.Size:] {
			v := values[:c.Size]
			if c.compare(v, least) < 0 {
				least = v
			} else if c.compare(v, most) > 0 {
				most = v
			}
		}
	case byteArray:
		least, most = boundsOfTexts(values)
	}
	b.set(c, least, most)
}

// boundsOfTexts returns the least and the greatest of values of any length. Most differ in their first bytes, which are
// compared as numbers.
func boundsOfTexts(values []byte) (least, most []byte) {
	low, high := uint64(math.MaxUint64), uint64(0)
	for first := true; len(values) > 0; first = false {
		n := binary.LittleEndian.Uint32(values)
		v := values[4 : 4+n]
		h := head(v)
		if h < low || h == low && (first || bytes.Compare(v, least) < 0) {
			least, low = v, h
		}
		if h > high || h == high && (first || bytes.Compare(v, most) > 0) {
			most, high = v, h
		}
		values = values[4+n:]
	}
	return least, most
}

// head returns the first eight bytes as a number, with zeros behind a shorter text. Two texts whose heads differ have
// the order of their heads.
func head(text []byte) uint64 {
	if len(text) >= 8 {
		return binary.BigEndian.Uint64(text)
	}
	var short [8]byte
	copy(short[:], text)
	return binary.BigEndian.Uint64(short[:])
}

// set sets the bounds to values, or to texts around them.
func (b *bounds) set(c *column, least, most []byte) {
	b.least, b.known = append(b.least[:0], least[:min(len(least), longestBound)]...), true
	b.most = append(b.most[:0], most[:min(len(most), longestBound)]...)
	if c.physical != byteArray {
		return
	}
	isText := c.Logical.Class != source.BytesClass
	if len(least) > longestBound {
		b.cut = true
		if isText {
			b.least = wholeRunes(b.least)
		}
	}
	if len(most) > longestBound {
		b.cut = true
		if isText {
			b.most, b.known = nextText(wholeRunes(b.most))
		} else {
			b.most, b.known = nextBytes(b.most)
		}
	}
}

// findFloats orders -0 before 0, as the specification advises: programs may take them for equal.
func (b *bounds) findFloats(c *column, values []byte) {
	low, high := math.Inf(1), math.Inf(-1)
	for ; len(values) > 0; values = values[c.Size:] {
		v := c.floatOf(values)
		if v != v {
			return
		}
		low, high = min(low, v), max(high, v)
	}
	if low == 0 {
		low = math.Copysign(0, -1)
	}
	if high == 0 {
		high = 0
	}
	b.least, b.most, b.known = c.AppendNumber(b.least, low), c.AppendNumber(b.most, high), true
}

func (c *column) intOf(value []byte) int64 {
	if c.physical == int32s {
		return int64(int32(binary.LittleEndian.Uint32(value)))
	}
	return int64(binary.LittleEndian.Uint64(value))
}

func (c *column) floatOf(value []byte) float64 {
	if c.physical == floats {
		return float64(math.Float32frombits(binary.LittleEndian.Uint32(value)))
	}
	return math.Float64frombits(binary.LittleEndian.Uint64(value))
}

// nearest returns a boolean if it is among the values, and otherwise the other one.
func nearest(values []byte, v byte) byte {
	if bytes.IndexByte(values, v) >= 0 {
		return v
	}
	return 1 - v
}

// compare compares two values, or bounds, by the order of the column.
func (c *column) compare(a, b []byte) int {
	switch c.physical {
	case int32s, int64s:
		return cmp.Compare(c.intOf(a), c.intOf(b))
	case floats, doubles:
		return cmp.Compare(c.floatOf(a), c.floatOf(b))
	case fixed:
		if c.Logical.Class == source.DecimalClass && a[0] != b[0] {
			return cmp.Compare(int8(a[0]), int8(b[0])) // the sign
		}
	}
	return bytes.Compare(a, b)
}

// wholeRunes leaves out the beginning of a character at the end of a text.
func wholeRunes(text []byte) []byte {
	for back := 1; back < utf8.UTFMax && back <= len(text); back++ {
		if i := len(text) - back; utf8.RuneStart(text[i]) {
			if !utf8.FullRune(text[i:]) {
				return text[:i]
			}
			break
		}
	}
	return text
}

// nextText makes a text one that is greater than all that begin with it: its last character becomes the next one. It
// fails if there is none.
func nextText(text []byte) ([]byte, bool) {
	for len(text) > 0 {
		last, size := utf8.DecodeLastRune(text)
		text = text[:len(text)-size]
		if last++; last == 0xD800 {
			last = 0xE000 // what is between them are no characters
		}
		if last <= utf8.MaxRune {
			return utf8.AppendRune(text, last), true
		}
	}
	return text, false
}

// nextBytes is nextText for binary data.
func nextBytes(data []byte) ([]byte, bool) {
	for i := len(data) - 1; i >= 0; i-- {
		if data[i]++; data[i] != 0 {
			return data[:i+1], true
		}
	}
	return data, false
}

// The forms of bounds in a block.
const (
	unknownBounds = 0
	exactBounds   = 1
	cutBounds     = 2
)

// append appends the form of the bounds, their lengths, of a byte each, and the bounds.
func (b *bounds) append(dst []byte) []byte {
	switch {
	case !b.known:
		return append(dst, unknownBounds)
	case b.cut:
		dst = append(dst, cutBounds)
	default:
		dst = append(dst, exactBounds)
	}
	dst = append(dst, byte(len(b.least)), byte(len(b.most)))
	return append(append(dst, b.least...), b.most...)
}
