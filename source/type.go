package source

import (
	"fmt"
	"strconv"
	"strings"
)

// Type is the logical type of a column: what its values are, whatever the database calls them. Equal types are ==. The
// zero value is the type of a column of which nothing is known.
//
// The text of a type, in manifests too, is one of these:
//
//	bool           t or f
//	int16          whole numbers of 16 bits with a sign; also int32 and int64
//	float32        binary floating-point numbers, NaN and infinities; also float64
//	decimal(p,s)   exact numbers of p digits, s of them after the point; decimal has no bounds
//	string(n)      up to n characters; string has no bound
//	char(n)        n characters; spaces at the end do not count
//	bytes          binary data
//	date           a day
//	time(p)        a time of day with p digits after the second; time has 6
//	timestamp(p)   a day and a time of day, in no zone
//	instant(p)     a moment, whatever the zone in which a session prints it
//	interval       a span of time
//	uuid           128 bits
//	json           a JSON document
//	enum           one of the names that the definition of the column has
//	list(T)        an array of values of the type T, of any number of dimensions
//	unknown        anything else
type Type struct {
	Class Class

	Bits      int  // of Int: 16, 32 or 64; of Float: 32 or 64
	Precision int  // of Decimal: digits, or 0 for no bounds; of Time, Timestamp and Instant: digits after the second
	Scale     int  // of Decimal: digits after the point
	Length    int  // of String and Char: characters, or 0 for no bound
	List      bool // the values are arrays of such values
}

// Class says which values a [Type] has, but for their size.
type Class uint8

// The classes of types. Type lists what they mean.
const (
	UnknownClass Class = iota
	BoolClass
	IntClass
	FloatClass
	DecimalClass
	StringClass
	CharClass
	BytesClass
	DateClass
	TimeClass
	TimestampClass
	InstantClass
	IntervalClass
	UUIDClass
	JSONClass
	EnumClass
)

var classes = [...]string{
	"unknown", "bool", "int", "float", "decimal", "string", "char", "bytes", "date", "time", "timestamp", "instant",
	"interval", "uuid", "json", "enum",
}

// String returns the name of the class, which begins the text of its types.
func (c Class) String() string {
	if int(c) < len(classes) {
		return classes[c]
	}
	return fmt.Sprintf("class(%d)", uint8(c))
}

// secondDigits are those of a Time, Timestamp or Instant whose text does not tell them.
const secondDigits = 6

// String returns the text of the type.
func (t Type) String() string {
	text := t.Class.String()
	switch t.Class {
	case IntClass, FloatClass:
		text += strconv.Itoa(t.Bits)
	case DecimalClass:
		if t.Precision > 0 {
			text = fmt.Sprintf("%s(%d,%d)", text, t.Precision, t.Scale)
		}
	case StringClass, CharClass:
		if t.Length > 0 {
			text = fmt.Sprintf("%s(%d)", text, t.Length)
		}
	case TimeClass, TimestampClass, InstantClass:
		if t.Precision != secondDigits {
			text = fmt.Sprintf("%s(%d)", text, t.Precision)
		}
	default: // the others have no size
	}
	if t.List {
		return "list(" + text + ")"
	}
	return text
}

// ParseType returns the type with a text.
func ParseType(text string) (Type, error) {
	t := Type{}
	rest := text
	if element, is := strings.CutPrefix(rest, "list("); is {
		t.List, rest = true, strings.TrimSuffix(element, ")")
	}
	name, sizes, _ := strings.Cut(rest, "(")
	var numbers []int
	for digits := range strings.SplitSeq(strings.TrimSuffix(sizes, ")"), ",") {
		if n, err := strconv.Atoi(digits); err == nil {
			numbers = append(numbers, n)
		}
	}
	word := strings.TrimRight(name, "0123456789")
	for class, known := range classes {
		if known == word {
			t.Class = Class(class)
		}
	}
	t.setSizes(strings.TrimPrefix(name, word), numbers)
	if t.String() != text || !t.valid() {
		return Type{}, fmt.Errorf("source: %q is no type", text)
	}
	return t, nil
}

// setSizes sets what the numbers in a text mean for the class.
func (t *Type) setSizes(bits string, numbers []int) {
	switch t.Class {
	case IntClass, FloatClass:
		t.Bits, _ = strconv.Atoi(bits)
	case DecimalClass:
		if len(numbers) == 2 {
			t.Precision, t.Scale = numbers[0], numbers[1]
		}
	case StringClass, CharClass:
		if len(numbers) == 1 {
			t.Length = numbers[0]
		}
	case TimeClass, TimestampClass, InstantClass:
		t.Precision = secondDigits
		if len(numbers) == 1 {
			t.Precision = numbers[0]
		}
	default: // the others have no size
	}
}

// valid reports whether the sizes of a type that was read are possible.
func (t Type) valid() bool {
	switch t.Class {
	case IntClass:
		return t.Bits == 16 || t.Bits == 32 || t.Bits == 64
	case FloatClass:
		return t.Bits == 32 || t.Bits == 64
	case TimeClass, TimestampClass, InstantClass:
		return t.Precision >= 0 && t.Precision <= 9
	default:
		return t.Precision >= 0 && t.Length >= 0
	}
}

// IsZero reports whether nothing is known of the values.
func (t Type) IsZero() bool { return t == Type{} }

// MarshalText returns the text of the type.
func (t Type) MarshalText() ([]byte, error) { return []byte(t.String()), nil }

// UnmarshalText reads the text of a type.
func (t *Type) UnmarshalText(text []byte) (err error) {
	*t, err = ParseType(string(text))
	return err
}
