package mysql

import (
	"database/sql/driver"
	"fmt"
	"strconv"
	"strings"

	"culvert/source"
)

// decoder is how the values of a column are read.
type decoder uint8

const (
	text decoder = iota
	number
	year
	bits
	binary
	json
)

// decoderOf returns the decoder for a type as the driver names it. The driver names text and bytes differently, by the
// character set that the server reports.
func decoderOf(typeName string, isJSON bool) decoder {
	name := strings.TrimPrefix(typeName, "UNSIGNED ")
	switch name {
	case "TINYINT", "SMALLINT", "MEDIUMINT", "INT", "BIGINT", "DECIMAL", "FLOAT", "DOUBLE":
		return number
	case "YEAR":
		return year
	case "BIT":
		return bits
	case "JSON":
		return json
	case "TINYBLOB", "BLOB", "MEDIUMBLOB", "LONGBLOB", "BINARY", "VARBINARY", "GEOMETRY", "VECTOR":
		return binary
	}
	if isJSON {
		return json
	}
	return text
}

var kinds = [...]source.Kind{
	text: source.Text, number: source.Number, year: source.Number, bits: source.Number, binary: source.Bytes,
	json: source.JSON,
}

// append adds a value of the driver to the batch.
func (r *rows) append(b *source.Batch, d decoder, value driver.Value) error {
	switch x := value.(type) {
	case nil:
		b.AppendNull()
	case []byte:
		if d == bits {
			r.scratch = strconv.AppendUint(r.scratch[:0], bitsOf(x), 10)
			x = r.scratch
		}
		b.Append(kinds[d], x)
	case int64:
		if d == year && x == 0 {
			b.Append(source.Number, []byte("0000"))
			return nil
		}
		b.AppendInt(x)
	case uint64:
		r.scratch = strconv.AppendUint(r.scratch[:0], x, 10)
		b.Append(source.Number, r.scratch)
	case float64:
		b.AppendFloat(x)
	case float32:
		// With the digits of a FLOAT, not of a DOUBLE.
		r.scratch = strconv.AppendFloat(r.scratch[:0], float64(x), 'g', -1, 32)
		b.Append(source.Number, r.scratch)
	case string:
		r.scratch = append(r.scratch[:0], x...)
		b.Append(kinds[d], r.scratch)
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
