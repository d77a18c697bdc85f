package mask

import (
	"slices"

	"culvert/source"
)

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
		}
	}
	return &without
}

// Schema returns a schema without the statements that tell the positions of the sequences of columns that have rules,
// or of tables that are not among these. It may be the same, and nil.
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
	tells := func(one source.Statement) bool {
		return slices.ContainsFunc(one.Tells, func(c source.ColumnName) bool {
			name, is := known[c.Table]
			return !is || !p.Of(name)[c.Column].IsZero()
		})
	}
	without := *s
	without.Statements = slices.DeleteFunc(slices.Clone(s.Statements), tells)
	without.ForTables = slices.DeleteFunc(slices.Clone(s.ForTables), tells)
	return &without
}
