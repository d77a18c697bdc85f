package copybinary

import (
	"bytes"
	"encoding/binary"

	"culvert/source"
)

// elements are the numbers of types, by which an array names that of its elements (pg_type.dat). They are the same in
// every database. Those of an enum are not, so its arrays are left to CSV.
var elements = map[string]uint32{
	"boolean": 16, "bytea": 17, "bigint": 20, "smallint": 21, "integer": 23, "text": 25, "oid": 26, "json": 114,
	"cidr": 650, "real": 700, "double precision": 701, "inet": 869, "character": 1042, "character varying": 1043,
	"date": 1082, "time without time zone": 1083, "timestamp without time zone": 1114,
	"timestamp with time zone": 1184, "interval": 1186, "numeric": 1700, "uuid": 2950, "jsonb": 3802,
}

// array is an array of one dimension, which begins at 1 (array_recv in arrayfuncs.c).
func array(of column, element uint32) column {
	if element == 0 {
		return nil
	}
	return func(dst []byte, kind source.Kind, value []byte) ([]byte, bool) {
		if len(value) < len("{}") || value[0] != '{' || kind == source.Bytes {
			return dst, false
		}
		const headSize, noDimensions, oneDimension, first = 20, 0, 1, 1
		start := len(dst)
		dst = binary.BigEndian.AppendUint32(dst, noDimensions)
		dst = binary.BigEndian.AppendUint32(dst, 0) // without NULL
		dst = binary.BigEndian.AppendUint32(dst, element)
		if string(value) == "{}" {
			return dst, true
		}
		dst = append(dst, make([]byte, headSize-3*lengthSize)...)
		count, hasNull := uint32(0), uint32(0)
		var room []byte // for elements without their escapes
		for at := 0; at < len(value)-1; count++ {
			one, end, isQuoted := elementAt(value, at+1, &room)
			if end < 0 {
				return dst, false
			}
			ok := true
			switch {
			case isQuoted || !bytes.EqualFold(one, []byte("NULL")):
				dst, ok = appendSized(dst, of, source.Text, one)
			case string(one) == "NULL":
				dst, hasNull = append(dst, lengthNull...), 1
			default:
				ok = false
			}
			if !ok {
				return dst, false
			}
			if at = end; value[at] == '}' && at != len(value)-1 || value[at] == ',' && at == len(value)-1 {
				return dst, false
			}
		}
		head := dst[start:]
		binary.BigEndian.PutUint32(head, oneDimension)
		binary.BigEndian.PutUint32(head[4:], hasNull)
		binary.BigEndian.PutUint32(head[12:], count)
		binary.BigEndian.PutUint32(head[16:], first)
		return dst, true
	}
}

// elementAt returns the element that begins at a place, as it is printed, and the place of the delimiter behind it. The
// place is -1 if it is not printed like that, as in an array of arrays.
func elementAt(value []byte, start int, room *[]byte) (element []byte, end int, isQuoted bool) {
	if value[start] != '"' {
		for at := start; at < len(value); at++ {
			switch c := value[at]; {
			case c == ',' || c == '}':
				if at == start {
					return nil, -1, false
				}
				return value[start:at], at, false
			case c == '"' || c == '{' || c == '\\' || c <= ' ':
				return nil, -1, false
			}
		}
		return nil, -1, false
	}
	*room = (*room)[:0]
	for at := start + 1; at < len(value)-1; at++ {
		switch value[at] {
		case '\\':
			at++
		case '"':
			if next := value[at+1]; next == ',' || next == '}' {
				return *room, at + 1, true
			}
			return nil, -1, true
		}
		*room = append(*room, value[at])
	}
	return nil, -1, true
}
