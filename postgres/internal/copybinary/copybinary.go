// Package copybinary writes rows in the binary format of COPY, which costs a server about a third less than CSV.
//
// The encoder of a table takes values as text, and makes of them what the receive function of their type reads:
// https://www.postgresql.org/docs/current/sql-copy.html#SQL-COPY-BINARY-FORMAT, and src/backend/utils/adt of the
// server. It takes only the forms in which the server, and most other systems, print a value:
//
//	smallint, integer, bigint, oid      -12
//	real, double precision              1.5, 1e+20, NaN, Infinity
//	numeric                             -12.50, NaN
//	boolean                             t, f, true, false
//	date                                2026-01-31
//	time without time zone              10:00:00.123456
//	timestamp without time zone         2026-01-31 10:00:00.123456
//	timestamp with time zone            2026-01-31 10:00:00.123456+00, or another offset, or none for UTC
//	uuid                                123e4567-e89b-12d3-a456-426614174000
//	interval                            1 year 2 mons -3 days 04:05:06.789
//	inet, cidr                          192.0.2.1, 192.0.2.0/24, 2001:db8::/32
//	bytea                               binary data, or \x and hexadecimal digits
//	text, character varying, character, json, jsonb, and enum, whose values are texts of their own
//	arrays of these                     {1,2,NULL} of one dimension
//
// Any other value, such as the date infinity or a text that is too long for its type, and any other type is left to
// CSV, so that there is one reader of the unusual: the server.
package copybinary

import (
	"bytes"
	"encoding/binary"
	"slices"
	"strings"

	"culvert/internal/typename"
	"culvert/source"
)

// Header begins a text in this format, and Trailer ends it. Between them are rows.
const (
	Header  = "PGCOPY\n\xff\r\n\x00" + "\x00\x00\x00\x00" + "\x00\x00\x00\x00"
	Trailer = "\xff\xff"
)

// Encoder writes the rows of a table. It is safe for concurrent use.
type Encoder struct{ columns []column }

// column appends a value that is not NULL, without its length. It returns false if the value is to be left to CSV.
type column func(dst []byte, kind source.Kind, value []byte) ([]byte, bool)

// mostColumns is what the number of columns of a row can be at most, by far.
const mostColumns = 1 << 14

// Enum stands for the name of any type of this kind.
const Enum = "(enum)"

// New returns the encoder for columns of types with these names, as the catalog of the server has them, of a domain
// that of the type that it is made of. It returns nil if the values of one are left to CSV.
func New(types []string) *Encoder {
	if len(types) == 0 || len(types) > mostColumns {
		return nil
	}
	e := &Encoder{make([]column, len(types))}
	for i, name := range types {
		if e.columns[i] = columnOf(name); e.columns[i] == nil {
			return nil
		}
	}
	return e
}

// Knows reports whether the values of a type are not left to CSV.
func Knows(name string) bool { return columnOf(name) != nil }

func columnOf(name string) column {
	base, modifiers := typename.Cut(name)
	element, isArray := strings.CutSuffix(base, "[]")
	if long := shortNames[element]; long != "" {
		element = long
	}
	of := columnsByType[element]
	if of == nil {
		return nil
	}
	if of = within(element, modifiers, of); isArray {
		return array(of, elements[element])
	}
	return of
}

var columnsByType = map[string]column{
	"smallint":                    integer(16),
	"integer":                     integer(32),
	"bigint":                      integer(64),
	"oid":                         natural,
	"real":                        float(32),
	"double precision":            float(64),
	"numeric":                     numeric,
	"boolean":                     boolean,
	"date":                        date,
	"time without time zone":      timeOfDay,
	"timestamp without time zone": timestamp(false),
	"timestamp with time zone":    timestamp(true),
	"uuid":                        uuid,
	"interval":                    interval,
	"inet":                        address(false),
	"cidr":                        address(true),
	"bytea":                       octets,
	Enum:                          text,
	"text":                        text,
	"character varying":           text,
	"character":                   text,
	"json":                        text,
	"jsonb":                       jsonb,
}

// shortNames are names that definitions may have in place of those of the catalog.
var shortNames = map[string]string{
	"int2": "smallint", "int4": "integer", "int8": "bigint", "float4": "real", "float8": "double precision",
	"bool": "boolean", "decimal": "numeric", "varchar": "character varying", "char": "character",
	"time": "time without time zone", "timestamp": "timestamp without time zone",
	"timestamptz": "timestamp with time zone",
}

// A value follows its length, which is -1 for NULL.
const (
	lengthSize = 4
	lengthNull = "\xff\xff\xff\xff"
)

// most is what rows may take that are a text of a size. Numbers of one digit take up to seven times as much as in CSV,
// which costs the server as much as it saves.
func most(text int) int { return 2*text + 64<<10 }

// AppendRows appends the rows of a batch. It returns false, and what it was given, if they are to be left to CSV, as
// are those that would become far larger.
func (e *Encoder) AppendRows(dst []byte, b *source.Batch) ([]byte, bool) {
	before := len(dst)
	end := before + most(b.TextSize())
	for row := range b.Rows() {
		if len(dst) > end {
			return dst[:before], false
		}
		dst = e.beginRow(dst)
		for i, appendValue := range e.columns {
			kind, value := b.AnyValue(row, i)
			if kind == source.Null {
				dst = append(dst, lengthNull...)
				continue
			}
			var ok bool
			if dst, ok = appendSized(dst, appendValue, kind, value); !ok {
				return dst[:before], false
			}
		}
	}
	return dst, true
}

func (e *Encoder) beginRow(dst []byte) []byte {
	return binary.BigEndian.AppendUint16(dst, uint16(len(e.columns)))
}

func appendSized(dst []byte, appendValue column, kind source.Kind, value []byte) ([]byte, bool) {
	start := len(dst) + lengthSize
	dst, ok := appendValue(append(dst, lengthNull...), kind, value)
	binary.BigEndian.PutUint32(dst[start-lengthSize:], uint32(len(dst)-start))
	return dst, ok
}

// AppendText appends the rows of a text of CSV without its header, as the server reads it. It returns false as
// AppendRows does.
func (e *Encoder) AppendText(dst, rows []byte) ([]byte, bool) {
	before := len(dst)
	end := before + most(len(rows))
	dst = slices.Grow(dst, len(rows)+len(rows)/8) // about what they take
	var room []byte                               // for values without their doubled quotes
	for at := 0; at < len(rows); {
		if len(dst) > end {
			return dst[:before], false
		}
		dst = e.beginRow(dst)
		last := len(e.columns) - 1
		for i, appendValue := range e.columns {
			start, ended := at, byte(',')
			if i == last {
				ended = '\n'
			}
			var value []byte
			if rows[start] == '"' {
				value, at = quoted(rows, start+1, &room)
			} else {
				at += special(rows[start:])
				value = rows[start:at]
			}
			if at >= len(rows) || rows[at] != ended {
				return dst[:before], false
			}
			at++
			if len(value) == 0 && rows[start] != '"' {
				dst = append(dst, lengthNull...)
			} else {
				var ok bool
				if dst, ok = appendSized(dst, appendValue, source.Text, value); !ok {
					return dst[:before], false
				}
			}
			if at == len(rows) && i < last {
				return dst[:before], false
			}
		}
	}
	return dst, true
}

// special returns the place of the first delimiter, line end or quote, or the length of the text.
func special(rows []byte) int {
	for i, c := range rows {
		if c <= ',' && (c == ',' || c == '\n' || c == '\r' || c == '"') { // most characters are behind the comma
			return i
		}
	}
	return len(rows)
}

// quoted returns the value in quotes that begins at start, and the place behind its last quote, or len(rows).
func quoted(rows []byte, start int, room *[]byte) (value []byte, end int) {
	*room = (*room)[:0]
	for at := start; ; {
		i := bytes.IndexByte(rows[at:], '"')
		if i < 0 {
			return nil, len(rows)
		}
		at += i + 1
		if at == len(rows) || rows[at] != '"' {
			if value = rows[start : at-1]; len(*room) > 0 {
				*room = append(*room, value...)
				value = *room
			}
			return value, at
		}
		*room = append(*room, rows[start:at]...) // with one of two quotes
		at++
		start = at
	}
}
