package canonical

import (
	"strconv"
)

// number takes a number. Its canonical text has no zeros at the end of the fraction, and no exponent.
func (p *jsonPrinter) number() bool {
	start := p.at
	if p.at < len(p.text) && p.text[p.at] == '-' {
		p.at++
	}
	whole := digits(p.text[p.at:])
	if whole == 0 || whole > maxWhole || whole > 1 && p.text[p.at] == '0' {
		return false
	}
	p.at += whole
	fraction := 0
	if p.at < len(p.text) && p.text[p.at] == '.' {
		fraction = digits(p.text[p.at+1:])
		if fraction == 0 || fraction > maxFraction {
			return false
		}
		p.at += 1 + fraction
	}
	mantissa := p.text[start:p.at]
	exponent := 0
	if p.at < len(p.text) && (p.text[p.at] == 'e' || p.text[p.at] == 'E') {
		from := p.at + 1
		p.at = from
		if p.at < len(p.text) && (p.text[p.at] == '-' || p.text[p.at] == '+') {
			p.at++
		}
		n := digits(p.text[p.at:])
		p.at += n
		var err error
		if exponent, err = strconv.Atoi(string(p.text[from:p.at])); n == 0 || err != nil {
			return false
		}
	}
	if exponent == 0 && p.at == start+len(mantissa) && isDecimal(mantissa, noScale) {
		p.out = append(p.out, mantissa...) // as most are
		return true
	}
	n, _ := parseNumber(mantissa)
	if exponent == 0 {
		p.out = n.append(p.out, 0)
		return true
	}
	return p.shifted(n, fraction, exponent)
}

// shifted appends a number whose exponent is not 0, and whose fraction had so many digits.
func (p *jsonPrinter) shifted(n number, fraction, exponent int) bool {
	if exponent > maxWhole || exponent < -maxDigits {
		return false
	}
	if len(n.whole)+len(n.fraction) == 0 {
		p.out = n.append(p.out, 0)
		return true
	}
	if fraction-exponent > maxFraction {
		return false // jsonb refuses it, even if it ends with zeros
	}
	n.exponent = exponent
	begin := len(p.out)
	var ok bool
	if p.out, ok = n.shift(p.out); !ok {
		return false
	}
	plain, _ := parseNumber(p.out[begin:])
	moved := len(p.out)
	p.out = plain.append(p.out, 0)
	p.out = append(p.out[:begin], p.out[moved:]...)
	return len(p.out)-p.first <= longest(len(p.text))
}

// longest returns the size of the longest canonical text of JSON of a size. Spaces double it at most, but the digits
// for which exponents stand have no such bound: one number may have as many as any has, but not all of them.
func longest(size int) int { return 2*size + maxDigits }
