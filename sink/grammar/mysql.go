package grammar

import (
	"strings"

	"culvert/internal/typename"
	"culvert/source"
)

// MySQL returns the grammar of a type of MySQL or MariaDB, as information_schema names it.
func MySQL(name string) Grammar {
	base, modifiers := typename.Cut(name)
	word, _, _ := strings.Cut(base, " ")
	const years = 4
	switch list, _, _ := strings.Cut(word, "("); list {
	case "enum":
		return oneOf(typename.Values(name))
	case "set":
		return someOf(typename.Values(name))
	}
	switch word {
	case "tinyint", "smallint", "mediumint", "int", "bigint":
		return whole
	case "decimal":
		scale := 0
		if len(modifiers) > 1 {
			scale = modifiers[1]
		}
		return exact(scale)
	case "float", "double":
		float := binary(map[string]int{"float": 32, "double": 64}[word]).withoutSign()
		if len(modifiers) < 2 {
			return float
		}
		decimals := exact(modifiers[1])
		return func(kind source.Kind, value []byte) string {
			if reason := decimals(kind, value); reason != "" {
				return reason
			}
			return float(kind, value)
		}
	case "date":
		return moment{date: true, years: years, zeros: true}.grammar()
	case "datetime", "timestamp":
		m := moment{date: true, clock: true, years: years, zeros: true, places: first(modifiers, 0)}
		return m.grammar()
	case "time":
		const digits = 3
		return moment{clock: true, hours: digits, places: first(modifiers, 0)}.grammar()
	case "char":
		return trimmedText(first(modifiers, 0))
	case "varchar":
		return text(first(modifiers, 0))
	case "binary":
		return exactly(first(modifiers, 1))
	}
	return nil
}
