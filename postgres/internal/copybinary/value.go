package copybinary

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"math"
	"strconv"

	"culvert/internal/canonical"
	"culvert/source"
)

// text leaves it to the server whether the bytes are valid in the encoding of the client, as it does for CSV.
func text(dst []byte, kind source.Kind, value []byte) ([]byte, bool) {
	return append(dst, value...), kind != source.Bytes
}

// versionOfJSONB begins each value of jsonb.
const versionOfJSONB = 1

func jsonb(dst []byte, kind source.Kind, value []byte) ([]byte, bool) {
	return text(append(dst, versionOfJSONB), kind, value)
}

func octets(dst []byte, kind source.Kind, value []byte) ([]byte, bool) {
	if kind == source.Bytes {
		return append(dst, value...), true
	}
	digits, isHex := bytes.CutPrefix(value, []byte(`\x`))
	if !isHex {
		return dst, false
	}
	dst, err := hex.AppendDecode(dst, digits)
	return dst, err == nil
}

func boolean(dst []byte, kind source.Kind, value []byte) ([]byte, bool) {
	if kind == source.Bytes {
		return dst, false
	}
	switch string(value) {
	case "t", "true":
		return append(dst, 1), true
	case "f", "false":
		return append(dst, 0), true
	}
	return dst, false
}

// integer is a whole number of 16, 32 or 64 bits.
func integer(bits int) column {
	return func(dst []byte, kind source.Kind, value []byte) ([]byte, bool) {
		n, ok := parseInteger(value)
		if !ok || kind == source.Bytes || n<<(64-bits)>>(64-bits) != n {
			return dst, false
		}
		switch bits {
		case 16:
			return binary.BigEndian.AppendUint16(dst, uint16(n)), true
		case 32:
			return binary.BigEndian.AppendUint32(dst, uint32(n)), true
		}
		return binary.BigEndian.AppendUint64(dst, uint64(n)), true
	}
}

func natural(dst []byte, kind source.Kind, value []byte) ([]byte, bool) {
	n, ok := parseInteger(value)
	if !ok || kind == source.Bytes || n < 0 || n > math.MaxUint32 {
		return dst, false
	}
	return binary.BigEndian.AppendUint32(dst, uint32(n)), true
}

// mostDigits are those of a number that fits 64 bits, whatever they are.
const mostDigits = 18

func parseInteger(value []byte) (n int64, ok bool) {
	digits := bytes.TrimPrefix(value, []byte{'-'})
	if len(digits) == 0 {
		return 0, false
	}
	if len(digits) > mostDigits {
		n, err := strconv.ParseInt(string(value), 10, 64)
		return n, err == nil && value[0] != '+'
	}
	for _, c := range digits {
		if c < '0' || c > '9' {
			return 0, false
		}
		n = n*10 + int64(c-'0')
	}
	if len(digits) < len(value) {
		n = -n
	}
	return n, true
}

// float is a number of 32 or 64 bits. The server refuses what is too large or too small.
func float(bits int) column {
	return func(dst []byte, kind source.Kind, value []byte) ([]byte, bool) {
		number, ok := parseFloat(value, bits)
		switch {
		case !ok || kind == source.Bytes:
			return dst, false
		case bits == 32:
			return binary.BigEndian.AppendUint32(dst, math.Float32bits(float32(number))), true
		}
		return binary.BigEndian.AppendUint64(dst, math.Float64bits(number)), true
	}
}

func parseFloat(value []byte, bits int) (number float64, ok bool) {
	switch string(value) {
	case "NaN":
		return math.NaN(), true
	case "Infinity":
		return math.Inf(1), true
	case "-Infinity":
		return math.Inf(-1), true
	}
	for _, c := range value { // ParseFloat reads more, such as 0x1p-2
		if (c < '0' || c > '9') && c != '.' && c != '-' && c != '+' && c != 'e' && c != 'E' {
			return 0, false
		}
	}
	number, err := strconv.ParseFloat(string(value), bits)
	if err != nil || number == 0 && bytes.ContainsAny(value, "123456789") {
		return 0, false
	}
	return number, true
}

func uuid(dst []byte, kind source.Kind, value []byte) ([]byte, bool) {
	if kind == source.Bytes {
		return dst, false
	}
	return canonical.AppendUUID(dst, value)
}
