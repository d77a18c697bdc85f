package mask

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"culvert/source"
)

// Table is what Check has to know of a table.
type Table struct {
	Name       string             // as in the Policy
	Columns    []source.Column    // that are read
	Definition *source.Definition // nil if it is not known
	Where      string             // the condition that rows have to meet, which the manifest shows; "" if there is none

	// Origins are those of the columns of a view: see [source.Tracer]. Nil says that they are not known.
	Origins map[string][]source.Origin
}

// Check finds rules that would break a table: that do not fit the type of their column, that make a unique column lose
// its uniqueness, that put NULL where there must be none, or that differ from those of the columns that a foreign key
// connects. The error names the table and the column. It also returns notices for people: what cannot be checked, such
// as conditions about columns that are masked.
func (p *Policy) Check(tables []Table) (notices []string, err error) {
	if p.IsZero() {
		return nil, nil
	}
	for _, t := range tables {
		if len(p.Of(t.Name)) == 0 {
			continue
		}
		if err := p.Knows(t); err != nil {
			return nil, err
		}
		if _, err := p.Masker(t.Name, t.Columns); err != nil {
			return nil, err
		}
		if about := mentioned(t.Where, p.Of(t.Name).masked()); about != "" {
			notices = append(notices, fmt.Sprintf("table %q: the condition of its rows is about the column %q, which "+
				"is masked: the condition leaves as it is, with its values", t.Name, about))
		}
		if t.Definition == nil {
			continue
		}
		for _, check := range []func(Table) ([]string, error){p.checkColumns, p.checkDefinition} {
			some, err := check(t)
			if err != nil {
				return nil, fmt.Errorf("mask: table %q: %w", t.Name, err)
			}
			notices = append(notices, some...)
		}
	}
	return notices, p.checkReferences(tables)
}

func (p *Policy) checkDefinition(t Table) (notices []string, err error) {
	rules, masked, hidden := p.Of(t.Name), p.Of(t.Name).masked(), p.hidden(t)
	for _, c := range t.Definition.Columns {
		if about := mentioned(strings.Join(c.Others, "\n"), masked); about != "" {
			notices = append(notices, fmt.Sprintf("table %q: a check of the column %q is about the column %q, which "+
				"is masked: the values may not meet it", t.Name, c.Name, about))
		}
		switch rule := rules[c.Name]; {
		case rule.name == "null" && (c.NotNull || c.RefusesNull || isRowNumber(t.Definition, c.Name)):
			return nil, fmt.Errorf("column %q must not be NULL: use fixed or drop", c.Name)
		case rule.IsDrop() && (c.NotNull || c.RefusesNull) && c.Default == "" && c.Identity == "" && c.Generated == "":
			notices = append(notices,
				fmt.Sprintf("table %q: the column %q, which is dropped, must not be NULL and has no "+
					"default: the rows cannot be loaded into such a table", t.Name, c.Name))
			continue
		case c.Generated == "" || !rule.IsZero():
			continue
		}
		if _, read := column(t.Columns, c.Name); read {
			if from := mentioned(c.Expression, hidden); from != "" {
				return nil, fmt.Errorf("column %q is computed from the column %q, which is masked or dropped, or "+
					"computed from such a column: mask it too, or drop it", c.Name, from)
			}
		} else if from := mentioned(c.Expression, masked); from != "" {
			notices = append(notices, fmt.Sprintf("table %q: the column %q is computed from the column %q, which is "+
				"masked", t.Name, c.Name, from))
		}
	}
	for _, c := range t.Columns {
		if isRowNumber(t.Definition, c.Name) {
			if err := p.checkUnique(t, []string{c.Name}); err != nil {
				return nil, err
			}
		}
	}
	if about := mentioned(checksOfSQLite(t.Definition), masked); about != "" {
		notices = append(notices, fmt.Sprintf("table %q: a check may be about the column %q, which is masked: the "+
			"values may not meet it", t.Name, about))
	}
	for _, key := range t.Definition.Constraints {
		switch key.Kind {
		case source.PrimaryKey, source.Unique:
			err = p.checkUnique(t, key.Columns)
		case source.Check, source.Exclude:
			if about := mentioned(key.Definition, masked); about != "" {
				notices = append(notices,
					fmt.Sprintf("table %q: the constraint %q is about the column %q, which is masked: "+
						"the values may not meet it", t.Name, key.Name, about))
			}
		}
		if err != nil {
			return nil, err
		}
	}
	for _, index := range t.Definition.Indexes {
		if !index.Unique {
			continue
		}
		if len(index.Columns) > 0 {
			err = p.checkUnique(t, index.Columns)
		} else if about := mentioned(index.Definition, masked); about != "" {
			notices = append(notices,
				fmt.Sprintf("table %q: the unique index %q is about the column %q, which is masked: "+
					"the values may be equal for it", t.Name, index.Name, about))
		}
		if err != nil {
			return nil, err
		}
	}
	return notices, nil
}

// hidden returns the columns whose values must not leave as they are: those that are masked or dropped, and generated
// ones with their values, also through other generated columns.
func (p *Policy) hidden(t Table) []string {
	names := slices.Concat(p.Of(t.Name).masked(), p.Dropped(t.Name))
	for found := -1; found != len(names); {
		found = len(names)
		for _, c := range t.Definition.Columns {
			if c.Generated != "" && !slices.Contains(names, c.Name) && mentioned(c.Expression, names) != "" {
				names = append(names, c.Name)
			}
		}
	}
	return names
}

// column returns the column with a name.
func column(columns []source.Column, name string) (source.Column, bool) {
	i := slices.IndexFunc(columns, func(c source.Column) bool { return c.Name == name })
	if i < 0 {
		return source.Column{}, false
	}
	return columns[i], true
}

// isRowNumber reports whether a column is that of a virtual table of SQLite which numbers its rows: it is called rowid,
// or is the first one of an R*Tree. The definition has no key for it.
func isRowNumber(d *source.Definition, column string) bool {
	const virtual = "create virtual table"
	if d.Dialect != source.SQLite || len(d.Columns) == 0 || len(d.Create) < len(virtual) ||
		!strings.EqualFold(d.Create[:len(virtual)], virtual) {
		return false
	}
	return column == "rowid" || column == d.Columns[0].Name &&
		strings.Contains(strings.ToLower(d.Create), "using rtree")
}

// checkUnique finds columns of a key whose values could become equal.
func (p *Policy) checkUnique(t Table, key []string) error {
	for _, name := range key {
		rule := p.Of(t.Name)[name]
		c, read := column(t.Columns, name)
		if rule.IsZero() || rule.IsDrop() || rule.Program() != "" || !read {
			continue // what a program does is named by Unknown
		}
		about := fmt.Sprintf("column %q is unique", name)
		if len(key) > 1 {
			about = fmt.Sprintf("column %q is one of the unique columns %s", name, strings.Join(key, ", "))
		}
		length := c.Logical.Length
		switch {
		case !rule.IsInjective():
			return fmt.Errorf("%s, and the rule %s may make values equal: use hash, email, digits or text", about, rule)
		case rule.name == "hash" && isText(c.Logical) && length > 0 && length < uniqueSize:
			return fmt.Errorf("%s and has %d characters, and the rule hash needs %d to keep values different: use text",
				about, length, uniqueSize)
		}
	}
	return nil
}

// checkReferences finds foreign keys whose columns would no longer have the values to which they refer.
func (p *Policy) checkReferences(tables []Table) error {
	type place struct{ schema, table string }
	known := map[place]Table{}
	for _, t := range tables {
		if t.Definition != nil {
			known[place{t.Definition.Schema, t.Definition.Name}] = t
		}
	}
	for _, t := range tables {
		if t.Definition == nil {
			continue
		}
		for _, c := range t.Definition.Constraints {
			r, _ := c.Reference() // none names no table
			parent, exported := known[place{cmp.Or(r.Schema, t.Definition.Schema), r.Table}]
			if !exported {
				continue
			}
			if r.Key == nil {
				r.Key = parent.Definition.PrimaryKey()
			}
			for i, name := range r.Columns {
				if i >= len(r.Key) {
					break
				}
				if err := p.checkReference(t, name, parent, r.Key[i]); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// checkReference compares what becomes of two columns that must have the same values.
func (p *Policy) checkReference(child Table, name string, parent Table, parentName string) error {
	one, other := p.Of(child.Name)[name], p.Of(parent.Name)[parentName]
	c, read := column(child.Columns, name)
	d, parentRead := column(parent.Columns, parentName)
	if !read || !parentRead || one.IsDrop() || other.IsDrop() {
		return nil
	}
	if !one.Equal(other) {
		return fmt.Errorf("mask: table %q: column %q has %s, but it refers to the column %q of the table %q, which "+
			"has %s: "+
			"both need the same", child.Name, name, named(one), parentName, parent.Name, named(other))
	}
	if !one.IsZero() && !agree(one, c, d) {
		return fmt.Errorf("mask: table %q: column %q (%s) refers to the column %q of the table %q (%s), and the "+
			"rule %s makes "+
			"other values of this type: use another rule for both", child.Name, name, c.Type, parentName, parent.Name,
			d.Type, one)
	}
	return nil
}

func named(r Rule) string {
	if r.IsZero() {
		return "no rule"
	}
	return "the rule " + r.String()
}

// agree reports whether a rule makes the same of equal values of two columns.
func agree(r Rule, c, d source.Column) bool {
	if r.name == "hash" && isText(c.Logical) && isText(d.Logical) {
		size := func(c source.Column) int {
			if c.Logical.Length == 0 {
				return hashSize
			}
			return min(hashSize, c.Logical.Length)
		}
		return size(c) == size(d)
	}
	if r.name != "hash" && r.name != "digits" || isText(c.Logical) != isText(d.Logical) {
		return true
	}
	return agreeOnNumbers(c, d)
}
