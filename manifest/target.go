package manifest

import (
	"slices"
	"strings"

	"culvert/source"
)

// NameIn returns the name that a table has in a database of a system, unless it was given another one: what makes,
// fills and compares the tables of an export agrees on it. In a database of the same system that is its name in the
// manifest. In others it is its name without a schema, which they do not have or which has another meaning there.
func (m *Manifest) NameIn(system source.Dialect, t *Table) string {
	from := source.DialectOf(m.System)
	if from == "" || system == "" || from.Family() == system.Family() {
		return t.Name
	}
	if d := t.Definition; d != nil && d.Schema != "" && t.Name == d.Schema+"."+d.Name {
		return d.Name
	}
	if from == source.PostgreSQL {
		return strings.TrimPrefix(t.Name, "public.")
	}
	return t.Name
}

// Knows returns a [*source.UnknownError] about the first of the names, in alphabetical order, that no table has.
func (m *Manifest) Knows(names []string) error {
	var known []string
	for i := range m.Tables {
		known = append(known, m.Tables[i].Name)
	}
	for _, name := range slices.Sorted(slices.Values(names)) {
		if !slices.Contains(known, name) {
			return &source.UnknownError{What: "table", Name: name, Known: known}
		}
	}
	return nil
}
