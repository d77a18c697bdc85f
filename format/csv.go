package format

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"math/bits"

	"culvert/source"
)

// CSV writes rows as PostgreSQL's COPY … (FORMAT csv, HEADER) and psql's \copy … csv header do, byte for byte:
//
//	id,title,note
//	1,"water, still",
//	2,stone,""
//
// Commas separate values, and a line feed ends each row. NULL is nothing, and the empty string is "". A value is quoted
// if it contains a comma, a quote, a line feed or a carriage return; quotes in it are doubled. The value \. is also
// quoted if it is the only one of its row, since it used to mark the end of the data. Booleans are t and f, binary data
// is \x and hexadecimal digits, and anything else is written as the database prints it. Column names follow the same
// rules. A row without columns is an empty line. Text that is not UTF-8 is not changed.
type CSV struct{}

// Extension returns ".csv".
func (CSV) Extension() string { return ".csv" }

// Encoder returns an encoder, and never an error. Column names may repeat.
func (CSV) Encoder(columns []source.Column) (Encoder, error) {
	return (&csvRows{single: len(columns) == 1}).encoder(columns), nil
}

func (e *csvRows) encoder(columns []source.Column) *csvEncoder {
	var header []byte
	for i, c := range columns {
		if i > 0 {
			header = append(header, ',')
		}
		header = e.appendValue(header, []byte(c.Name))
	}
	return &csvEncoder{
		encoder{rowEncoder: e, header: append(header, '\n'), rowSize: max(1, len(columns)), copies: 1}, e,
	}
}

// csvEncoder is the [LineEncoder] of CSV.
type csvEncoder struct {
	encoder
	rows *csvRows
}

func (e *csvEncoder) AppendLines(
	dst []byte, b *source.Batch, size int, lines Lines, next func([]byte) ([]byte, error),
) ([]byte, error) {
	p := pieces{text: dst, size: size, next: next}
	fields, wantsEnds := lines.(FieldLines)
	wantsEnds = wantsEnds && fields.WantsEnds()
	var ends []int
	for row := 0; row < b.Rows() && p.err == nil; row++ {
		if start := len(p.text); e.isWhole(b, row) && wantsEnds {
			p.text, ends = e.rows.appendEnds(p.text, ends[:0], b, row)
			fields.Row(p.text[start:], ends)
		} else if e.isWhole(b, row) {
			p.text, p.err = e.rows.appendRow(p.text, b, row)
			lines.Line(p.text[start:])
		} else {
			p.lines, p.shown = lines, len(p.text)
			p = e.rows.addRow(p, b, row)
			p.show()
			p.lines = nil
			lines.EndLine()
		}
		p.cut()
	}
	return p.text, p.err
}

type csvRows struct {
	single bool // the rows have one column

	// As JSON Lines keep the values: see [JSONL.Lines].
	json     []jsonColumn // nil for the values as they are
	replaces bool         // U+FFFD takes the place of invalid bytes
}

func (e *csvRows) appendRow(dst []byte, b *source.Batch, row int) ([]byte, error) {
	for column := range b.Columns() {
		if column > 0 {
			dst = append(dst, ',')
		}
		dst = e.appendField(dst, b, row, column)
	}
	return append(dst, '\n'), nil
}

// appendEnds is appendRow, and appends where in the row its fields end.
func (e *csvRows) appendEnds(dst []byte, ends []int, b *source.Batch, row int) ([]byte, []int) {
	start := len(dst)
	for column := range b.Columns() {
		if column > 0 {
			dst = append(dst, ',')
		}
		dst = e.appendField(dst, b, row, column)
		ends = append(ends, len(dst)-start)
	}
	return append(dst, '\n'), ends
}

func (e *csvRows) appendField(dst []byte, b *source.Batch, row, column int) []byte {
	switch kind, value := b.Value(row, column); {
	case kind == source.Null:
		return dst
	case kind == source.Bytes:
		return appendHex(dst, value)
	case e.json != nil:
		return e.appendKept(dst, column, kind, value)
	default:
		return e.appendValue(dst, value)
	}
}

func (e *csvRows) addRow(p pieces, b *source.Batch, row int) pieces {
	for column := range b.Columns() {
		if column > 0 {
			p.addString(",")
		}
		switch kind, value := b.AnyValue(row, column); {
		case kind == source.Null:
		case kind == source.Bytes:
			p.addHex(value)
		case e.json != nil:
			e.addKept(&p, column, kind, value)
		case len(value) > part:
			p.addField(value, csvPlain(value))
		default:
			p.text = e.appendValue(p.text, value)
		}
		p.cut()
	}
	p.addString("\n")
	return p
}

func (*csvRows) valuesSize(b *source.Batch, row int) int {
	size := 0
	for column := range b.Columns() {
		if kind, value := b.Value(row, column); kind == source.Bytes {
			size += hexSize(value)
		} else {
			size += len(value) + len(`""`) + bytes.Count(value, []byte{'"'})
		}
	}
	return size
}

func (e *csvRows) appendValue(dst, value []byte) []byte {
	if !csvPlain(value) || (e.single && string(value) == `\.`) {
		return append(appendDoubles(append(dst, '"'), value), '"')
	}
	return append(dst, value...)
}

// appendDoubles appends a value with its quotes doubled. Quotes are frequent in JSON, so it works on words: it stores a
// word, up to its first quote and one more, and goes on with the word that follows. A word at the end has fewer bytes.
func appendDoubles(dst, value []byte) []byte {
	last := len(value) - 8
	if room := 2*len(value) + 8; last < 0 || cap(dst)-len(dst) < room {
		for _, c := range value {
			if c == '"' {
				dst = append(dst, '"')
			}
			dst = append(dst, c)
		}
		return dst
	}
	out, at := dst[:cap(dst)], len(dst)
	for from := 0; from < len(value); {
		w, n := word(value[min(from, last):]), 8
		if from > last {
			w, n = w>>(8*(from-last)), len(value)-from
		}
		binary.LittleEndian.PutUint64(out[at:], w)
		quotes := hasByte(w, '"')
		if quotes != 0 {
			n = bits.TrailingZeros64(quotes)/8 + 1
			out[at+n] = '"'
			at++
		}
		at, from = at+n, from+n
	}
	return out[:at]
}

// csvPlain reports whether a value needs no quotes around it.
func csvPlain(value []byte) bool {
	n := len(value)
	switch {
	case n >= 8:
		for i := 0; i < n-8; i += 8 {
			if csvSpecials(word(value[i:])) != 0 {
				return false
			}
		}
		return csvSpecials(word(value[n-8:])) == 0
	case n >= 4:
		first, last := binary.LittleEndian.Uint32(value), binary.LittleEndian.Uint32(value[n-4:])
		return csvSpecials(uint64(first)|uint64(last)<<32) == 0
	}
	for _, c := range value {
		if csvSpecial[c] {
			return false
		}
	}
	return n > 0
}

// csvSpecials is hasByte for four characters at once.
func csvSpecials(w uint64) uint64 {
	comma, quote, feed, carriage := w^ones*',', w^ones*'"', w^ones*'\n', w^ones*'\r'
	return ((comma-ones)&^comma | (quote-ones)&^quote | (feed-ones)&^feed | (carriage-ones)&^carriage) & highBits
}

var csvSpecial = [256]bool{',': true, '"': true, '\n': true, '\r': true}

// appendHex appends binary data as PostgreSQL prints it.
func appendHex(dst, value []byte) []byte {
	return hex.AppendEncode(append(dst, `\x`...), value)
}

// hexSize returns the number of bytes that appendHex appends.
func hexSize(value []byte) int { return len(`\x`) + hex.EncodedLen(len(value)) }
