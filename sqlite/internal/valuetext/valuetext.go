// Package valuetext reads rows of SQLite as their text: what is exported, and what is read back after a load to compare
// it.
package valuetext

import (
	"bytes"
	"math"
	"slices"
	"strconv"

	"github.com/ncruces/go-sqlite3"

	"culvert/source"
)

// Append appends the current row of a statement, which has that many columns. Values are copied, since the driver
// reuses their memory.
func Append(b *source.Batch, stmt *sqlite3.Stmt, columns int) error {
	for i := range columns {
		switch stmt.ColumnType(i) {
		case sqlite3.INTEGER:
			b.AppendInt(stmt.ColumnInt64(i))
		case sqlite3.FLOAT:
			appendReal(b, stmt.ColumnFloat(i))
		case sqlite3.TEXT:
			text := stmt.ColumnRawText(i)
			if text == nil && stmt.Err() != nil {
				return stmt.Err()
			}
			b.Append(source.Text, text)
		case sqlite3.BLOB:
			blob := stmt.ColumnRawBlob(i) // also nil for an empty blob
			if blob == nil && stmt.Err() != nil {
				return stmt.Err()
			}
			b.Append(source.Bytes, blob)
		default:
			b.AppendNull()
		}
	}
	return nil
}

// AppendValue appends an argument of a function, as Append does, and returns its kind and the bytes of a text or blob.
// They belong to SQLite.
func AppendValue(b *source.Batch, v sqlite3.Value) (kind source.Kind, value []byte, err error) {
	switch v.Type() {
	case sqlite3.INTEGER:
		b.AppendInt(v.Int64())
		return source.Number, nil, nil
	case sqlite3.FLOAT:
		appendReal(b, v.Float())
		return source.Number, nil, nil
	case sqlite3.TEXT:
		if value = v.RawText(); value == nil {
			return source.Text, nil, sqlite3.NOMEM
		}
		b.Append(source.Text, value)
		return source.Text, value, nil
	case sqlite3.BLOB:
		value = v.RawBlob() // nil for an empty blob
		b.Append(source.Bytes, value)
		return source.Bytes, value, nil
	}
	b.AppendNull()
	return source.Null, nil, nil
}

// appendReal appends a REAL as SQLite prints it, always with a period, which distinguishes it from an INTEGER, and with
// an exponent below 1e-4 and from 1e17. Unlike in older releases, it has enough digits to read back the same value.
// SQLite reads no name for infinity; like its .dump, appendReal writes a number that is too large.
func appendReal(b *source.Batch, v float64) {
	var number [32]byte
	b.Append(source.Number, RealText(number[:0], v))
}

// RealText appends the text of a REAL to dst, which must be empty.
func RealText(dst []byte, v float64) []byte {
	abs := math.Abs(v)
	if abs < 1e13 { // a number with two decimals has 15 digits at most, by which no two numbers differ
		if hundredths := int64(math.RoundToEven(v * 100)); float64(hundredths)/100 == v && hundredths != 0 {
			return appendHundredths(dst, hundredths)
		}
	}
	if math.IsInf(abs, 1) {
		if v < 0 {
			dst = append(dst, '-')
		}
		return append(dst, "9.0e+999"...)
	}
	verb := byte('f')
	if abs != 0 && abs < 1e-4 || abs >= 1e17 {
		verb = 'e'
	}
	text := strconv.AppendFloat(dst, v, verb, -1, 64)
	if bytes.IndexByte(text, '.') < 0 {
		end := bytes.IndexByte(text, 'e')
		if end < 0 {
			end = len(text)
		}
		text = slices.Insert(text, end, '.', '0')
	}
	return text
}

// appendHundredths appends a number of hundredths with one decimal or two, which takes a third of the time of
// strconv.AppendFloat.
func appendHundredths(dst []byte, n int64) []byte {
	if n < 0 {
		dst, n = append(dst, '-'), -n
	}
	dst = append(strconv.AppendInt(dst, n/100, 10), '.', byte('0'+n/10%10))
	if last := n % 10; last != 0 {
		dst = append(dst, byte('0'+last))
	}
	return dst
}
