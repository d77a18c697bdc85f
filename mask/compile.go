package mask

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"culvert/source"
)

var (
	errNotText   = errors.New("it is no text")
	errNotUTF8   = errors.New("it is not UTF-8")
	errNotNumber = errors.New("it is no number")
	errNotDate   = errors.New("it is no date")

	errTooManyDigits = errors.New("it has more digits than can be rounded")
)

// compile returns what masks the values of a column.
func (r Rule) compile(k *Key, c source.Column) (maker, error) {
	if err := r.fits(c); err != nil {
		return nil, err
	}
	switch r.name {
	case "null":
		return always(source.Null, nil), nil
	case "fixed":
		return r.fixed(c)
	case "keep":
		return func() masking { return r.keep(c) }, nil
	case "hash":
		return func() masking { return newHash(k, c) }, nil
	case "email":
		return func() masking { return newEmail(k, c) }, nil
	case "name", "address":
		return func() masking { return r.newWords(k, c) }, nil
	case "digits":
		if isWhole(c) {
			return func() masking { return newHash(k, c) }, nil
		}
		return func() masking { return newDigits(k, c) }, nil
	case "text":
		return func() masking { return newShaped(k, c) }, nil
	case "date":
		return func() masking { return r.newDate(k, c) }, nil
	case "number":
		return func() masking { return r.newNumber(k, c) }, nil
	case "json":
		return r.newJSON(k, c)
	}
	return nil, fmt.Errorf("the rule %s has no values", r)
}

func isText(t source.Type) bool {
	return t.Class == source.StringClass || t.Class == source.CharClass || t.Class == source.UnknownClass
}

func isWhole(c source.Column) bool {
	return c.Logical.Class == source.IntClass
}

// allowed are the classes that each rule can mask, besides text and columns of which nothing is known.
var allowed = map[string][]source.Class{
	"hash": {
		source.IntClass, source.DecimalClass, source.BytesClass, source.UUIDClass, source.DateClass,
	},
	"digits": {source.IntClass},
	"date":   {source.DateClass, source.TimestampClass, source.InstantClass},
	"number": {source.IntClass, source.DecimalClass, source.FloatClass},
	"json":   {source.JSONClass},
	"null":   nil, "fixed": nil,
}

// fits says why a rule cannot mask a column of this type.
func (r Rule) fits(c source.Column) error {
	t := c.Logical
	if r.name == "null" || r.name == "drop" || r.name == "fixed" {
		return nil
	}
	fits := isText(t)
	for _, class := range allowed[r.name] {
		fits = fits || class == t.Class
	}
	if t.List || !fits {
		return fmt.Errorf("the rule %s cannot mask the type %s (%s): use fixed, null, drop or another rule", r.name,
			c.Type, t)
	}
	if least := r.leastLength(); isText(t) && t.Length > 0 && t.Length < least {
		return fmt.Errorf("the rule %s needs %d characters, and the column has %d: use text, null or drop",
			r.name, least, t.Length)
	}
	return nil
}

// leastLength returns how many characters a column of text must have.
func (r Rule) leastLength() int {
	if r.name == "email" {
		return emailSize
	}
	return 0
}

// always returns a masking with one result.
func always(kind source.Kind, value []byte) maker {
	return func() masking {
		return each(func(dst []byte, _ source.Kind, _ []byte) (source.Kind, []byte, error) {
			return kind, append(dst, value...), nil
		})
	}
}

// fixed checks that the text is a value of the column, as far as that can be known.
func (r Rule) fixed(c source.Column) (maker, error) {
	kind, err := kindAs(c.Logical, r.text)
	if err != nil {
		return nil, fmt.Errorf("the text of the rule fixed is no value of the type %s: %w", c.Type, err)
	}
	return always(kind, []byte(r.text)), nil
}

// kindAs returns the kind of a text as a value of a type. The error says why it is none, as far as that can be known,
// and does not show the text.
func kindAs(t source.Type, text string) (kind source.Kind, err error) {
	kind = source.Text
	switch {
	case t.List:
	case t.Class == source.IntClass:
		kind = source.Number
		if _, wrong := strconv.ParseInt(text, 10, t.Bits); wrong != nil { // which shows the text
			err = fmt.Errorf("it is no whole number of %d bits", t.Bits)
		}
	case t.Class == source.FloatClass:
		kind = source.Number
		if _, wrong := strconv.ParseFloat(text, t.Bits); wrong != nil {
			err = errNotNumber
		}
	case t.Class == source.DecimalClass:
		kind = source.Number
		err = fitsDecimal(t, text)
	case t.Class == source.BoolClass:
		kind = source.Bool
		if text != "t" && text != "f" {
			err = errors.New("it must be t or f")
		}
	case t.Class == source.BytesClass:
		kind = source.Bytes
	case t.Class == source.JSONClass:
		kind = source.JSON
		if !validJSON([]byte(text)) {
			err = errNotJSON
		}
	case t.Class == source.DateClass, t.Class == source.TimestampClass, t.Class == source.InstantClass:
		d, is := parseDay([]byte(text))
		if text == "infinity" || text == "-infinity" {
			break
		}
		if !is || t.Class == source.DateClass && len(d.rest) > 0 && !hasBC(d.rest) {
			err = errNotDate
		}
	case t.Class == source.UUIDClass:
		if len(appendID(nil, []byte(text))) == 0 {
			err = errors.New("it is no UUID")
		}
	case isText(t) && t.Length > 0 && utf8.RuneCountInString(text) > t.Length:
		err = fmt.Errorf("it is longer than %d characters", t.Length)
	}
	return kind, err
}

// fitsDecimal says why a text is no number with the digits of a type. Zeros at both ends do not count, and numbers with
// an exponent are not counted.
func fitsDecimal(t source.Type, text string) error {
	if text == "NaN" || text == "Infinity" || text == "-Infinity" {
		return nil
	}
	var d decimal
	if !d.parse([]byte(text)) {
		return errNotNumber
	}
	if t.Precision == 0 || d.exponent {
		return nil
	}
	whole, rest, _ := strings.Cut(strings.TrimLeft(text, "+-"), ".")
	whole, rest = strings.TrimLeft(whole, "0"), strings.TrimRight(rest, "0")
	if len(whole) > max(0, t.Precision-t.Scale) || len(rest) > max(0, t.Scale) {
		return errScale
	}
	return nil
}

// keep masks all but the first or last characters. If there are no others, it keeps none.
func (r Rule) keep(c source.Column) masking {
	return each(func(dst []byte, kind source.Kind, value []byte) (source.Kind, []byte, error) {
		if kind != source.Text {
			return kind, dst, errNotText
		}
		value = trimmed(c, value)
		count := utf8.RuneCount(value)
		first, last := int(r.number), count // of those that are masked
		if r.part == "last" {
			first, last = 0, count-int(r.number)
		}
		if count <= int(r.number) {
			first, last = 0, count
		}
		at := 0
		for len(value) > 0 {
			_, n := utf8.DecodeRune(value)
			if first <= at && at < last {
				dst = append(dst, '*')
			} else {
				dst = append(dst, value[:n]...)
			}
			value = value[n:]
			at++
		}
		return kind, dst, nil
	})
}

// trimmed returns a value of text without the spaces at its end that its type does not count.
func trimmed(c source.Column, value []byte) []byte {
	if c.Logical.Class != source.CharClass {
		return value
	}
	for len(value) > 0 && value[len(value)-1] == ' ' {
		value = value[:len(value)-1]
	}
	return value
}
