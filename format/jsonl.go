package format

import (
	"encoding/base64"
	"fmt"
	"slices"
	"unicode/utf8"

	"culvert/source"
)

// JSONL writes each row as a JSON object on a line of its own, with the columns in order:
//
//	{"id":1,"title":"water","price":12.50,"tags":["a", "b"],"note":null}
//
// Values are written as follows:
//
//   - A number keeps all digits that the database prints. A number that is not one in JSON (NaN, Infinity, 007, .5) is
//     a string.
//   - Booleans are true and false, and NULL is null.
//   - Binary data is a string of \x and hexadecimal digits, as in CSV, which PostgreSQL reads as a bytea.
//   - JSON is embedded as it is. If it spans several lines, white space between its tokens is left out. Numbers, the
//     order of keys and repeated keys do not change. The JSON value null, which is not NULL,
//     is {"json_text":"null"}, an object with its text. So is JSON that is not valid or nested more than 70,000 deep,
//     JSON that looks like such an object, and, in a column whose type is not called json, as in MariaDB, a string,
//     true and false.
//   - Anything else is a string. Only quotes, backslashes and control characters are escaped. InvalidUTF8 decides about
//     bytes that are not UTF-8.
//
// Two columns with the same name are an error, since most readers of JSON would drop one of them.
type JSONL struct {
	InvalidUTF8 InvalidUTF8 // the default is an error
}

// InvalidUTF8 is what JSONL does with text, or JSON, that is not valid UTF-8.
type InvalidUTF8 uint8

const (
	// ErrorOnInvalid ends the export with an [*InvalidUTF8Error].
	ErrorOnInvalid InvalidUTF8 = iota
	// ReplaceInvalid writes U+FFFD for each invalid byte.
	ReplaceInvalid
	// Base64Invalid writes all bytes of the value in an object in place of the string, {"base64":"/w=="}. No other
	// value is such an object.
	Base64Invalid
)

// InvalidUTF8Error reports a value that is not valid UTF-8.
type InvalidUTF8Error struct {
	Column string
	Row    int64 // counts from 1 in the batch; package export counts from the first row; 0 if rows have no order
	Offset int   // of the first invalid byte in the value
}

func (e *InvalidUTF8Error) Error() string {
	if e.Row == 0 {
		return fmt.Sprintf("format: column %q: not valid UTF-8 at byte %d of the value", e.Column, e.Offset)
	}
	return fmt.Sprintf("format: column %q, row %d: not valid UTF-8 at byte %d of the value", e.Column, e.Row, e.Offset)
}

// Extension returns ".jsonl".
func (JSONL) Extension() string { return ".jsonl" }

// Encoder returns an encoder. It fails if two columns have the same name. If a name is not valid UTF-8, it fails with
// ErrorOnInvalid, and otherwise replaces the invalid bytes.
func (f JSONL) Encoder(columns []source.Column) (Encoder, error) {
	rows := &jsonlRows{policy: f.InvalidUTF8, columns: slices.Clone(columns), json: jsonColumnsOf(columns)}
	rowSize := len("{}\n")
	seen := make(map[string]bool)
	for i, c := range columns {
		name := []byte(c.Name)
		if !utf8.Valid(name) {
			if f.InvalidUTF8 == ErrorOnInvalid {
				return nil, fmt.Errorf("format: jsonl: the name of column %d, %q, is not valid UTF-8", i+1, c.Name)
			}
			name = replaceInvalid(name)
		}
		if seen[string(name)] {
			return nil, fmt.Errorf("format: jsonl: two columns are named %q, and an object can have only one", name)
		}
		seen[string(name)] = true
		key := []byte{','}
		if i == 0 {
			key = []byte{'{'}
		}
		key, _ = appendQuoted(key, name)
		key = append(key, ':')
		rows.keys = append(rows.keys, key)
		rowSize += len(key) + len("null")
	}
	return &encoder{rowEncoder: rows, rowSize: rowSize, copies: 1}, nil
}

type jsonlRows struct {
	policy  InvalidUTF8
	columns []source.Column
	json    []jsonColumn
	keys    [][]byte // of each column, from the brace or comma before it to the colon after it
}

func (e *jsonlRows) appendRow(dst []byte, b *source.Batch, row int) ([]byte, error) {
	for column, key := range e.keys {
		dst = append(dst, key...)
		kind, value := b.Value(row, column)
		var ok bool
		if dst, ok = e.appendValue(dst, e.json[column], kind, value); !ok {
			return dst, e.invalid(row, column, value)
		}
	}
	if len(e.keys) == 0 {
		dst = append(dst, '{')
	}
	return append(dst, "}\n"...), nil
}

func (e *jsonlRows) invalid(row, column int, value []byte) error {
	return &InvalidUTF8Error{e.columns[column].Name, int64(row) + 1, invalidOffset(value)}
}

func (e *jsonlRows) valuesSize(b *source.Batch, row int) int {
	size := 0
	for column := range e.keys {
		// The quotes take the place of the null that rowSize counts.
		if kind, value := b.Value(row, column); kind == source.Bytes {
			size += len(`\`) + hexSize(value)
		} else {
			size += len(value)
		}
	}
	return size
}

// appendValue appends a value. It fails if the value is not valid UTF-8 and the policy is an error.
func (e *jsonlRows) appendValue(dst []byte, c jsonColumn, kind source.Kind, value []byte) (out []byte, ok bool) {
	switch kind {
	case source.Null:
		return append(dst, "null"...), true
	case source.Bool:
		if string(value) == "t" {
			return append(dst, "true"...), true
		}
		return append(dst, "false"...), true
	case source.Bytes:
		dst = appendHex(append(dst, `"\`...), value)
		return append(dst, '"'), true
	case source.Number:
		if validNumber(value) {
			return append(dst, value...), true
		}
	case source.JSON:
		appendJSON := appendJSONText
		if c.embeds(value) {
			appendJSON = appendLine
		}
		if utf8.Valid(value) {
			return appendJSON(dst, value), true
		}
		return e.appendInvalid(dst, value, appendJSON)
	}
	start := len(dst)
	dst, ascii := appendQuoted(dst, value)
	if ascii || utf8.Valid(value) {
		return dst, true
	}
	return e.appendInvalid(dst[:start], value, func(dst, value []byte) []byte {
		dst, _ = appendQuoted(dst, value)
		return dst
	})
}

// appendJSONText appends an escape for the text of JSON.
func appendJSONText(dst, value []byte) []byte {
	dst, _ = appendEscaped(append(dst, textOpen...), value)
	return append(dst, escapeEnd...)
}

// appendInvalid appends a value that is not valid UTF-8 as the policy says. With ReplaceInvalid, appendValid appends
// the value with its invalid bytes replaced.
func (e *jsonlRows) appendInvalid(dst, value []byte, appendValid func(dst, value []byte) []byte) ([]byte, bool) {
	switch e.policy {
	case ReplaceInvalid:
		return appendValid(dst, replaceInvalid(value)), true
	case Base64Invalid:
		dst = append(dst, base64Open...)
		dst = base64.StdEncoding.AppendEncode(dst, value)
		return append(dst, escapeEnd...), true
	default:
		return dst, false
	}
}

// replaceInvalid returns a copy of text with U+FFFD for each invalid byte.
func replaceInvalid(text []byte) []byte {
	out := make([]byte, 0, len(text)+utf8.UTFMax*4)
	for len(text) > 0 {
		r, size := utf8.DecodeRune(text)
		out = utf8.AppendRune(out, r)
		text = text[size:]
	}
	return out
}

// invalidOffset returns the offset of the first invalid byte.
func invalidOffset(text []byte) int {
	offset := 0
	for offset < len(text) {
		r, size := utf8.DecodeRune(text[offset:])
		if r == utf8.RuneError && size == 1 {
			break
		}
		offset += size
	}
	return offset
}
