package valuetext

import (
	"slices"
	"strings"
)

// Affinity is what SQLite prefers to store in a column.
type Affinity uint8

// The affinities, as far as they differ for what is exported and loaded.
const (
	None    Affinity = iota // anything as it is
	Textual                 // TEXT
	Numeric                 // INTEGER or REAL
)

// AffinityOf returns the affinity of a column by its declared type:
// https://sqlite.org/datatype3.html#determination_of_column_affinity.
func AffinityOf(declared string) Affinity {
	declared = strings.ToUpper(declared)
	has := func(words ...string) bool {
		return slices.ContainsFunc(words, func(word string) bool { return strings.Contains(declared, word) })
	}
	switch {
	case has("INT"):
		return Numeric
	case has("CHAR", "CLOB", "TEXT"):
		return Textual
	case declared == "" || declared == "ANY" || has("BLOB"):
		return None
	}
	return Numeric
}
