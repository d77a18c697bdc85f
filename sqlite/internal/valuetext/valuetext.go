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
