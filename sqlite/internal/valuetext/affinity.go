package valuetext

import (
	"strings"

	"culvert/internal/typename"
)

// Affinity is what SQLite prefers to store in a column.
type Affinity uint8

// The affinities, as far as they differ for what is exported and loaded.
const (
	None    Affinity = iota // anything as it is
	Textual                 // TEXT
	Numeric                 // INTEGER or REAL
)

// AffinityOf returns the affinity of a column by its declared type.
func AffinityOf(declared string) Affinity {
	switch affinity := typename.AffinityOf(declared); {
	case affinity == typename.Textual:
		return Textual
	case affinity == typename.Blob, strings.EqualFold(declared, "any"):
		return None
	}
	return Numeric
}
