package mask

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"culvert/source"
)

// Policy says how the columns of tables are masked. It is safe for concurrent use, as long as it is not changed.
type Policy struct {
	// Key is the secret. It must not be nil if there are rules.
	Key *Key

	// Programs are those that rules name.
	Programs *Programs

	// Tables are the rules of columns, by the names of the tables as they are read, and of the columns. They hold for
	// no other tables, not for those either that inherit from these: see the Ancestors of [source.Definition].
	Tables map[string]Rules
}

// Rules are the rules of the columns of a table, by their names. They are data, for JSON.
type Rules map[string]Rule

// masked returns the columns whose values become others, in order.
func (r Rules) masked() (names []string) {
	for name, rule := range r {
		if !rule.IsDrop() && !rule.IsZero() {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// Knows refuses rules for columns that a table does not have: neither those that are read, nor its definition, if that
// is known.
func (p *Policy) Knows(t Table) error {
	for _, name := range slices.Sorted(maps.Keys(p.Of(t.Name))) {
		_, read := column(t.Columns, name)
		if read || t.Definition == nil && p.Of(t.Name)[name].IsDrop() {
			continue // Select has left it out
		}
		if t.Definition == nil || !slices.ContainsFunc(t.Definition.Columns, func(c source.ColumnDefinition) bool {
			return c.Name == name
		}) {
			return fmt.Errorf("mask: table %q: there is no column %q, for which there is a rule", t.Name, name)
		}
	}
	return nil
}

// IsZero reports whether nothing is masked.
func (p *Policy) IsZero() bool { return p == nil || len(p.Tables) == 0 }

// Of returns the rules of a table, or none.
func (p *Policy) Of(table string) Rules {
	if p == nil {
		return nil
	}
	return p.Tables[table]
}

// Masker returns what masks the rows of a table with these columns, or nil if there are no rules for their values. It
// is an error if a column that is to be dropped is among them, or if none of those with rules is: then the table is
// another one than the rules mean, and its values would leave as they are.
func (p *Policy) Masker(table string, columns []source.Column) (*Masker, error) {
	rules := p.Of(table)
	if len(rules) == 0 {
		return nil, nil
	}
	all, masked := make([]Rule, len(columns)), false
	for i, column := range columns {
		all[i] = rules[column.Name]
		masked = masked || !all[i].IsZero()
	}
	if names := rules.masked(); !masked && len(names) > 0 {
		return nil, fmt.Errorf("mask: table %q: the column %q is to be masked, but was not read", table, names[0])
	}
	for _, column := range columns {
		if rules[column.Name].IsDrop() {
			return nil, fmt.Errorf("mask: table %q: the column %q is to be dropped, but was read", table, column.Name)
		}
	}
	if !masked {
		return nil, nil
	}
	if p.Key == nil {
		return nil, fmt.Errorf("mask: table %q: there is no key", table)
	}
	m, err := newMasker(p.Key, p.Programs, columns, all)
	if err != nil {
		return nil, fmt.Errorf("mask: table %q: %w", table, err)
	}
	return m, nil
}

// End ends the programs of the rules, as [Programs.End] does.
func (p *Policy) End() error {
	if p == nil {
		return nil
	}
	return p.Programs.End()
}

// Dropped returns the columns of a table that are left out, in order.
func (p *Policy) Dropped(table string) (names []string) {
	for name, rule := range p.Of(table) {
		if rule.IsDrop() {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// Select returns a selection of a table without the columns that are dropped. It asks the source for the columns if the
// selection names none.
func (p *Policy) Select(
	ctx context.Context, src source.Source, table string, s source.Selection,
) (source.Selection, error) {
	dropped := p.Dropped(table)
	if len(dropped) == 0 {
		return s, nil
	}
	all := slices.Clone(s.Columns)
	if len(all) == 0 {
		rows, err := src.Table(ctx, table)
		if err != nil {
			return s, err
		}
		for _, column := range rows.Columns() {
			all = append(all, column.Name)
		}
		if err := rows.Close(); err != nil {
			return s, err
		}
		for _, name := range dropped {
			if !slices.Contains(all, name) {
				return s, fmt.Errorf("mask: table %q: there is no column %q, which is to be dropped", table, name)
			}
		}
	}
	s.Columns = slices.DeleteFunc(all, func(name string) bool { return slices.Contains(dropped, name) })
	if len(s.Columns) == 0 {
		return s, fmt.Errorf("mask: table %q: all its columns are to be dropped: leave out the table", table)
	}
	return s, nil
}
