package fill

import (
	"fmt"
	"slices"
	"strings"

	"culvert/internal/lazyregexp"
	"culvert/source"
)

// retyped returns a definition of SQLite of which the columns have the types that the user wants. Its statement is as
// somebody has written it, so the types are looked for in it.
func retyped(d *source.Definition) (*source.Definition, error) {
	made := *d
	made.Columns = slices.Clone(d.Columns)
	for i := range made.Columns {
		c := &made.Columns[i]
		if c.As == "" {
			continue
		}
		begin, end, found := typeIn(made.Create, c.Name)
		if !found {
			return nil, fmt.Errorf("sqlite: column %q is not found in the statement that makes table %q; "+
				"make the table yourself, and it is filled", c.Name, d.Name)
		}
		made.Create = made.Create[:begin] + " " + c.As + " " + made.Create[end:]
		c.Type = c.As
	}
	return &made, nil
}

// word matches what SQL of SQLite begins with: a comment or spaces, a name or a text in quotes, a word, or a sign.
var word = lazyregexp.New(`^(?s:(--[^\n]*|/\*.*?(?:\*/|$)|[ \t\r\n\f]+)|` +
	`"(?:[^"]|"")*"|'(?:[^']|'')*'|\[[^\]]*\]|` + "`(?:[^`]|``)*`|" +
	`[A-Za-z0-9_$\x{80}-\x{10FFFF}]+|.)`)

// behindType begin what may follow the type of a column.
var behindType = []string{
	"CONSTRAINT", "PRIMARY", "NOT", "NULL", "UNIQUE", "CHECK", "DEFAULT", "COLLATE", "REFERENCES", "GENERATED", "AS",
}

// typeIn returns where the type of a column is in the statement that makes its table, with the spaces before it.
func typeIn(create, column string) (begin, end int, found bool) {
	depth := 0
	isFirst, inType := false, false // what comes next begins a column; the type of the column is being read
	for at := 0; at < len(create); {
		parts := word.FindStringSubmatch(create[at:])
		sign, isSpace := parts[0], parts[1] != ""
		switch {
		case isSpace:
		case inType && depth == 1 && (sign == "," || sign == ")" || slices.Contains(behindType, strings.ToUpper(sign))):
			return begin, end, true
		case sign == "(":
			depth++
			isFirst = depth == 1
		case sign == ")":
			depth--
		case depth == 1 && sign == ",":
			isFirst = true
		case isFirst:
			isFirst = false
			if inType = strings.EqualFold(unquoted(sign), column); inType {
				begin, end = at+len(sign), at+len(sign)
			}
		}
		at += len(sign)
		if inType && !isSpace {
			end = at
		}
	}
	return 0, 0, false
}

// unquoted returns a name without its quotes.
func unquoted(name string) string {
	closing := map[byte]string{'"': `"`, '\'': "'", '[': "]", '`': "`"}[name[0]]
	if closing == "" || len(name) < 2 {
		return name
	}
	return strings.ReplaceAll(name[1:len(name)-1], closing+closing, closing)
}
