package command

import (
	"fmt"
	"strings"

	"culvert/internal/lazyregexp"
)

var (
	mentioned = lazyregexp.New(`\btable (\S+)`)
	quotes    = strings.NewReplacer(`"`, "", "`", "")
)

// AboutTable puts the name of a table before a text that is about it, unless the text already begins with the name.
func AboutTable(table, text string) string {
	name := quotes.Replace(table)
	beginning, rest, _ := strings.Cut(text, ": ")
	if strings.HasPrefix(rest, "table ") { // after a file
		beginning, _, _ = strings.Cut(rest, ": ")
	}
	if found := mentioned.FindStringSubmatch(beginning); found != nil {
		is := strings.TrimRight(found[1], ",;")
		plain := quotes.Replace(is)
		if plain == name || strings.HasSuffix(plain, "."+name) {
			return text
		}
		if after, begins := strings.CutPrefix(text, "table "+is); begins && strings.HasSuffix(name, "."+plain) {
			return fmt.Sprintf("table %q%s", table, after)
		}
	}
	return fmt.Sprintf("table %q: %s", table, text)
}
