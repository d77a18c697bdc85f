// Package namepattern chooses tables and columns by patterns, such as audit.*, *_old, or *.email.
//
// A pattern is a glob for each part of a name, with periods between them. It may have fewer parts than a name, and then
// matches the last ones: orders matches the table of this name in every schema, and *.email the column email of every
// table.
//
//   - any characters, or none, within one part
//     ?        any one character
//     [a-z]    one of these characters; [!a-z] and [^a-z] one of the others
//     "a.b"    these characters as they are; "" within them is a quote. `a.b` is the same.
//
// Letter case counts, since names differ in it. A part of a name may have periods and quotes of its own, because
// callers pass the parts apart: no text of a database is parsed.
package namepattern

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// MaxLength is the most bytes of a pattern.
const MaxLength = 4096

// Pattern is a parsed pattern. It is safe for concurrent use.
type Pattern struct {
	text  string
	parts [][]token
}

// token matches a single character, or for many any characters.
type token struct {
	literal rune
	kind    kind
	ranges  [][2]rune // of a class
	negated bool
}

type kind uint8

const (
	literal kind = iota
	any1
	many
	class
)

// SyntaxError reports a text that is no pattern.
type SyntaxError struct {
	Text   string
	Offset int // in bytes
	Reason string
}

func (e *SyntaxError) Error() string {
	return fmt.Sprintf("the pattern %q %s (at character %d)", e.Text, e.Reason, e.Offset+1)
}

// Parse parses a pattern of at most parts parts: 2 for tables, whose names have a schema, and 3 for columns. The error
// is a [*SyntaxError].
func Parse(text string, parts int) (*Pattern, error) {
	p := &parser{text: text}
	if len(text) > MaxLength || !utf8.ValidString(text) {
		return nil, p.fail("is not UTF-8, or too long")
	}
	pattern := &Pattern{text: text}
	for {
		one, err := p.part()
		if err != nil {
			return nil, err
		}
		pattern.parts = append(pattern.parts, one)
		if p.at == len(text) {
			break
		}
		p.at++ // the period
	}
	if len(pattern.parts) > parts {
		p.at = 0
		return nil, p.fail(fmt.Sprintf(
			"has %d parts, and %d at most fit a name; put quotes around a part that has a period", len(pattern.parts),
			parts))
	}
	return pattern, nil
}

// parser is at a byte of a text.
type parser struct {
	text string
	at   int
}

func (p *parser) fail(reason string) error {
	return &SyntaxError{Text: p.text, Offset: p.at, Reason: reason}
}

// next returns the next character, or 0 at the end.
func (p *parser) next() rune {
	r, size := utf8.DecodeRuneInString(p.text[p.at:])
	if size == 0 {
		return 0
	}
	p.at += size
	return r
}

// part parses up to the next period, or to the end.
func (p *parser) part() (tokens []token, err error) {
	quoted := false // "" is an empty name, and nothing is none
	for p.at < len(p.text) && p.text[p.at] != '.' {
		switch r := p.next(); r {
		case '*':
			if len(tokens) == 0 || tokens[len(tokens)-1].kind != many {
				tokens = append(tokens, token{kind: many})
			}
		case '?':
			tokens = append(tokens, token{kind: any1})
		case '[':
			one, err := p.class()
			if err != nil {
				return nil, err
			}
			tokens = append(tokens, one)
		case '"', '`':
			quoted = true
			if tokens, err = p.quoted(tokens, r); err != nil {
				return nil, err
			}
		default:
			tokens = append(tokens, token{literal: r})
		}
	}
	if len(tokens) == 0 && !quoted {
		return nil, p.fail("has an empty part")
	}
	return tokens, nil
}

// quoted parses what follows a quote.
func (p *parser) quoted(tokens []token, quote rune) ([]token, error) {
	begin := p.at - 1
	for p.at < len(p.text) {
		r := p.next()
		if r == quote {
			if p.at == len(p.text) || rune(p.text[p.at]) != quote {
				return tokens, nil
			}
			p.at++
		}
		tokens = append(tokens, token{literal: r})
	}
	p.at = begin
	return nil, p.fail("has a quote without an end")
}

// class parses what follows a bracket.
func (p *parser) class() (token, error) {
	begin := p.at - 1
	t := token{kind: class}
	if p.at < len(p.text) && (p.text[p.at] == '!' || p.text[p.at] == '^') {
		t.negated = true
		p.at++
	}
	for first := true; p.at < len(p.text); first = false {
		from := p.next()
		if from == ']' && !first {
			return t, nil
		}
		to := from
		if rest := p.text[p.at:]; len(rest) > 1 && rest[0] == '-' && rest[1] != ']' {
			p.at++
			to = p.next()
		}
		if to < from {
			return t, p.fail("has a range that ends before it begins")
		}
		t.ranges = append(t.ranges, [2]rune{from, to})
	}
	p.at = begin
	return t, p.fail("has a [ without a ]")
}

// String returns the text of the pattern.
func (p *Pattern) String() string { return p.text }

// Parts returns the number of parts of the pattern.
func (p *Pattern) Parts() int { return len(p.parts) }

// Match reports whether the pattern matches the last parts of a name: a schema and a table, or these and a column. A
// pattern with more parts than the name does not match it.
func (p *Pattern) Match(name ...string) bool {
	if len(p.parts) > len(name) {
		return false
	}
	for i, part := range name[len(name)-len(p.parts):] {
		if !match(p.parts[i], part) {
			return false
		}
	}
	return true
}

// match takes at most as many steps as the product of both lengths: after a mismatch, only the last * takes one more.
func match(tokens []token, name string) bool {
	at, rest := 0, name
	star, from := -1, "" // the last *, and what follows the characters that it has taken
	for rest != "" || at < len(tokens) {
		if at < len(tokens) && tokens[at].kind == many {
			star, from = at, rest
			at++
			continue
		}
		if rest != "" && at < len(tokens) {
			r, size := utf8.DecodeRuneInString(rest)
			if tokens[at].matches(r) {
				at, rest = at+1, rest[size:]
				continue
			}
		}
		if star < 0 || from == "" {
			return false
		}
		_, size := utf8.DecodeRuneInString(from)
		from = from[size:]
		at, rest = star+1, from
	}
	return true
}

func (t *token) matches(r rune) bool {
	switch t.kind {
	case any1:
		return true
	case class:
		for _, one := range t.ranges {
			if one[0] <= r && r <= one[1] {
				return !t.negated
			}
		}
		return t.negated
	}
	return t.literal == r
}

// Quote returns the pattern that matches only one name.
func Quote(name ...string) string {
	quoted := make([]string, len(name))
	for i, part := range name {
		quoted[i] = part
		if part == "" || strings.ContainsAny(part, "*?[.\"`") {
			quoted[i] = `"` + strings.ReplaceAll(part, `"`, `""`) + `"`
		}
	}
	return strings.Join(quoted, ".")
}
