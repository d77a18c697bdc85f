package mask

import "strings"

// reference is a foreign key.
type reference struct {
	columns       []string
	schema, table string   // the schema is "" if it is not said
	parents       []string // none for the primary key
}

// parseReference reads the definition of a foreign key as a server prints it, up to the columns that it refers to.
func parseReference(definition string) (r reference, is bool) {
	s := &scanner{definition}
	if !s.word("foreign") || !s.word("key") {
		return r, false
	}
	if r.columns, is = s.names(); !is || !s.word("references") {
		return r, false
	}
	if r.table, is = s.name(); is && s.sign('.') {
		r.schema = r.table
		r.table, is = s.name()
	}
	if !is {
		return r, false
	}
	r.parents, _ = s.names()
	return r, true
}

// scanner reads SQL.
type scanner struct{ rest string }

func (s *scanner) space() { s.rest = strings.TrimLeft(s.rest, " \t\r\n") }

func (s *scanner) word(word string) bool {
	s.space()
	if len(s.rest) < len(word) || !strings.EqualFold(s.rest[:len(word)], word) || beginsWithWord(s.rest[len(word):]) {
		return false
	}
	s.rest = s.rest[len(word):]
	return true
}

func (s *scanner) sign(sign byte) bool {
	s.space()
	if s.rest == "" || s.rest[0] != sign {
		return false
	}
	s.rest = s.rest[1:]
	return true
}

// name reads a name, with quotes or without.
func (s *scanner) name() (string, bool) {
	s.space()
	for _, quote := range []string{`"`, "`"} {
		rest, quoted := strings.CutPrefix(s.rest, quote)
		if !quoted {
			continue
		}
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
	n := 0
	for n < len(s.rest) && (isWord(s.rest[n]) || s.rest[n] == '$') {
		n++
	}
	name := s.rest[:n]
	s.rest = s.rest[n:]
	return name, n > 0
}

// names reads names in parentheses.
func (s *scanner) names() (names []string, is bool) {
	if !s.sign('(') {
		return nil, false
	}
	for {
		name, is := s.name()
		if !is {
			return nil, false
		}
		names = append(names, name)
		if s.sign(')') {
			return names, true
		}
		if !s.sign(',') {
			return nil, false
		}
	}
}
