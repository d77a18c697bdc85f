package dialect

import (
	"strings"

	"culvert/internal/lazyregexp"
)

// token is a piece of SQL. A word, which is a keyword or a name without quotes, is in lower case. Names and texts are
// without their quotes.
type token struct {
	kind  tokenKind
	value string
}

type tokenKind uint8

const (
	noToken tokenKind = iota // behind the last one
	wordToken
	nameToken
	textToken
	numberToken
	signToken
)

// spaces are between tokens.
const spaces = " \n\r\t"

// tokenStart matches what SQL begins with, after spaces. A text with a backslash means different things, and one behind
// a word is no plain text, so they match nothing.
var tokenStart = lazyregexp.New("^[" + spaces + "]*(?:" +
	`([A-Za-z_][A-Za-z0-9_$]*)(?:[^A-Za-z0-9_$']|$)|` +
	`("(?:[^"]|"")*"|` + "`(?:[^`]|``)*`)|" +
	`'((?:[^'\\]|'')*)'|` +
	`([0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?)|` +
	`(<>|<@|<=|>=|!=|::|\|\||[-+*=<>(),.\[\]]))`)

// scan cuts SQL, as a server prints it, into tokens. It returns false if there is anything else in it.
func scan(sql string) (tokens []token, ok bool) {
	for strings.TrimLeft(sql, spaces) != "" {
		found := tokenStart.FindStringSubmatch(sql)
		if found == nil || strings.HasPrefix(strings.TrimLeft(sql, spaces), "--") {
			return nil, false // comments, too
		}
		size := len(found[0])
		var next token
		switch {
		case found[1] != "":
			next = token{wordToken, strings.ToLower(found[1])}
			size = strings.Index(sql, found[1]) + len(found[1])
		case found[2] != "":
			mark := found[2][:1]
			next = token{nameToken, strings.ReplaceAll(found[2][1:len(found[2])-1], mark+mark, mark)}
		case found[4] != "":
			next = token{numberToken, found[4]}
		case found[5] != "":
			next = token{signToken, found[5]}
		default:
			next = token{textToken, strings.ReplaceAll(found[3], "''", "'")}
		}
		tokens = append(tokens, next)
		sql = sql[size:]
	}
	return tokens, true
}

// reader reads tokens one after the other.
type reader struct{ tokens []token }

func (r *reader) peek() token {
	if len(r.tokens) == 0 {
		return token{}
	}
	return r.tokens[0]
}

func (r *reader) next() token {
	t := r.peek()
	if t.kind != noToken {
		r.tokens = r.tokens[1:]
	}
	return t
}

// takes reads words and signs if they come next, all of them or none.
func (r *reader) takes(values ...string) bool {
	if len(r.tokens) < len(values) {
		return false
	}
	for i, value := range values {
		if t := r.tokens[i]; t.kind != wordToken && t.kind != signToken || t.value != value {
			return false
		}
	}
	r.tokens = r.tokens[len(values):]
	return true
}
