package masking

import (
	"fmt"
	"slices"
	"strings"

	"culvert/cmd/culvert/internal/command"
	"culvert/mask"
)

// In PostgreSQL, a table may inherit from others, or be a partition of another one. Its rows are rows of these, too. So
// a rule for a column of an ancestor holds for the column of the table, unless the table has a rule of its own.

// name is one under which rules may mean the columns of a table.
type name struct {
	parts    []string
	distance int
	columns  []string // of the ancestor, which the table inherits
}

// namesOf returns the names of a table and of its ancestors, the nearest first.
func namesOf(t mask.Table) []name {
	names := []name{{parts: partsOf(t)}}
	if t.Definition == nil {
		return names
	}
	for _, a := range t.Definition.Ancestors {
		names = append(names, name{parts: []string{a.Schema, a.Name}, distance: a.Distance, columns: a.Columns})
	}
	return names
}

func (n *name) isMeant(one *assignment, column string) bool {
	if n.distance > 0 && !slices.Contains(n.columns, column) {
		return false
	}
	return one.pattern.Match(append(slices.Clip(n.parts), column)...)
}

// ruleOf returns the index of the rule for a column, or -1. Of the rules for the table itself the last one counts, then
// of those for its parents, and so on. "None" is for the table itself, and lifts only rules that come before it. It
// sets used for each rule that matches.
func ruleOf(all []assignment, names []name, column string, used []bool) (at int) {
	at = -1
	for len(names) > 0 {
		n := 1
		for n < len(names) && names[n].distance == names[0].distance {
			n++
		}
		last := -1
		for i := range all {
			if !slices.ContainsFunc(names[:n], func(one name) bool { return one.isMeant(&all[i], column) }) {
				continue
			}
			if used[i] = true; names[0].distance == 0 || !all[i].rule.IsZero() {
				last = i // that another table keeps its values says nothing about this one
			}
		}
		if last > at && (at < 0 || all[at].rule.IsZero()) {
			at = last
		}
		names = names[n:]
	}
	return at
}

// CheckHeirs refuses a rule for a column whose values would also leave as they are, with the rows of an ancestor.
// Tables are those with rows, and with the columns that are read.
func CheckHeirs(p *mask.Policy, tables []mask.Table) error {
	byName := map[[2]string]mask.Table{}
	for _, t := range tables {
		if t.Definition != nil {
			byName[[2]string{t.Definition.Schema, t.Definition.Name}] = t
		}
	}
	for _, t := range tables {
		if len(p.Of(t.Name)) == 0 {
			continue
		}
		for _, a := range t.Definition.Ancestors {
			ancestor, read := byName[[2]string{a.Schema, a.Name}]
			if !read || !a.HasRows {
				continue
			}
			for _, c := range ancestor.Columns {
				rule := p.Of(t.Name)[c.Name]
				if rule.IsZero() || !p.Of(ancestor.Name)[c.Name].IsZero() {
					continue
				}
				return command.WithHint(fmt.Errorf("the column %q of the table %q has the rule %s, but its values "+
					"also leave with the rows of the table %q, whose column has none", c.Name, t.Name, rule,
					ancestor.Name), "name the column of "+ancestor.Name+": its rules hold for all that inherit from "+
					"it, and for its partitions")
			}
		}
	}
	return nil
}

// undecidedViews names, for people, the columns of views that have no rule. Rules for a table do not hold for the views
// that read it, since only the query of a view says from which columns its values are.
func (f *Flags) undecidedViews(tables []mask.Table) (notices []string) {
	if len(f.rules) == 0 {
		return nil
	}
	decided := f.decided(tables)
	for _, t := range tables {
		if t.Definition == nil || !t.Definition.IsView {
			continue
		}
		var names []string
		for _, c := range t.Columns {
			if !decided[t.Name][c.Name] {
				names = append(names, c.Name)
			}
		}
		if len(names) > 0 {
			notices = append(notices, fmt.Sprintf("view %q: these columns have no rule, and rules for tables "+
				"do not hold for views: %s; the rule none lets a column leave as it is", t.Name,
				strings.Join(names, ", ")))
		}
	}
	return notices
}
