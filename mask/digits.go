package mask

import (
	"slices"
	"unicode/utf8"

	"culvert/source"
)

// digits masks numbers of phones, payment cards and accounts, as people write them. It does what the rule text does,
// except that check digits stay right: those of payment cards (ISO/IEC 7812-1, Luhn) and of IBANs (ISO 13616, ISO 7064
// MOD 97-10). A number that has a right check digit becomes another one that has, and a number that has not does not,
// so that no two become equal.
type digits struct {
	column  source.Column
	shape   *shaper
	numbers *numberHash

	ahead  []numbered // the numbers of this batch that look has permuted
	values []bool     // for each value of this batch except NULL, whether its number is in ahead
	used   int        // of ahead
	next   int        // of values

	card []byte
	iban []byte
}

func newDigits(k *Key, c source.Column) *digits {
	return &digits{column: c, shape: newShaper(k), numbers: newNumberHash(newPermuter(k, "number"), c)}
}

// look permutes the numbers that have neither letters nor a check digit, as most have.
func (d *digits) look(src *source.Batch, column int) (row int, err error) {
	d.ahead, d.values, d.used, d.next = d.ahead[:0], d.values[:0], 0, 0
	for row := range src.Rows() {
		kind, value := src.AnyValue(row, column)
		if kind == source.Null {
			continue
		}
		if kind != source.Text && kind != source.Number {
			return row, errNotText
		}
		value = trimmed(d.column, value)
		one, is := digitsOf(value)
		if is = is && kind == source.Text && one.n > 1 && !d.isCard(value); is {
			d.ahead = append(d.ahead, one)
		}
		d.values = append(d.values, is)
	}
	d.shape.permuter.numbers(d.ahead)
	return 0, nil
}

func (d *digits) append(dst []byte, kind source.Kind, value []byte) (source.Kind, []byte, error) {
	if d.next < len(d.values) {
		d.next++
		if d.values[d.next-1] {
			d.used++
			return kind, appendWithDigits(dst, trimmed(d.column, value), d.ahead[d.used-1].x), nil
		}
	}
	if kind == source.Number {
		dst, err := d.numbers.append(dst, value)
		return kind, dst, err
	}
	if kind != source.Text {
		return kind, dst, errNotText
	}
	value = trimmed(d.column, value)
	if d.isCard(value) {
		return kind, appendCard(dst, value, d.card, d.shape), nil
	}
	if dst, is := d.shape.permuter.digits(dst, value); is {
		return kind, dst, nil // without letters it is no IBAN
	}
	if !utf8.Valid(value) {
		return kind, dst, errNotUTF8
	}
	if d.iban = parseIBAN(d.iban[:0], value); len(d.iban) > 0 {
		return kind, appendIBAN(dst, value, d.iban, d.shape), nil
	}
	// It must not become an IBAN, as one of a hundred that look like one would.
	begin := len(dst)
	dst = d.shape.append(dst, value)
	for d.iban = parseIBAN(d.iban[:0], dst[begin:]); len(d.iban) > 0; d.iban = parseIBAN(d.iban[:0], dst[begin:]) {
		again := slices.Clone(dst[begin:])
		dst = d.shape.append(dst[:begin], again)
	}
	return kind, dst, nil
}

// isCard reports whether a text may be the number of a card, and keeps its digits.
func (d *digits) isCard(text []byte) bool {
	d.card = cardDigits(d.card[:0], text)
	return len(d.card) > 0
}

const (
	leastCard = 12
	mostCard  = 19
)

// cardDigits appends the digits of a text that may be the number of a card. It returns none if it is something else.
func cardDigits(digits, text []byte) []byte {
	for _, b := range text {
		switch {
		case isDigit(b):
			digits = append(digits, b)
		case b != ' ' && b != '-':
			return digits[:0]
		}
	}
	if len(digits) < leastCard || len(digits) > mostCard {
		return digits[:0]
	}
	return digits
}

// luhn returns the check digit that follows digits.
func luhn(digits []byte) byte {
	sum := 0
	for i := range digits {
		n := int(digits[len(digits)-1-i] - '0')
		if i%2 == 0 {
			if n *= 2; n > 9 {
				n -= 9
			}
		}
		sum += n
	}
	return '0' + byte((10-sum%10)%10)
}

func isLuhn(digits []byte) bool { return luhn(digits[:len(digits)-1]) == digits[len(digits)-1] }

// appendCard appends a number in the layout of the text.
func appendCard(dst, text, digits []byte, shape *shaper) []byte {
	if last := len(digits) - 1; isLuhn(digits) {
		digits, _ = shape.permuter.digits(digits[:0], digits[:last])
		digits = append(digits, luhn(digits))
	} else {
		for again := true; again; again = isLuhn(digits) {
			digits, _ = shape.permuter.digits(digits[:0], digits)
		}
	}
	next := 0
	for _, b := range text {
		if isDigit(b) {
			b = digits[next]
			next++
		}
		dst = append(dst, b)
	}
	return dst
}

const (
	leastIBAN = 15
	mostIBAN  = 34
)

// parseIBAN appends the characters of an IBAN, without spaces. It returns none if the text is none, or its check digits
// are wrong.
func parseIBAN(iban, text []byte) []byte {
	if len(text) < leastIBAN || len(text) > mostIBAN+mostIBAN/4 {
		return iban[:0]
	}
	for _, b := range text {
		switch {
		case isDigit(b), 'A' <= b && b <= 'Z':
			iban = append(iban, b)
		case b != ' ':
			return iban[:0]
		}
	}
	if len(iban) < leastIBAN || len(iban) > mostIBAN || isDigit(iban[0]) || isDigit(iban[1]) {
		return iban[:0]
	}
	if tens, ones := checkIBAN(iban); iban[2] != tens || iban[3] != ones {
		return iban[:0]
	}
	return iban
}

// checkIBAN returns the check digits.
func checkIBAN(iban []byte) (tens, ones byte) {
	rest := 0
	add := func(b byte) {
		if isDigit(b) {
			rest = (rest*10 + int(b-'0')) % 97
		} else {
			rest = (rest*100 + int(b-'A') + 10) % 97
		}
	}
	for _, b := range iban[4:] {
		add(b)
	}
	add(iban[0])
	add(iban[1])
	add('0')
	add('0')
	check := 98 - rest
	return '0' + byte(check/10), '0' + byte(check%10)
}

// appendIBAN appends an IBAN of the same country, in the layout of the text.
func appendIBAN(dst, text, iban []byte, shape *shaper) []byte {
	masked := shape.append(iban[len(iban):], iban[4:])
	copy(iban[4:], masked)
	iban[2], iban[3] = checkIBAN(iban)
	next := 0
	for _, b := range text {
		if b != ' ' {
			b = iban[next]
			next++
		}
		dst = append(dst, b)
	}
	return dst
}
