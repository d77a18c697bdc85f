package source

import "strings"

// Reference is what a foreign key says.
type Reference struct {
	Columns       []string // of the table that has the key
	Schema, Table string   // to which it refers; the schema is "" if it is the same as that of the table with the key
	Key           []string // the columns there, as many as Columns; none for the primary key

	// Rest is what follows, as SQL, such as "ON DELETE CASCADE", or "".
	Rest string
}

// Reference reads the definition of a foreign key. It returns false for other constraints, and for foreign keys that
// say more of their columns than names, such as PERIOD.
func (c Constraint) Reference() (r Reference, ok bool) {
	if c.Kind != ForeignKey {
		return Reference{}, false
	}
	s := &nameScanner{c.Definition}
	if !s.word("foreign") || !s.word("key") {
		return Reference{}, false
	}
	if r.Columns, ok = s.names(); !ok || !s.word("references") {
		return Reference{}, false
	}
	if r.Table, ok = s.name(); ok && s.sign('.') {
		r.Schema = r.Table
		r.Table, ok = s.name()
	}
	if !ok {
		return Reference{}, false
	}
	if s.space(); strings.HasPrefix(s.rest, "(") {
		if r.Key, ok = s.names(); !ok || len(r.Key) != len(r.Columns) {
			return Reference{}, false
		}
	}
	r.Rest = strings.TrimRight(s.rest, spaces)
	return r, true
}

// spaces are between words of SQL.
const spaces = " \t\r\n"

// nameScanner reads SQL as far as foreign keys need.
type nameScanner struct{ rest string }

func (s *nameScanner) space() { s.rest = strings.TrimLeft(s.rest, spaces) }

// word reads a keyword.
func (s *nameScanner) word(word string) bool {
	s.space()
	n := wordLength(s.rest)
	if !strings.EqualFold(s.rest[:n], word) {
		return false
	}
	s.rest = s.rest[n:]
	s.space()
	return true
}

func (s *nameScanner) sign(sign byte) bool {
	s.space()
	if s.rest == "" || s.rest[0] != sign {
		return false
	}
	s.rest = s.rest[1:]
	s.space()
	return true
}

// name reads a name, with quotes or without.
func (s *nameScanner) name() (string, bool) {
	s.space()
	if s.rest == "" || s.rest[0] != '"' && s.rest[0] != '`' {
		n := wordLength(s.rest)
		name := s.rest[:n]
		s.rest = s.rest[n:]
		return name, n > 0
	}
	quote, rest := s.rest[:1], s.rest[1:]
	var name strings.Builder
	for {
		part, after, found := strings.Cut(rest, quote)
		if !found {
			return "", false
		}
		name.WriteString(part)
		if rest, found = strings.CutPrefix(after, quote); !found {
			s.rest = after
			return name.String(), true
		}
		name.WriteString(quote)
	}
}

// names reads names in parentheses.
func (s *nameScanner) names() (names []string, ok bool) {
	for mark := byte('('); s.sign(mark); mark = ',' {
		name, ok := s.name()
		if !ok {
			return nil, false
		}
		names = append(names, name)
	}
	return names, len(names) > 0 && s.sign(')')
}

// wordLength returns the number of bytes at the beginning of a text that are a keyword, or a name without quotes.
func wordLength(text string) int {
	for i := range len(text) {
		switch b := text[i]; {
		case b == '_', b >= 0x80, 'a' <= b|0x20 && b|0x20 <= 'z':
		case i > 0 && (b == '$' || '0' <= b && b <= '9'):
		default:
			return i
		}
	}
	return len(text)
}
