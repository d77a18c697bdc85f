package dialect

import (
	"fmt"
	"slices"
	"strings"

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
			made, _ := equal(t.from.Dialect, t.to, column.Type)
			_, modifiers := key(t.from.Dialect, column.Type)
			switch {
			case !slices.Contains(c.Columns, column.Name):
			case made == "longtext":
				texts = append(texts, column.Name)
			case strings.Contains(made, "char("):
				rest -= modifiers[0]
			default:
				rest -= otherInKey
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

// prefixes writes the columns of an index of MySQL, with the beginning of those that have no limit.
func (t *translation) prefixes(columns []string) string {
	var all []string
	for _, name := range columns {
		sql := quote(t.to, name)
		if column := t.find(name); isLong(column.Type) {
			sql += fmt.Sprintf("(%d)", prefixOfText)
		}
		all = append(all, sql)
	}
	return strings.Join(all, ", ")
}
