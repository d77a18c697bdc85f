// Package typename reads the names of types, as the systems write them.
package typename

import (
	"strconv"
	"strings"

	"culvert/internal/lazyregexp"
)

// modified finds the modifiers of a type, and what follows them.
var modified = lazyregexp.New(`^([^(]*?) ?\( ?(-?[0-9]+) ?(?:, ?(-?[0-9]+) ?)?\)(.*)$`)

// Cut returns the name of a type without its modifiers, in lower case and with single spaces, and the modifiers. Of
// "Time (3) without time zone" they are "time without time zone" and 3. A list of words, as ENUM has, is no modifier.
func Cut(name string) (base string, modifiers []int) {
	name = strings.Join(strings.Fields(strings.ToLower(name)), " ")
	if !strings.Contains(name, "(") {
		return name, nil // as for most columns; the expression would take much longer to say so
	}
	parts := modified.FindStringSubmatch(name)
	if parts == nil {
		return name, nil
	}
	for _, digits := range parts[2:4] {
		if n, err := strconv.Atoi(digits); err == nil {
			modifiers = append(modifiers, n)
		}
	}
	return parts[1] + parts[4], modifiers
}

// Values returns the values of an ENUM or a SET of MySQL, as information_schema lists them, or nil for any other text.
func Values(name string) []string {
	kind, rest, _ := strings.Cut(name, "('")
	if !strings.EqualFold(kind, "enum") && !strings.EqualFold(kind, "set") {
		return nil
	}
	var values []string
	var value []byte
	for rest != "" {
		switch {
		case strings.HasPrefix(rest, "''"):
			value, rest = append(value, '\''), rest[2:]
		case strings.HasPrefix(rest, "','"):
			values, value, rest = append(values, string(value)), nil, rest[3:]
		case rest == "')":
			return append(values, string(value))
		case rest[0] == '\'':
			return nil
		case rest[0] == '\\' && len(rest) > 1:
			value, rest = append(value, unescaped(rest[1])), rest[2:]
		default:
			value, rest = append(value, rest[0]), rest[1:]
		}
	}
	return nil
}

// unescaped returns the character that a letter after a backslash stands for.
func unescaped(letter byte) byte {
	switch letter {
	case '0':
		return 0
	case 'n':
		return '\n'
	case 'r':
		return '\r'
	}
	return letter
}
