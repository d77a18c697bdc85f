package plantext

import "slices"

// Relation is a table that a plan reads, by its name.
type Relation struct{ Schema, Name string }

// Relations returns the tables that a plan reads. It is the JSON of EXPLAIN (VERBOSE), as for [Of].
func Relations(plan any) []Relation {
	var all []Relation
	switch plan := plan.(type) {
	case []any:
		for _, one := range plan {
			all = append(all, Relations(one)...)
		}
	case map[string]any:
		name, isName := plan["Relation Name"].(string)
		schema, isSchema := plan["Schema"].(string)
		if isName && isSchema {
			all = append(all, Relation{Schema: schema, Name: name})
		}
		for _, one := range plan {
			all = append(all, Relations(one)...)
		}
	}
	return all
}

// ReadsForeign reports whether a plan reads foreign tables, also by joins that are left to their server, of which a
// plan does not name the tables.
func ReadsForeign(plan any) bool {
	switch plan := plan.(type) {
	case []any:
		return slices.ContainsFunc(plan, ReadsForeign)
	case map[string]any:
		for name, one := range plan {
			if name == "Node Type" && one == "Foreign Scan" || ReadsForeign(one) {
				return true
			}
		}
	}
	return false
}
