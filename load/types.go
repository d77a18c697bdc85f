package load

import (
	"slices"

	"culvert/source"
)

// ColumnType is the type of a column of a table that is made, by the will of the user.
type ColumnType struct {
	Table  string // its name in the manifest or the source, with its schema or without
	Column string
	Type   string // as SQL of the database that is filled
}

// names reports whether a type is for a table that has a name and a definition.
func (t ColumnType) names(name string, d *source.Definition) bool {
	return t.Table == name || t.Table == d.Name || t.Table == d.Schema+"."+d.Name
}

// typed returns the definition of a table with the types of the plan, or nil if there is none.
func (p *Plan) typed(name string, d *source.Definition) *source.Definition {
	isNamed := func(t ColumnType) bool { return t.names(name, d) }
	if d == nil || !slices.ContainsFunc(p.Types, isNamed) {
		return d
	}
	typed := *d
	typed.Columns = slices.Clone(d.Columns)
	for _, t := range p.Types {
		for i := range typed.Columns {
			if c := &typed.Columns[i]; t.names(name, d) && c.Name == t.Column {
				c.As = t.Type
			}
		}
	}
	return &typed
}

// checkTypes returns a [*source.UnknownError] if a type is for a column that none of the tables has. The names are
// those of all tables, also of those that are not known, and whose error says more.
func (p *Plan) checkTypes(names []string, jobs []*job) error {
	for _, t := range p.Types {
		table := &source.UnknownError{What: "table", Name: t.Table, Known: names}
		column := &source.UnknownError{What: "column", Name: t.Table + "." + t.Column}
		found, isKnown := false, false
		for i, name := range names {
			d := new(source.Definition)
			if j := jobs[i]; j != nil && j.create != nil {
				d = j.create
			}
			if !t.names(name, d) {
				continue
			}
			found, isKnown = true, isKnown || d.Name == ""
			for _, c := range d.Columns {
				column.Known = append(column.Known, t.Table+"."+c.Name)
				isKnown = isKnown || c.Name == t.Column
			}
		}
		switch {
		case !found:
			return table
		case !isKnown:
			return column
		}
	}
	return nil
}
