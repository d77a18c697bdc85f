package mask

import "strings"

// mentioned returns the one of some columns whose name is in an expression, or "". Texts in apostrophes have no names.
// Letter case does not count, as in MySQL, MariaDB and SQLite, and in conditions that people write.
func mentioned(expression string, names []string) string {
	if len(names) > 0 {
		expression = strings.ToLower(withoutTexts(expression))
	}
	for _, name := range names {
		if contains(expression, strings.ToLower(name)) {
			return name
		}
	}
	return ""
}

// contains reports whether a name is in an expression, as a whole word or in quotes.
func contains(expression, name string) bool {
	for _, quote := range []string{`"`, "`"} {
		if strings.Contains(name, quote) &&
			strings.Contains(expression, quote+strings.ReplaceAll(name, quote, quote+quote)+quote) {
			return true
		}
	}
	for rest := expression; ; {
		at := strings.Index(rest, name)
		if at < 0 {
			return false
		}
		after := rest[at+len(name):]
		if !endsInWord(rest[:at]) && !beginsWithWord(after) {
			return true
		}
		rest = after
	}
}

// withoutTexts returns an expression without the content of its texts. It returns all of one in which these cannot be
// told for sure, whatever the system: with backslashes, dollar quotes or comments, or with a text that does not end. So
// no name is overlooked.
func withoutTexts(expression string) string {
	if strings.ContainsAny(expression, `\#`) || strings.Count(expression, "$") > 1 ||
		strings.Contains(expression, "--") || strings.Contains(expression, "/*") {
		return expression
	}
	var without strings.Builder
	for rest := expression; ; {
		at := strings.IndexAny(rest, "'\"`[")
		if at < 0 {
			return without.String() + rest
		}
		quote := rest[at : at+1]
		without.WriteString(rest[:at+1])
		before := rest[:at]
		if rest = rest[at+1:]; quote == "[" {
			name, _, _ := strings.Cut(rest, "]")
			if !endsInWord(before) && strings.ContainsAny(name, "'\"`") {
				return expression // a name of SQLite, and no list
			}
			continue
		}
		end := strings.Index(rest, quote)
		if end < 0 {
			return expression
		}
		if quote != "'" {
			without.WriteString(rest[:end])
		}
		without.WriteString(quote)
		rest = rest[end+1:]
	}
}

func isWord(b byte) bool {
	return b == '_' || b >= 0x80 || isDigit(b) || 'a' <= b|0x20 && b|0x20 <= 'z'
}

func endsInWord(text string) bool     { return text != "" && isWord(text[len(text)-1]) }
func beginsWithWord(text string) bool { return text != "" && isWord(text[0]) }
