package read

import (
	"maps"
	"slices"
	"strings"

	"culvert/internal/lazyregexp"
)

const (
	anyName = "(?:`(?:[^`]|``)+`|\"(?:[^\"]|\"\")+\"|[\\pL\\pN_$]+)"
	gap     = `(?:\s|/\*(?s:.*?)\*/|(?:#|--\s)[^\n]*\n)` // white space or a comment
)

// by matches the clause DEFINER. A role has no host, or an empty one.
const by = "DEFINER=" + anyName + "(?:@(?:" + anyName + "|``|\"\"))? "

var definer = lazyregexp.New("^(CREATE (?:ALGORITHM=[A-Z]+ )?)" + by)

// withoutDefiner removes the clause DEFINER where the server prints it.
func withoutDefiner(sql string) string { return definer.ReplaceAllString(sql, "$1") }

// triggerHead matches the beginning of a statement that makes a trigger. MariaDB keeps it as it was written, and the
// name of a table that was renamed since.
var triggerHead = lazyregexp.New("^(CREATE (?:" + by + ")?)" +
	"(?i:TRIGGER)" + gap + "+(?:(?i:IF" + gap + "+NOT" + gap + "+EXISTS)" + gap + "+)?" +
	"(?:(" + anyName + ")" + gap + `*\.` + gap + "*)?(" + anyName + ")" + gap + "+" +
	"((?i:BEFORE|AFTER))" + gap + "+((?i:INSERT|UPDATE|DELETE))" + gap + "+(?i:ON)" + gap + "+" +
	"(?:(" + anyName + ")" + gap + `*\.` + gap + "*)?(" + anyName + ")")

// triggerHere returns the statement that makes a trigger in the opened database: without IF NOT EXISTS, and without the
// name of its database.
func triggerHere(sql, database string, fold bool) string {
	part := triggerHead.FindStringSubmatch(sql)
	if part == nil {
		return sql
	}
	of := func(i int) string { // another database, with a period
		if part[i] != "" && !sameName(unquoted(part[i]), database, fold) {
			return part[i] + "."
		}
		return ""
	}
	return part[1] + "TRIGGER " + of(2) + part[3] + " " + strings.ToUpper(part[4]) + " " + strings.ToUpper(part[5]) +
		" ON " + of(6) + part[7] + strings.TrimPrefix(sql, part[0])
}

func sameName(a, b string, fold bool) bool { return a == b || fold && strings.EqualFold(a, b) }

// token matches a text, a name in backticks, a word, or another character of a statement as the server prints it, which
// has no comments.
var token = lazyregexp.New("(?s)'(?:[^'\\\\]|\\\\.|'')*'|`(?:[^`]|``)+`|[\\pL\\pN_$]+|.")

func tokensOf(sql string) (tokens []string) {
	for _, match := range token.FindAllStringSubmatch(sql, -1) {
		tokens = append(tokens, match[0])
	}
	return tokens
}

// withoutDatabase removes the name of a database from a statement as the server prints it, with all names in backticks.
// The server does so only if all that a view reads is in the database that is opened.
//
// A table may have the same name as the database, or be called so in the statement. Then a name with one period is that
// of a column, unless it stands where a table or a function does.
func withoutDatabase(sql, database string, fold bool) string {
	tokens := tokensOf(sql)
	at := func(i int) string {
		if i < 0 || i >= len(tokens) {
			return ""
		}
		return tokens[i]
	}
	is := func(i int) bool {
		name := at(i)
		return name != "" && name[0] != '\'' && sameName(unquoted(name), database, fold)
	}
	isTable := false
	for i := range tokens {
		isTable = isTable || is(i) && at(i+1) != "."
	}
	var b strings.Builder
	for i := 0; i < len(tokens); i++ {
		if is(i) && at(i+1) == "." && at(i-1) != "." &&
			(!isTable || at(i+3) == "." || at(i+3) == "(" || isPlaceOfTable(tokens[:i])) {
			i++
			continue
		}
		b.WriteString(tokens[i])
	}
	return b.String()
}

// isPlaceOfTable reports whether a table or a sequence is named after these tokens.
func isPlaceOfTable(tokens []string) bool {
	for i := len(tokens) - 1; i >= 0; i-- {
		switch word := strings.ToLower(tokens[i]); word {
		case "(", " ", "\n":
		case "nextval", "lastval", "setval", "from", "join", "straight_join":
			return true
		default:
			return false
		}
	}
	return false
}

// inOrder returns the names of views, each after the ones whose names its statement has.
func inOrder(views map[string][]string) []string {
	var order []string
	seen := map[string]bool{}
	var visit func(name string)
	visit = func(name string) {
		if seen[name] || views[name] == nil {
			return
		}
		seen[name] = true
		for _, word := range tokensOf(views[name][1]) {
			if word[0] == '`' {
				visit(unquoted(word))
			}
		}
		order = append(order, name)
	}
	for _, name := range slices.Sorted(maps.Keys(views)) {
		visit(name)
	}
	return order
}
