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
