package masking

import (
	"fmt"
	"slices"
	"strings"

	"culvert/cmd/culvert/internal/command"
	"culvert/mask"
	"culvert/source"
)

// In PostgreSQL, a table may inherit from others, or be a partition of another one. Its rows are rows of these, too. So
// a rule for a column of an ancestor holds for the column of the table, unless the table has a rule of its own. In the
// same way, a column of a view has the rule of a column of a table, if the view shows that column unchanged.

// name is one under which rules may mean a column.
type name struct {
	parts    []string // schema, table and column
	distance int
}

// relatives are tables by their schemas and names.
type relatives map[source.TableName]mask.Table

func relativesOf(tables []mask.Table) relatives {
	all := relatives{}
	for _, t := range tables {
		if t.Definition != nil {
			all[source.TableName{Schema: t.Definition.Schema, Name: t.Definition.Name}] = t
		}
	}
	return all
}

// namesOf returns the names of a column: in its table, in the ancestors of the table that have it, and, for a column of
// a view, of the columns that it shows unchanged. The nearest names come first.
func (r relatives) namesOf(t mask.Table, column string) []name {
	names := append([]name{{parts: append(partsOf(t), column)}}, ancestorsOf(t, column, 0)...)
	for i, from := range t.Origins[column] {
		names = append(names, name{[]string{from.Table.Schema, from.Table.Name, from.Column}, i + 1})
		names = append(names, ancestorsOf(r[from.Table], from.Column, i+1)...)
	}
	slices.SortStableFunc(names, func(a, b name) int { return a.distance - b.distance })
	return names
}

// ancestorsOf returns the names of a column in the ancestors of a table at some distance.
func ancestorsOf(t mask.Table, column string, distance int) (names []name) {
	if t.Definition == nil {
		return nil
	}
	for _, a := range t.Definition.Ancestors {
		if slices.Contains(a.Columns, column) {
			names = append(names, name{[]string{a.Schema, a.Name, column}, distance + a.Distance})
		}
	}
	return names
}

// inLowerCase returns names whose letter case does not count.
func inLowerCase(names []name) []name {
	lower := slices.Clone(names)
	for i := range lower {
		lower[i].parts = slices.Clone(lower[i].parts)
		for j, part := range lower[i].parts {
			lower[i].parts[j] = strings.ToLower(part)
		}
	}
	return lower
}

// ruleOf returns the index of the rule for a column, or -1. It sets used for each rule that matches. If no pattern
// matches with its letter case, that does not count: email and Email are one column in most systems, and nobody means
// to mask only one of them. But "none" needs the case, so that it lets no other column leave.
func ruleOf(all []assignment, names []name, used []bool) (at int) {
	at = nearest(all, names, used, func(one *assignment, n name) bool { return one.pattern.Match(n.parts...) })
	if at >= 0 {
		return at
	}
	return nearest(all, inLowerCase(names), used, func(one *assignment, n name) bool {
		return !one.rule.IsZero() && one.anyCase.Match(n.parts...)
	})
}

// nearest returns the index of the rule for a column, or -1. Of the rules for the table itself the last one counts,
// then of those for its parents, and so on. "None" is for the table itself, and lifts only rules that come before it.
func nearest(all []assignment, names []name, used []bool, isMeant func(*assignment, name) bool) (at int) {
	at = -1
	for len(names) > 0 {
		n := 1
		for n < len(names) && names[n].distance == names[0].distance {
			n++
		}
		last := -1
		for i := range all {
			if !slices.ContainsFunc(names[:n], func(one name) bool { return isMeant(&all[i], one) }) {
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
	byName := relativesOf(tables)
	for _, t := range tables {
		if len(p.Of(t.Name)) == 0 {
			continue
		}
		for _, a := range t.Definition.Ancestors {
			ancestor, read := byName[source.TableName{Schema: a.Schema, Name: a.Name}]
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

// undecidedViews describes the columns of views that have no rule and are not known to show a column of a table
// unchanged: only the query of the view says what their values are made of.
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
			if !decided[t.Name][c.Name] && !isOfTable(t, c.Name) {
				names = append(names, c.Name)
			}
		}
		if len(names) > 0 {
			notices = append(notices, fmt.Sprintf("view %q: these columns have no rule, and it is not "+
				"known of which columns of tables they are made: %s; the rule none lets a column leave as it is",
				t.Name, strings.Join(names, ", ")))
		}
	}
	return notices
}

// isOfTable reports whether a column of a view shows a column of a table unchanged. Then the rules for that column
// decide.
func isOfTable(t mask.Table, column string) bool {
	origins := t.Origins[column]
	return len(origins) > 0 && !origins[len(origins)-1].IsView
}
