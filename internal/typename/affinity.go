package typename

import "strings"

// Affinity is what SQLite prefers to store in a column.
type Affinity uint8

// The affinities. NUMERIC is that of a type in which no word says otherwise.
const (
	Numeric Affinity = iota
	Integer
	Textual // TEXT
	Blob    // anything as it is
	Real
)

// AffinityOf returns the affinity of a column by its declared type:
// https://sqlite.org/datatype3.html#determination_of_column_affinity.
func AffinityOf(declared string) Affinity {
	if declared == "" {
		return Blob
	}
	declared = strings.ToUpper(declared)
	for _, word := range []struct {
		text     string
		affinity Affinity
	}{
		{"INT", Integer},
		{"CHAR", Textual},
		{"CLOB", Textual},
		{"TEXT", Textual},
		{"BLOB", Blob},
		{"REAL", Real},
		{"FLOA", Real},
		{"DOUB", Real},
	} {
		if strings.Contains(declared, word.text) {
			return word.affinity
		}
	}
	return Numeric
}
