package load

import (
	"strings"

	"culvert/cmd/culvert/internal/command"
)

// failure is why a table of several has failed.
type failure struct {
	table string
	err   error
}

// reportFailures reports why tables have failed. A hint that several of them have follows once, after all.
func reportFailures(a *command.App, failures []failure) {
	tables := map[string]int{} // by hint
	for _, one := range failures {
		for _, hint := range command.HintsOf(one.err) {
			tables[hint]++
		}
	}
	var shared []string
	for _, one := range failures {
		a.Console.Error(aboutTable(one.table, command.Plain(one.err)))
		for _, hint := range command.HintsOf(one.err) {
			switch {
			case tables[hint] == 1:
				a.Console.Hint(hint)
			case tables[hint] > 1:
				shared = append(shared, hint)
				tables[hint] = 0 // it was seen
			}
		}
	}
	for _, hint := range shared {
		a.Console.Hint(hint)
	}
}

// aboutTable says which table an error is about, unless its text begins with that.
func aboutTable(table, text string) string {
	return command.AboutTable(table, strings.TrimPrefix(text, "load "+table+": ")) // as if the table were a file
}
