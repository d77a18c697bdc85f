package sniff

import (
	"bytes"
	"encoding/json"
	"strings"
	"unicode"
	"unicode/utf8"

	"culvert/format"
)

// Type is what the values of a column are.
type Type string

// The types. What all databases take as one is meant: a date is written as 2026-11-29, a decimal with a point. A number
// that begins with zeros or a plus, such as a postal code, is a Text, since it would lose them.
const (
	Integer   Type = "integer"
	Decimal   Type = "decimal"
	Float     Type = "float"   // with an exponent, NaN or Infinity
	Boolean   Type = "boolean" // t and f, true and false, yes and no
	Date      Type = "date"
	Timestamp Type = "timestamp"
	Time      Type = "time"
	UUID      Type = "uuid"
	JSON      Type = "json" // objects and arrays
	Text      Type = "text"
	Unknown   Type = "unknown" // there are no values
)

// What looks like a number or a date in other countries is a Text for databases, but speaks for a dialect.
const (
	localNumber Type = "local number"
	localDate   Type = "local date"
)

// typeOf returns the type of a value.
func typeOf(value []byte) Type {
	if len(value) == 0 || len(value) > 1<<16 {
		return Text
	}
	c := value[0]
	switch {
	case c == '{' || c == '[':
		if json.Valid(value) {
			return JSON
		}
		return Text
	case len(value) == 36 && isShaped(value, "xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx"):
		return UUID
	case c >= '0' && c <= '9' || c == '-' || c == '+' || c == '.' || c == ',':
		if t := numberOf(value); t != Text {
			return t
		}
		return dateOf(value)
	}
	switch strings.ToLower(string(value[:min(len(value), len("-infinity"))])) {
	case "t", "f", "true", "false", "yes", "no":
		return Boolean
	case "nan", "inf", "infinity":
		return Float
	}
	return Text
}

// numberOf returns the type of a number, and Text for others.
func numberOf(value []byte) Type {
	digits := bytes.TrimPrefix(value, []byte("-"))
	if len(digits) == 0 || digits[0] == '-' || digits[0] == '+' { // the sign of which would be lost
		return Text
	}
	switch word := strings.ToLower(string(digits[:min(len(digits), len("infinity "))])); word {
	case "inf", "infinity":
		return Float
	}
	mantissa, exponent, isFloat := bytes.Cut(bytes.ToLower(digits), []byte("e"))
	whole, fraction, isDecimal := bytes.Cut(mantissa, []byte("."))
	switch {
	case isFloat && !areDigits(bytes.TrimLeft(exponent, "+-")),
		len(whole) > 0 && !areDigits(whole) || len(fraction) > 0 && !areDigits(fraction),
		len(whole)+len(fraction) == 0:
		return localOf(digits)
	case len(whole) > 1 && whole[0] == '0':
		return Text
	case isFloat:
		return Float
	case isDecimal, len(whole) > 18:
		return Decimal
	}
	return Integer
}

// localOf returns localNumber for digits with a comma, or with commas, points, spaces or apostrophes between thousands.
func localOf(digits []byte) Type {
	whole, fraction := digits, []byte(nil)
	if at := bytes.LastIndexAny(digits, ",."); at >= 0 {
		whole, fraction = digits[:at], digits[at+1:]
		if !areDigits(fraction) {
			return Text
		}
	}
	at := bytes.IndexAny(whole, ",. '")
	if at < 0 {
		if len(whole) > 0 && !areDigits(whole) || fraction == nil {
			return Text
		}
		return localNumber
	}
	groups := bytes.Split(whole, whole[at:at+1])
	isLast := fraction != nil && digits[len(whole)] == whole[at] // so the last group is one as well
	for i, group := range groups {
		if !areDigits(group) || i > 0 && len(group) != 3 || i == 0 && len(group) > 3 {
			return Text
		}
	}
	if isLast && len(fraction) != 3 {
		return Text
	}
	return localNumber
}

func areDigits(text []byte) bool {
	for _, c := range text {
		if c < '0' || c > '9' {
			return false
		}
	}
	return len(text) > 0
}

// dateOf returns the type of a date or a time, and Text for others.
func dateOf(value []byte) Type {
	switch {
	case isShaped(value, "0000-00-00"):
		return Date
	case len(value) > 10 && isShaped(value[:10], "0000-00-00") && (value[10] == ' ' || value[10] == 'T'):
		if isTime(value[11:]) {
			return Timestamp
		}
	case isTime(value):
		return Time
	}
	date, rest, _ := bytes.Cut(value, []byte(" "))
	for _, shape := range []string{
		"00.00.0000", "0.0.0000", "00.0.0000", "0.00.0000", "00/00/0000", "0/0/0000", "00/0/0000", "0/00/0000",
		"00/00/00", "0000/00/00", "00-00-0000", "00.00.00",
	} {
		if isShaped(date, shape) && (len(rest) == 0 || rest[0] >= '0' && rest[0] <= '9') {
			return localDate
		}
	}
	return Text
}

// isTime reports whether a text is a time of the day, perhaps with a fraction and a zone.
func isTime(text []byte) bool {
	if len(text) < 5 || !isShaped(text[:5], "00:00") {
		return false
	}
	rest := text[5:]
	if len(rest) >= 3 && isShaped(rest[:3], ":00") {
		if rest = rest[3:]; len(rest) > 1 && rest[0] == '.' {
			rest = bytes.TrimLeft(rest[1:], "0123456789")
		}
	}
	rest = bytes.TrimPrefix(rest, []byte(" "))
	switch zone := string(rest); {
	case zone == "" || zone == "Z" || zone == "UTC":
		return true
	case zone[0] == '+' || zone[0] == '-':
		return isShaped(rest[1:], "00") || isShaped(rest[1:], "0000") || isShaped(rest[1:], "00:00") ||
			isShaped(rest[1:], "00:00:00")
	}
	return false
}

// isShaped reports whether a text has a shape, in which 0 is a digit, x a hexadecimal one, and others are themselves.
func isShaped(text []byte, shape string) bool {
	if len(text) != len(shape) {
		return false
	}
	for i, c := range text {
		switch want := shape[i]; want {
		case '0':
			if c < '0' || c > '9' {
				return false
			}
		case 'x':
			if strings.IndexByte("0123456789abcdefABCDEF", c) < 0 {
				return false
			}
		default:
			if c != want {
				return false
			}
		}
	}
	return true
}

// weightOf says how much a value looks like one, from 0 to 1. Text that has what delimits, quotes or escapes in some
// dialect was probably read in another one.
func (c *candidate) weightOf(value []byte, t Type) float64 {
	if t != Text || string(value) == `\N` {
		return 1
	}
	first, last := value[0], value[len(value)-1]
	switch {
	case last == '\r':
		return 0.3 // which is of the line end
	case c.dialect.Escapes == format.EscapeLetters && bytes.ContainsAny(value, "\t\r\n"):
		return 0.85 // which were escaped
	case first == '"' || last == '"', first == '\'' && last == '\'' && len(value) > 1:
		return 0
	case first == ' ' || last == ' ':
		return 0.5
	case bytes.ContainsAny(value, ",;\t|\x01\x1f"):
		return 0.4
	case bytes.ContainsAny(value, "\r\n"):
		return 0.85
	case isWindowsPath(value):
	case bytes.Contains(value, []byte(`\\`)):
		return 0.7 // each of which was perhaps escaped
	case bytes.IndexByte(value, '\\') >= 0:
		return 0.8
	case !isPrintable(value):
		return 0.3
	}
	return 0.9
}

func isWindowsPath(value []byte) bool {
	return len(value) > 2 && value[1] == ':' && value[2] == '\\' && (len(value) == 3 || value[3] != '\\') ||
		bytes.HasPrefix(value, []byte(`\\`))
}

func isPrintable(value []byte) bool {
	for i := 0; i < len(value); {
		r, n := utf8.DecodeRune(value[i:])
		if r < ' ' || r == utf8.RuneError || unicode.IsControl(r) {
			return false
		}
		i += n
	}
	return true
}
