package mask

import (
	"fmt"
	"slices"
	"strings"

	"culvert/internal/lazyregexp"
	"culvert/source"
)

// increment matches the next number in the statement of a table, with what precedes it. Texts are behind it, and have
// no line breaks.
var increment = lazyregexp.New(`(?m)^(\)[^'\n]*) AUTO_INCREMENT=[0-9]+`)

// Definition returns a definition of a table without the positions of the sequences of columns that have rules, which
// are the last values of these columns. It may be the same, and nil.
func (p *Policy) Definition(table string, d *source.Definition) *source.Definition {
	rules := p.Of(table)
	if len(rules) == 0 || d == nil {
		return d
	}
	without := *d
	without.Sequences = slices.Clone(d.Sequences)
	for i := range without.Sequences {
		s := &without.Sequences[i]
		if rules[s.Column].IsZero() {
			continue
		}
		if s.Last, s.Next = nil, nil; d.Dialect.Family() == source.MySQL {
			s.Options = "" // where one is that is too large for Last
			without.Create = increment.ReplaceAllString(d.Create, "$1")
		}
	}
	return &without
}

// Positions names, for people, the columns whose sequences [Policy.Definition] and [Policy.Schema] leave without their
// positions.
func (p *Policy) Positions(tables []Table) (names []string) {
	for _, t := range tables {
		if t.Definition == nil {
			continue
		}
		told := map[string]bool{}
		for _, s := range t.Definition.Sequences {
			told[s.Column] = s.Last != nil || s.Next != nil || t.Definition.Dialect.Family() == source.MySQL &&
				s.Options != ""
		}
		for _, c := range t.Definition.Columns {
			own, isOwn := told[c.Name]
			draws := own || !isOwn && strings.Contains(strings.ToLower(c.Default), "nextval(")
			if !draws || p.Of(t.Name)[c.Name].IsZero() {
				continue
			}
			names = append(names, fmt.Sprintf("table %q: the column %q is masked, so the position of its numbers is "+
				"left out: they begin again at the start", t.Name, c.Name))
		}
	}
	return names
}

// Schema returns a schema without the statements that tell the positions of the sequences of columns that have rules,
// which are then in its Lacks. Of a table that is not among these, those of columns count that have a rule in any
// table. The schema may be the same, and nil.
func (p *Policy) Schema(s *source.Schema, tables []Table) *source.Schema {
	if p.IsZero() || s == nil {
		return s
	}
	known := map[source.TableName]string{}
	for _, t := range tables {
		if t.Definition != nil {
			known[source.TableName{Schema: t.Definition.Schema, Name: t.Definition.Name}] = t.Name
		}
	}
	ruled := map[string]bool{}
	for _, rules := range p.Tables {
		for column, rule := range rules {
			ruled[column] = ruled[column] || !rule.IsZero()
		}
	}
	return s.WithoutPositions(func(n *source.Numbering) bool {
		return slices.ContainsFunc(n.Columns, func(c source.ColumnName) bool {
			name, is := known[c.Table]
			return is && !p.Of(name)[c.Column].IsZero() || !is && ruled[c.Column]
		})
	})
}
