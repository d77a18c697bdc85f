package dialect

import (
	"fmt"
	"slices"
	"strings"

	"culvert/internal/typename"
	"culvert/source"
)

// The most characters that a key of InnoDB can have: 3072 bytes, of which each takes four. Columns that are no texts
// count as so many characters, which is more than any of them takes.
const (
	mostOfKey    = 768
	otherInKey   = 8
	leastInKey   = 32
	prefixOfText = 191
)

// shortTexts returns how many characters columns have in MySQL that are texts without a limit elsewhere, since a key
// there cannot have them otherwise: those of primary and foreign keys, and in MySQL itself of unique ones. A load
// refuses longer values.
func (t *translation) shortTexts() map[string]int {
	short := map[string]int{}
	for _, c := range t.from.Constraints {
		unique := c.Kind == source.Unique && t.to == source.MySQL
		if c.Kind != source.PrimaryKey && c.Kind != source.ForeignKey && !unique {
			continue
		}
		var texts []string
		rest := mostOfKey
		for _, column := range t.from.Columns {
			made, _ := t.typeOf(column)
			switch {
			case !slices.Contains(c.Columns, column.Name):
			case made == "longtext":
				texts = append(texts, column.Name)
			default:
				rest -= charsInKey(made)
			}
		}
		for _, name := range texts {
			each := rest / len(texts)
			if before, is := short[name]; is {
				each = min(each, before)
			}
			if each >= leastInKey {
				short[name] = each
			}
		}
	}
	return short
}

// keyColumns writes the columns of an index of MySQL, in which long texts are there with their beginning, and reports
// whether it has whole columns only. It returns false if the index cannot have the columns.
func (t *translation) keyColumns(columns []string) (sql string, whole, ok bool) {
	var all []string
	rest, whole := mostOfKey, true
	for _, name := range columns {
		column := t.find(name)
		written, chars := quote(t.to, name), charsInKey(column.Type)
		if chars > prefixOfText && len(columns) > 1 || isLong(column.Type) {
			written += fmt.Sprintf("(%d)", prefixOfText)
			chars, whole = prefixOfText, false
		}
		if column.Type == "json" {
			return "", false, false
		}
		all, rest = append(all, written), rest-chars
	}
	return strings.Join(all, ", "), whole, rest >= 0
}

// charsInKey returns how many characters a column of a type of MySQL takes in a key.
func charsInKey(name string) int {
	base, modifiers := typename.Cut(name)
	switch {
	case isLong(name):
		return mostOfKey + 1
	case strings.HasSuffix(base, "char") && len(modifiers) == 1:
		return modifiers[0]
	}
	return otherInKey
}
