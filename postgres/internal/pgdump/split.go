package pgdump

import (
	"fmt"
	"strings"
)

// Split cuts SQL of PostgreSQL, such as pg_dump prints, into its statements, without the semicolons and the comments
// between them. Strings have standard_conforming_strings. The rules are those of the server's lexer (scan.l), and of
// psql for the bodies of SQL functions (psqlscan.l): a semicolon ends no statement within parentheses, or between BEGIN
// ATOMIC and END of CREATE FUNCTION or PROCEDURE. A function may be called begin.
func Split(sql string) ([]string, error) {
	var statements []string
	s := splitter{rest: sql}
	for {
		one, err := s.next()
		if err != nil {
			return nil, err
		}
		if one == "" {
			return statements, nil
		}
		statements = append(statements, one)
	}
}

// splitter cuts one statement after the other.
type splitter struct {
	rest string

	words       []string // the first words of the statement, in lower case
	last        string   // the token before, if it is a word
	parentheses int
	blocks      int // of BEGIN ATOMIC and CASE that have no END yet
}

// mostWords is how many words tell whether a statement has a body: CREATE OR REPLACE FUNCTION.
const mostWords = 4

// next returns the next statement, or "" after the last one.
func (s *splitter) next() (string, error) {
	s.words, s.last, s.parentheses, s.blocks = nil, "", 0, 0
	if err := s.skipComments(); err != nil {
		return "", err
	}
	at := 0
	for at < len(s.rest) {
		if s.rest[at] == ';' && s.parentheses <= 0 && s.blocks == 0 {
			one := strings.TrimSpace(s.rest[:at])
			s.rest = s.rest[at+1:]
			if one == "" {
				return s.next()
			}
			return one, nil
		}
		length, err := s.token(s.rest[at:])
		if err != nil {
			return "", err
		}
		at += length
	}
	one := strings.TrimSpace(s.rest)
	if s.parentheses > 0 || s.blocks > 0 {
		return "", fmt.Errorf("postgres: a statement does not end: %.40q", one)
	}
	s.rest = ""
	return one, nil
}

// spaces are those of the server's lexer.
const spaces = " \t\r\n\f\v"

// skipComments skips spaces and comments before a statement, and the lines by which pg_dump restricts psql.
func (s *splitter) skipComments() error {
	for {
		s.rest = strings.TrimLeft(s.rest, spaces)
		length, err := comment(s.rest)
		if strings.HasPrefix(s.rest, `\restrict `) || strings.HasPrefix(s.rest, `\unrestrict `) {
			line, _, _ := strings.Cut(s.rest, "\n")
			length = len(line)
		}
		if err != nil || length == 0 {
			return err
		}
		s.rest = s.rest[length:]
	}
}

// token returns the length of the token at the beginning of the text, and notes what it says about blocks.
func (s *splitter) token(text string) (int, error) {
	if length, err := comment(text); length > 0 || err != nil {
		return length, err
	}
	if strings.IndexByte(spaces, text[0]) >= 0 {
		return 1, nil
	}
	last := s.last
	s.last = ""
	switch c := text[0]; {
	case c == '\'', c == '"':
		return quoted(text, 0, false)
	case c == '$':
		return dollarQuoted(text)
	case c == '(':
		s.parentheses++
	case c == ')':
		s.parentheses--
	case isWordStart(c):
		length := 1
		for length < len(text) && isWordPart(text[length]) {
			length++
		}
		if length == 1 && (c == 'e' || c == 'E') && strings.HasPrefix(text[1:], "'") {
			return quoted(text, 1, true)
		}
		s.last = strings.ToLower(text[:length])
		s.word(last, s.last)
		return length, nil
	case c >= '0' && c <= '9':
		length := 1
		for length < len(text) && isWordPart(text[length]) {
			length++ // a word that begins with a digit is none
		}
		return length, nil
	}
	return 1, nil
}

// word notes a word that is not quoted, and follows another one or "".
func (s *splitter) word(last, word string) {
	if len(s.words) < mostWords {
		s.words = append(s.words, word)
	}
	if s.parentheses != 0 || !s.hasBody() {
		return
	}
	switch {
	case last == "begin" && word == "atomic" && s.blocks == 0, word == "case" && s.blocks > 0:
		s.blocks++
	case word == "end" && s.blocks > 0:
		s.blocks--
	}
}

// hasBody reports whether the statement is one whose body may be between BEGIN and END.
func (s *splitter) hasBody() bool {
	words := s.words
	if len(words) > 2 && words[1] == "or" && words[2] == "replace" {
		words = append([]string{words[0]}, words[3:]...)
	}
	return len(words) > 1 && words[0] == "create" && (words[1] == "function" || words[1] == "procedure")
}

// comment returns the length of the comment at the beginning of the text, or 0. Comments in /* and */ nest.
func comment(text string) (int, error) {
	if strings.HasPrefix(text, "--") {
		if end := strings.IndexByte(text, '\n'); end >= 0 {
			return end + 1, nil
		}
		return len(text), nil
	}
	if !strings.HasPrefix(text, "/*") {
		return 0, nil
	}
	depth := 0
	for at := 0; at+1 < len(text); at++ {
		switch text[at : at+2] {
		case "/*":
			depth++
			at++
		case "*/":
			depth--
			at++
		}
		if depth == 0 {
			return at + 1, nil
		}
	}
	return 0, fmt.Errorf("postgres: a comment does not end: %.40q", text)
}

// quoted returns the length of a text in quotes, which are at a place in it, and which are doubled inside.
func quoted(text string, at int, backslashes bool) (int, error) {
	quote := text[at]
	for i := at + 1; i < len(text); i++ {
		switch {
		case text[i] == '\\' && backslashes:
			i++
		case text[i] == quote && i+1 < len(text) && text[i+1] == quote:
			i++
		case text[i] == quote:
			return i + 1, nil
		}
	}
	return 0, fmt.Errorf("postgres: a text in quotes does not end: %.40q", text)
}

// dollarQuoted returns the length of a text in dollar quotes, such as $$…$$ and $body$…$body$, or of a parameter.
func dollarQuoted(text string) (int, error) {
	length := 1
	for length < len(text) && text[length] != '$' && isWordPart(text[length]) {
		length++
	}
	if length == len(text) || text[length] != '$' || length > 1 && !isWordStart(text[1]) {
		return length, nil // such as $1
	}
	tag := text[:length+1]
	end := strings.Index(text[len(tag):], tag)
	if end < 0 {
		return 0, fmt.Errorf("postgres: a text in dollar quotes does not end: %.40q", text)
	}
	return 2*len(tag) + end, nil
}

func isWordStart(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c == '_' || c >= 0x80
}

func isWordPart(c byte) bool { return isWordStart(c) || c >= '0' && c <= '9' || c == '$' }
