package catalog

import (
	"database/sql/driver"
	"fmt"
	"strconv"
	"strings"

	"culvert/source"
)

// Decoder is how the values of a column are read.
type Decoder uint8

const (
	text Decoder = iota
	number
	year
	bits
	binary

	// JSON is how JSON is read, also if its type is text with a check.
	JSON
)

// DecoderOf returns the decoder for a type as the driver names it. The driver names text and bytes differently, by the
// character set that the server reports.
func DecoderOf(typeName string, isJSON bool) Decoder {
	name := strings.TrimPrefix(typeName, "UNSIGNED ")
	switch name {
	case "TINYINT", "SMALLINT", "MEDIUMINT", "INT", "BIGINT", "DECIMAL", "FLOAT", "DOUBLE":
		return number
	case "YEAR":
		return year
	case "BIT":
		return bits
	case "JSON":
		return JSON
	case "TINYBLOB", "BLOB", "MEDIUMBLOB", "LONGBLOB", "BINARY", "VARBINARY", "GEOMETRY", "VECTOR":
		return binary
	}
	if isJSON {
		return JSON
	}
	return text
}

// IsText reports whether the server converts the values from a character set.
func (d Decoder) IsText() bool { return d == text }

var kinds = [...]source.Kind{
	text: source.Text, number: source.Number, year: source.Number, bits: source.Number, binary: source.Bytes,
	JSON: source.JSON,
}

// Append adds a value of the driver to the batch. The scratch is memory that is used again.
func (d Decoder) Append(b *source.Batch, value driver.Value, scratch *[]byte) error {
	switch x := value.(type) {
	case nil:
		b.AppendNull()
	case []byte:
		if d == bits {
			*scratch = strconv.AppendUint((*scratch)[:0], bitsOf(x), 10)
			x = *scratch
		}
		b.Append(kinds[d], x)
	case int64:
		if d == year && x == 0 {
			b.Append(source.Number, []byte("0000"))
			return nil
		}
		b.AppendInt(x)
	case uint64:
		*scratch = strconv.AppendUint((*scratch)[:0], x, 10)
		b.Append(source.Number, *scratch)
	case float64:
		b.AppendFloat(x)
	case float32:
		// With the digits of a FLOAT, not of a DOUBLE.
		*scratch = strconv.AppendFloat((*scratch)[:0], float64(x), 'g', -1, 32)
		b.Append(source.Number, *scratch)
	case string:
		*scratch = append((*scratch)[:0], x...)
		b.Append(kinds[d], *scratch)
	default:
		return fmt.Errorf("the driver returned a value of type %T", value)
	}
	return nil
}

// bitsOf reads a BIT of at most eight bytes in big-endian order.
func bitsOf(x []byte) uint64 {
	var v uint64
	for _, c := range x {
		v = v<<8 | uint64(c)
	}
	return v
}
