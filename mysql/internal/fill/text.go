package fill

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"culvert/internal/typename"
	"culvert/mysql/internal/catalog"
	"culvert/sink"
	"culvert/sink/grammar"
	"culvert/source"
)

// class is how the values of a column are written.
type class uint8

const (
	other  class = iota
	words        // text
	octets       // binary data
	bits
	moment // a time, with or without a date
	single // FLOAT
	whole  // whole numbers
	year
)

// classes are those of types by their first word.
var classes = map[string]class{
	"char": words, "varchar": words, "tinytext": words, "text": words, "mediumtext": words, "longtext": words,
	"binary": octets, "varbinary": octets, "tinyblob": octets, "blob": octets, "mediumblob": octets,
	"longblob": octets, "vector": octets, "geometry": octets, "point": octets, "linestring": octets,
	"polygon": octets, "multipoint": octets, "multilinestring": octets, "multipolygon": octets,
	"geometrycollection": octets, "geomcollection": octets,
	"bit": bits, "datetime": moment, "timestamp": moment, "time": moment,
	"float": single, "year": year,
	"tinyint": whole, "smallint": whole, "mediumint": whole, "int": whole, "bigint": whole,
}

// column is a column of the rows.
type column struct {
	catalog.Column
	class class
	size  int  // the digits of fractions of a second, or the number of bits
	now   bool // the server would store the time of the load for NULL, without a warning

	errorValue bool            // the empty text is the error value of an ENUM
	grammar    grammar.Grammar // nil for all values
}

func newColumn(c catalog.Column) column {
	base, modifiers := typename.Cut(c.Type)
	word, _, _ := strings.Cut(base, " ")
	known := column{Column: c, class: classes[word], grammar: grammar.MySQL(c.Type)}
	if c.JSON {
		known.class, known.grammar = other, nil
	}
	known.now = c.NotNull && word == "timestamp"
	known.errorValue = hasErrorValue(c.Type)
	if len(modifiers) > 0 {
		known.size = modifiers[0]
	}
	return known
}

// writer writes rows as the text of LOAD DATA, or as the lists of INSERT. In both, a tab follows each value of a row
// except the last, and a line feed each row, and neither is in a value.
type writer struct {
	columns []column
	lists   bool // of INSERT

	errorValues int // of the last row
}

// appendRow appends a row, any of whose values may be lent.
func (w *writer) appendRow(dst []byte, b *source.Batch, row int) ([]byte, error) {
	w.errorValues = 0
	if w.lists {
		dst = append(dst, '(')
	}
	for i := range w.columns {
		if i > 0 {
			if w.lists {
				dst = append(dst, ',')
			}
			dst = append(dst, '\t')
		}
		kind, value := b.AnyValue(row, i)
		var err error
		if dst, err = w.appendValue(dst, &w.columns[i], kind, value); err != nil {
			return dst, &valueError{&w.columns[i], kind, value, err}
		}
	}
	if w.lists {
		return append(dst, "),\n"...), nil
	}
	return append(dst, '\n'), nil
}

// onlyBinary is a grammar of binary data that takes nothing else which SQLite has in such columns.
func onlyBinary(g grammar.Grammar) grammar.Grammar {
	return func(kind source.Kind, value []byte) string {
		if kind != source.Bytes {
			return "the column takes binary data, and this is a text or a number"
		}
		if g == nil {
			return ""
		}
		return g(kind, value)
	}
}

// isBlob reports whether a type of SQLite has binary data.
func isBlob(name string) bool { return name != "" && typename.AffinityOf(name) == typename.Blob }

// valueError is the error of a value that is not sent to the server.
type valueError struct {
	column *column
	kind   source.Kind
	value  []byte
	err    error
}

func (e *valueError) Error() string { return e.err.Error() }

// text is the value for people.
func (e *valueError) text() string {
	if e.kind == source.Bytes {
		return `\x` + hex.EncodeToString(e.value[:min(len(e.value), sink.MaxValue)])
	}
	return string(e.value[:min(len(e.value), 2*sink.MaxValue)])
}

func (w *writer) appendValue(dst []byte, c *column, kind source.Kind, value []byte) ([]byte, error) {
	var err error
	if kind != source.Null && c.grammar != nil {
		if reason := c.grammar(kind, value); reason != "" {
			return dst, sink.Changed(reason)
		}
	}
	switch {
	case kind == source.Null && c.now:
		return dst, errNull
	case kind == source.Null && w.lists:
		return append(dst, "NULL"...), nil
	case kind == source.Null:
		return append(dst, `\N`...), nil
	case c.class == octets && w.lists:
		return append(hex.AppendEncode(append(dst, "X'"...), value), '\''), nil
	case c.class == octets:
		return hex.AppendEncode(dst, value), nil
	case c.class == bits:
		return appendBits(dst, c.size, kind, value)
	case c.class == year:
		value, err = yearOf(kind, value)
	case kind == source.Bool && c.class != words:
		value = sink.NumberOf(value)
	case kind == source.Bytes:
		value = append([]byte(`\x`), hex.EncodeToString(value)...)
	case c.class == moment:
		value, err = momentOf(c.size, value)
	case c.class == single:
		value = singleOf(value)
	case c.errorValue && len(value) == 0:
		w.errorValues++
	}
	if c.class == whole && err == nil && hasFraction(value) {
		err = errFraction // the server would round it without a warning
	}
	if err != nil {
		return dst, err
	}
	if w.lists {
		dst = append(dst, '\'')
	}
	if dst, err = appendText(dst, value); err != nil {
		return dst, err
	}
	if w.lists {
		dst = append(dst, '\'')
	}
	return dst, nil
}

// hasFraction reports whether a number may have a fraction or an exponent.
func hasFraction(number []byte) bool {
	for _, c := range number {
		if c == '.' || c == 'e' || c == 'E' {
			return true
		}
	}
	return false
}

// escapes are the letters of characters after a backslash, in both texts.
var escapes = [256]byte{0: '0', '\t': 't', '\n': 'n', '\r': 'r', '\\': '\\', '\'': '\''}

var errNotUTF8 = errors.New("the text is not valid UTF-8")

// appendText appends a text with escapes. The server would take what follows an incomplete character for a part of it,
// so text must be valid.
func appendText(dst, value []byte) ([]byte, error) {
	plain, ascii := looksPlain(value)
	if !ascii && !utf8.Valid(value) {
		return dst, errNotUTF8
	}
	if plain {
		return append(dst, value...), nil
	}
	begin := 0
	for i, c := range value {
		if escape := escapes[c]; escape != 0 {
			dst = append(append(dst, value[begin:i]...), '\\', escape)
			begin = i + 1
		}
	}
	return append(dst, value[begin:]...), nil
}

const (
	eight = 8 // bytes that are looked at at once
	ones  = 0x0101010101010101
	highs = ones << 7
)

// looksPlain reports whether a text has neither characters with escapes, of which few texts have any, nor control
// characters, and whether all are ASCII. The last eight bytes may have been looked at before.
func looksPlain(text []byte) (plain, ascii bool) {
	n, seen, special := len(text), uint64(0), uint64(0)
	switch {
	case n >= eight:
		for i := 0; i < n-eight; i += eight {
			w := binary.LittleEndian.Uint64(text[i:])
			seen, special = seen|w, special|specials(w)
		}
		w := binary.LittleEndian.Uint64(text[n-eight:])
		seen, special = seen|w, special|specials(w)
	case n >= eight/2:
		first, last := binary.LittleEndian.Uint32(text), binary.LittleEndian.Uint32(text[n-eight/2:])
		seen = uint64(first) | uint64(last)<<32
		special = specials(seen)
	default:
		for _, c := range text {
			seen |= uint64(c)
			special |= uint64(escapes[c])
		}
		return special == 0, seen < utf8.RuneSelf
	}
	return special == 0, seen&highs == 0
}

// specials is not 0 if one of eight bytes is a backslash, a quote, or below a space.
func specials(w uint64) uint64 {
	quote, backslash := w^ones*'\'', w^ones*'\\'
	return ((w-ones*' ')&^w | (quote-ones)&^quote | (backslash-ones)&^backslash) & highs
}

var errBits = errors.New("the value is neither a number without a sign nor as many bits as the column has")

// appendBits appends the number that the bits are. PostgreSQL prints bits as digits, one for each.
func appendBits(dst []byte, size int, kind source.Kind, value []byte) ([]byte, error) {
	text, base := string(value), 10
	switch {
	case kind == source.Bool:
		text = string(sink.NumberOf(value))
	case kind == source.Text && size > 1 && len(text) == size && strings.Trim(text, "01") == "":
		base = 2
	}
	number, err := strconv.ParseUint(text, base, 64)
	if err != nil {
		return dst, errBits
	}
	return strconv.AppendUint(dst, number, 10), nil
}

// zones are endings of times in UTC, the zone of the session. MariaDB does not read them.
var zones = [][]byte{[]byte("+00"), []byte("+00:00"), []byte("Z")}

func withoutZone(value []byte) []byte {
	if n := len(value); n < 3 || value[n-1] != 'Z' && value[n-3] != '+' && value[max(0, n-6)] != '+' {
		return value // as most are
	}
	for _, zone := range zones {
		if rest, found := bytes.CutSuffix(value, zone); found && bytes.IndexByte(rest, ':') > 0 {
			return rest
		}
	}
	return value
}

// momentOf returns a time without its zone. The server would cut off digits of seconds that it does not store.
func momentOf(digits int, value []byte) ([]byte, error) {
	value = withoutZone(value)
	if _, fraction, found := bytes.Cut(value, []byte{'.'}); found && len(fraction) > digits {
		if len(bytes.Trim(fraction[digits:], "0")) > 0 {
			return nil, fmt.Errorf("the column stores %d digits of fractions of a second", digits)
		}
	}
	return value, nil
}

var (
	errFraction = errors.New("the column takes whole numbers, without a fraction or an exponent")
	errNull     = errors.New("the column cannot be null")
	errYear     = errors.New("the column takes years of four digits")
)

// yearOf returns a year that the server keeps. The number 0 is the year 0000 in all that has numbers, such as Parquet;
// the server would take it for 2000, as it is sent as a text.
func yearOf(kind source.Kind, value []byte) ([]byte, error) {
	switch {
	case isYear(value):
		return value, nil
	case kind == source.Number && string(value) == "0":
		return []byte("0000"), nil
	}
	return nil, errYear
}

// isYear reports whether a value is a year that the server does not complete, as it does with 70, and with 0070.
func isYear(value []byte) bool {
	return len(value) == 4 && len(bytes.Trim(value, "0123456789")) == 0 && (value[0] != '0' || string(value) == "0000")
}

// singleOf returns a FLOAT with the digits of a DOUBLE. The shortest digits of the largest FLOAT are out of range for
// the server, which reads them as a DOUBLE.
func singleOf(value []byte) []byte {
	number, err := strconv.ParseFloat(string(value), 32)
	if err != nil {
		return value // the server says what is wrong
	}
	return strconv.AppendFloat(nil, number, 'g', -1, 64)
}

// valueOf reads a value of a row that was written, as valueIn does.
func (w *writer) valueOf(text []byte, row int64, i int) string {
	for ; row > 1; row-- {
		_, text, _ = bytes.Cut(text, []byte{'\n'})
	}
	line, _, _ := bytes.Cut(text, []byte{'\n'})
	return w.valueIn(line, i)
}

// valueIn reads a value of a line that was written. It returns "" if there is none, or it is binary.
func (w *writer) valueIn(text []byte, i int) string {
	values := bytes.Split(text, []byte{'\t'})
	if i >= len(values) || w.columns[i].class == octets {
		return ""
	}
	value := string(values[i])
	if w.lists {
		if i == len(values)-1 {
			value = strings.TrimSuffix(value, "),")
		}
		if i == 0 {
			value = strings.TrimPrefix(value, "(")
		}
		value = strings.TrimSuffix(value, ",")
	}
	if value == "NULL" && w.lists || value == `\N` {
		return ""
	}
	if w.lists {
		value = strings.TrimPrefix(strings.TrimSuffix(value, "'"), "'")
	}
	return unescape.Replace(value)
}

var unescape = strings.NewReplacer(`\\`, `\`, `\t`, "\t", `\n`, "\n", `\r`, "\r", `\0`, "\x00", `\'`, "'")
