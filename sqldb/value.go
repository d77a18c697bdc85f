package sqldb

import (
	"database/sql"
	"encoding/hex"
	"encoding/json"
	"math"
	"strconv"
	"time"

	"culvert/source"
)

// value receives the values of one column from database/sql. Unlike other destinations, a Scanner gets them without a
// copy.
type value struct {
	columnType
	batch   *source.Batch
	convert func(src any) (any, error) // nil, or the caller's
	scratch []byte
	inner   *value // for nested values
	depth   int    // how deep this value is nested
}

var _ sql.Scanner = (*value)(nil)

// Scan appends a value to the batch.
func (v *value) Scan(src any) error {
	if v.convert != nil && src != nil {
		var err error
		if src, err = v.convert(src); err != nil {
			return err
		}
	}
	return v.scan(src)
}

func (v *value) scan(src any) error {
	switch x := src.(type) {
	case nil:
		v.batch.AppendNull()
	case int64:
		v.batch.AppendInt(x)
	case float64:
		v.appendFloat(x)
	case bool:
		v.appendBool(x)
	case []byte:
		return v.appendBytes(x)
	case string:
		v.scratch = append(v.scratch[:0], x...)
		v.append(v.text, v.scratch)
	case time.Time:
		v.scratch = v.clock.appendTime(v.scratch[:0], x)
		v.append(source.Text, v.scratch)
	default:
		return v.scanOther(src)
	}
	return nil
}

func (v *value) appendFloat(x float64) {
	if v.single && float64(float32(x)) == x {
		v.appendSingle(float32(x))
		return
	}
	v.batch.AppendFloat(x)
}

// appendSingle appends a float32 with the digits of a float32, as PostgreSQL prints a real, with an exponent below 1e-4
// and from 1e6.
func (v *value) appendSingle(x float32) {
	abs := float32(math.Abs(float64(x)))
	if x != x || math.IsInf(float64(abs), 1) {
		v.batch.AppendFloat(float64(x))
		return
	}
	verb := byte('f')
	if abs != 0 && abs < 1e-4 || abs >= 1e6 {
		verb = 'e'
	}
	v.scratch = strconv.AppendFloat(v.scratch[:0], float64(x), verb, -1, 32)
	v.batch.Append(source.Number, v.scratch)
}

func (v *value) appendBool(x bool) {
	text := "f"
	if x {
		text = "t"
	}
	v.scratch = append(v.scratch[:0], text...)
	v.append(source.Bool, v.scratch)
}

// appendBytes appends a []byte. In a column of lists of numbers, it is a list of small integers.
func (v *value) appendBytes(x []byte) error {
	switch {
	case v.uuid != noUUID && len(x) == 16:
		v.scratch = appendUUID(v.scratch[:0], [16]byte(x), v.uuid)
		v.append(source.Text, v.scratch)
	case v.list && typeOf(v.element).text == source.Number:
		numbers := make([]any, len(x))
		for i, n := range x {
			numbers[i] = int64(n)
		}
		return v.scanOther(numbers)
	default:
		v.append(v.bytes, x)
	}
	return nil
}

// appendUUID appends a UUID as the database prints it. SQL Server, which has the mixed order, uses upper case.
func appendUUID(dst []byte, id [16]byte, order uuidOrder) []byte {
	if order == mixedOrder {
		id[0], id[1], id[2], id[3] = id[3], id[2], id[1], id[0]
		id[4], id[5], id[6], id[7] = id[5], id[4], id[7], id[6]
	}
	start := len(dst)
	for i, group := range [][]byte{id[:4], id[4:6], id[6:8], id[8:10], id[10:]} {
		if i > 0 {
			dst = append(dst, '-')
		}
		dst = hex.AppendEncode(dst, group)
	}
	if order == mixedOrder {
		for i, c := range dst[start:] {
			if c >= 'a' {
				dst[start+i] = c - 'a' + 'A'
			}
		}
	}
	return dst
}

// append appends a value, as Text if it is not valid for its kind, since some databases allow text in any column.
func (v *value) append(kind source.Kind, x []byte) {
	if kind == source.Number && !isNumber(x) || kind == source.JSON && !json.Valid(x) {
		kind = source.Text
	}
	v.batch.Append(kind, x)
}

// isNumber reports whether x is a JSON number, NaN, or an infinity.
func isNumber(x []byte) bool {
	switch string(x) {
	case "":
		return false
	case "NaN", "Infinity", "-Infinity":
		return true
	}
	first, last := x[0], x[len(x)-1]
	return (first == '-' || '0' <= first && first <= '9') && '0' <= last && last <= '9' && json.Valid(x)
}
