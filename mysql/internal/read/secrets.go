package read

import (
	"strings"

	"culvert/internal/lazyregexp"
	"culvert/source"
)

// Tables whose rows are on another server, as those of FEDERATED are, can have the password of that server in an
// option. A table that is made by the definition has another engine, for which such options mean nothing.

// Texts in quotes are matched too, since what they have is no option. MariaDB prints the names of options of an engine
// in the letter case in which they were typed.
const quotedText = `'(?:[^'\\]|\\.|'')*'`

var (
	ofConnection = lazyregexp.New(`(?i)(?:\b(?:CONNECTION|OPTION_LIST|PASSWORD)\x60?=)?` + quotedText)
	ofSpider     = lazyregexp.New(`(?i)(?:\b(?:CONNECTION|COMMENT) ?= ?)?` + quotedText) // of a partition too
)

// hideSecrets empties the options of a definition that can have a password.
func hideSecrets(d *source.Definition) {
	_, options := clausesOf(d.Create)
	secret := ofConnection
	if strings.HasPrefix(options, ") ENGINE=SPIDER") {
		secret, d.Comment = ofSpider, ""
	}
	if !strings.Contains(options, "'") {
		return // as in most definitions, which the search would slow down
	}
	d.Create = strings.TrimSuffix(d.Create, options) + secret.ReplaceAllStringFunc(options, func(option string) string {
		if name, _, _ := strings.Cut(option, "'"); name != "" {
			return name + "''"
		}
		return option
	})
}
