package dialect

import (
	"errors"
	"strings"

	"culvert/source"
)

// CheckCondition refuses a text that in parentheses could end them, so that it would not be one condition: one with
// parentheses that do not match, or with quotes or comments that do not end. It also refuses what only some modes or
// versions of a server read so. A condition that passes may still be wrong in other ways, which the server reports.
//
// It may end in a comment: a line break has to come before what follows it.
func CheckCondition(d source.Dialect, condition string) error {
	s := &conditionScanner{dialect: d.Family(), rest: condition}
	depth := 0
	for s.rest != "" {
		sign, err := s.next()
		switch {
		case err != nil:
			return err
		case sign == '(':
			depth++
		case sign == ')':
			depth--
		}
		if depth < 0 {
			return errors.New("dialect: a parenthesis is closed that was not opened")
		}
	}
	if depth > 0 {
		return errors.New("dialect: a parenthesis is not closed")
	}
	return nil
}

// conditionScanner cuts SQL that a person has written into quoted texts, comments, words and signs. The rules are those
// of the servers' lexers: scan.l of PostgreSQL, with standard_conforming_strings, sql_lex.cc of MySQL and MariaDB, and
// tokenize.c of SQLite.
type conditionScanner struct {
	dialect source.Dialect
	rest    string
	escapes bool // the last token was a text of PostgreSQL with escapes, which a text that follows continues
}

// next skips a token. It returns it if it is a sign, and otherwise 0.
func (s *conditionScanner) next() (byte, error) {
	continued := s.escapes
	c := s.rest[0]
	if strings.IndexByte(" \t\r\n\f\v", c) >= 0 {
		s.rest = s.rest[1:]
		return 0, nil
	}
	if is, err := s.comment(); is || err != nil {
		return 0, err
	}
	s.escapes = false
	switch {
	case c == '\'':
		return 0, s.text(1, continued)
	case c == '"', c == '`' && s.dialect != source.PostgreSQL:
		return 0, s.quoted(1, string(c))
	case c == '[' && s.dialect == source.SQLite:
		return 0, s.until(1, "]")
	case c == '$' && s.dialect == source.PostgreSQL:
		return 0, s.dollar()
	case c == '$' && s.dialect == source.MySQL:
		return 0, errors.New("dialect: some servers take a $ for the beginning of a text: put names that begin with " +
			"it in quotes")
	case s.dialect == source.SQLite && strings.IndexByte("$@:#", c) >= 0:
		return 0, errors.New("dialect: it has parameters, but no values for them") // their names may have a quote
	case isNamePart(c):
		return 0, s.word()
	}
	s.rest = s.rest[1:]
	return c, nil
}

// word skips a name, a keyword or a number. An E before a text says that it has escapes.
func (s *conditionScanner) word() error {
	size := 1
	for size < len(s.rest) && (isNamePart(s.rest[size]) || s.rest[size] == '$') {
		size++
	}
	isE := s.dialect == source.PostgreSQL && strings.EqualFold(s.rest[:size], "e")
	if isE && strings.HasPrefix(s.rest[size:], "'") {
		return s.text(size+1, true)
	}
	s.rest = s.rest[size:]
	return nil
}

func isNamePart(c byte) bool {
	return c == '_' || c >= 0x80 || '0' <= c && c <= '9' || 'a' <= c|0x20 && c|0x20 <= 'z'
}

// text skips a text in quotes, the first of which is before the place at.
func (s *conditionScanner) text(at int, escapes bool) error {
	if !escapes {
		return s.quoted(at, "'")
	}
	s.escapes = true
	for ; at < len(s.rest); at++ {
		switch s.rest[at] {
		case '\\':
			at++
		case '\'':
			s.rest = s.rest[at+1:] // a doubled one begins a text that continues this one
			return nil
		}
	}
	return errors.New("dialect: a text in ' does not end")
}

// quoted skips what is in quotes without escapes. A doubled quote begins another one at once.
func (s *conditionScanner) quoted(at int, mark string) error {
	end := strings.Index(s.rest[at:], mark)
	if end < 0 {
		return errors.New("dialect: a text in " + mark + " does not end")
	}
	inside := s.rest[at : at+end]
	if before := len(inside) - len(strings.TrimRight(inside, `\`)); before%2 == 1 && s.dialect == source.MySQL &&
		mark != "`" {
		return errors.New(`dialect: whether \` + mark + " ends a text is a setting of the server: write " + mark + mark)
	}
	s.rest = s.rest[at+end+1:]
	return nil
}

// until skips everything up to an end.
func (s *conditionScanner) until(at int, end string) error {
	size := strings.Index(s.rest[at:], end)
	if size < 0 {
		return errors.New("dialect: " + s.rest[:at] + " has no " + end)
	}
	s.rest = s.rest[at+size+len(end):]
	return nil
}

// dollar skips a text in dollar quotes, such as $$…$$ and $name$…$name$, or a dollar sign, such as that of $1.
func (s *conditionScanner) dollar() error {
	size := 1
	for size < len(s.rest) && isNamePart(s.rest[size]) {
		size++
	}
	isTag := size == 1 || s.rest[1] < '0' || s.rest[1] > '9'
	if !isTag || size == len(s.rest) || s.rest[size] != '$' {
		s.rest = s.rest[1:]
		return nil
	}
	return s.until(size+1, s.rest[:size+1])
}

// comment skips a comment, if there is one. It may end where the condition does if it ends with its line.
func (s *conditionScanner) comment() (bool, error) {
	ends := "\n"
	if s.dialect == source.PostgreSQL {
		ends = "\n\r"
	}
	switch rest := s.rest; {
	case strings.HasPrefix(rest, "--") && (s.dialect != source.MySQL || len(rest) == 2 || rest[2] <= ' ' ||
		rest[2] == 0x7f), rest[0] == '#' && s.dialect == source.MySQL:
		size := strings.IndexAny(rest, ends)
		if size < 0 {
			size = len(rest)
		}
		s.rest = rest[size:]
		return true, nil
	case !strings.HasPrefix(rest, "/*"):
		return false, nil
	case s.dialect == source.PostgreSQL:
		return true, s.nested()
	case s.dialect == source.MySQL && (strings.HasPrefix(rest, "/*!") || strings.HasPrefix(rest, "/*M!")):
		return true, errors.New("dialect: a comment is one that some servers run")
	}
	return true, s.until(2, "*/")
}

// nested skips a comment in which others may be.
func (s *conditionScanner) nested() error {
	depth := 0
	for at := 0; at+1 < len(s.rest); at++ {
		switch s.rest[at : at+2] {
		case "/*":
			depth++
			at++
		case "*/":
			depth--
			at++
		}
		if depth == 0 {
			s.rest = s.rest[at+1:]
			return nil
		}
	}
	return errors.New("dialect: /* has no */")
}
