// Package plantext finds in a plan of PostgreSQL, which EXPLAIN has printed, what the statement calls and compares
// with.
package plantext

import "strings"

// Mentions are what a plan mentions. The server prints names in lower case or in quotes, keywords in upper case, the
// parenthesis of a call directly after its name, and quotes in a text doubled.
type Mentions struct {
	Calls, Operators, Literals []string
	Time                       string // CURRENT_DATE or the like
}

// Of returns what a plan mentions. It is the JSON of EXPLAIN, as package encoding/json reads it into an any.
func Of(plan any) Mentions {
	var m Mentions
	m.addPlan(plan)
	return m
}

// addPlan adds the texts of a plan in JSON.
func (m *Mentions) addPlan(plan any) {
	switch plan := plan.(type) {
	case string:
		m.addText(plan)
	case []any:
		for _, one := range plan {
			m.addPlan(one)
		}
	case map[string]any:
		for _, one := range plan {
			m.addPlan(one)
		}
	}
}

func (m *Mentions) addText(text string) {
	for text != "" {
		var word string
		switch c := text[0]; {
		case c == '\'':
			word, text = cutQuoted(text)
			m.Literals = append(m.Literals, word)
		case c == '"':
			if word, text = cutQuoted(text); strings.HasPrefix(text, "(") {
				m.Calls = append(m.Calls, word)
			}
		case isWord(c):
			word, text = cutRun(text, isWord)
			if strings.HasPrefix(word, "CURRENT_DATE") || strings.HasPrefix(word, "CURRENT_TIME") ||
				strings.HasPrefix(word, "LOCALTIME") {
				m.Time = word
			}
			if strings.HasPrefix(text, "(") {
				m.Calls = append(m.Calls, word)
			}
		case isOperator(c):
			word, text = cutRun(text, isOperator)
			m.Operators = append(m.Operators, word)
		default:
			text = text[1:]
		}
	}
}

func isWord(c byte) bool {
	return c == '_' || c == '$' || c >= 0x80 || '0' <= c && c <= '9' || 'a' <= c|0x20 && c|0x20 <= 'z'
}

func isOperator(c byte) bool { return strings.IndexByte("+-*/<>=~!@#%^&|`?", c) >= 0 }

// cutRun cuts a text after the leading bytes for which is returns true.
func cutRun(text string, is func(byte) bool) (run, rest string) {
	n := 0
	for n < len(text) && is(text[n]) {
		n++
	}
	return text[:n], text[n:]
}

// cutQuoted cuts a text after the quoted string that begins it.
func cutQuoted(text string) (quoted, rest string) {
	quote := text[:1]
	for rest = text[1:]; ; rest = rest[1:] {
		part, behind, found := strings.Cut(rest, quote)
		quoted += part
		if rest = behind; !found || !strings.HasPrefix(rest, quote) {
			return quoted, rest
		}
		quoted += quote
	}
}
