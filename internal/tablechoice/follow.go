package tablechoice

import (
	"fmt"
	"slices"
	"strings"

	"culvert/sink/dialect"
	"culvert/source"
)

// maxCondition is the most bytes of the condition of a table, with what follows from the tables that it refers to.
const maxCondition = 64 << 10

// key is a foreign key of a table, or a reference that the database does not have.
type key struct {
	constraint source.Constraint // zero for the latter
	columns    []string
	parent     *table
	within     *source.TableName // the partition whose rows alone have the key
	partition  *source.TableName // of the parent, if the key refers to it alone
	referenced []string
	cut        bool
}

// CircleError reports tables that refer to each other in a circle, so that no condition says which rows to keep.
type CircleError struct {
	Tables []string // each refers to the next one, and the last one is the first
	Column string   // of the first key
}

func (e *CircleError) Error() string {
	return fmt.Sprintf("tablechoice: a condition restricts tables that refer to each other in a circle: %s",
		strings.Join(e.Tables, " → "))
}

// link finds out how tables refer to each other, and which are restricted.
func (r *Rules) link(tables []*table) error {
	byName := map[source.TableName]*table{}
	for _, t := range tables {
		for _, p := range t.definition.Partitions {
			byName[p.TableName] = t
		}
	}
	for _, t := range tables {
		byName[t.identifier()] = t
	}
	for _, t := range tables {
		for _, a := range t.definition.Ancestors {
			if of := byName[source.TableName{Schema: a.Schema, Name: a.Name}]; of != nil && !a.HasRows {
				of.hasHeirs = true
			}
		}
		t.addKeys(byName, nil, t.definition.Constraints)
		for i := range t.definition.Partitions {
			if p := &t.definition.Partitions[i]; byName[p.TableName] == t {
				t.addKeys(byName, &p.TableName, p.Keys)
			}
		}
		if err := t.addReferences(tables); err != nil {
			return err
		}
	}
	r.restrict(tables)
	return nil
}

// addKeys adds the foreign keys that a table has, or a partition alone.
func (t *table) addKeys(byName map[source.TableName]*table, within *source.TableName, constraints []source.Constraint) {
	for _, c := range constraints {
		of, ok := c.Reference()
		if !ok {
			continue
		}
		name := source.TableName{Schema: of.Schema, Name: of.Table}
		if name.Schema == "" {
			name.Schema = t.definition.Schema
		}
		parent := byName[name]
		if parent == nil {
			continue // it is not among these tables, so nothing is known of it
		}
		k := key{constraint: c, columns: of.Columns, within: within, parent: parent, referenced: of.Key}
		if name != parent.identifier() {
			k.partition = &name
		}
		if k.referenced == nil {
			k.referenced = parent.definition.PrimaryKey()
		}
		k.cut = len(k.referenced) != len(k.columns) || t.cuts(k.columns)
		t.keys = append(t.keys, k)
	}
}

// cuts reports whether the key of columns is cut.
func (t *table) cuts(columns []string) bool {
	return t.rule != nil && slices.ContainsFunc(columns, func(c string) bool { return slices.Contains(t.rule.Cut, c) })
}

// addReferences adds the references that the database does not have.
func (t *table) addReferences(tables []*table) error {
	if t.rule == nil {
		return nil
	}
	for _, reference := range t.rule.References {
		var parents []*table
		for _, other := range tables {
			if other.names[0].isMeant(reference.Table) {
				parents = append(parents, other)
			}
		}
		switch {
		case len(parents) == 0:
			return unmatched(reference.Table, tables)
		case len(parents) > 1:
			return fmt.Errorf("tablechoice: a reference of table %q is to %q, which matches several tables", t.name,
				reference.Table)
		case len(reference.Columns) != len(reference.Key) || len(reference.Key) == 0:
			return fmt.Errorf("tablechoice: a reference of table %q has %d columns, and its key %d", t.name,
				len(reference.Columns), len(reference.Key))
		}
		for _, check := range []struct {
			of    *table
			names []string
		}{{t, reference.Columns}, {parents[0], reference.Key}} {
			if err := check.of.mustHave(check.names); err != nil {
				return err
			}
		}
		t.keys = append(t.keys, key{columns: reference.Columns, parent: parents[0], referenced: reference.Key})
	}
	return nil
}

func (t *table) mustHave(columns []string) error {
	var known []string
	for _, c := range t.definition.Columns {
		known = append(known, c.Name)
	}
	for _, name := range columns {
		if !slices.Contains(known, name) {
			return &UnmatchedError{What: "column", Pattern: name, Known: known}
		}
	}
	return nil
}

// follows reports whether a key restricts its table if its parent is restricted.
func (r *Rules) follows(t *table, k *key) bool {
	return !r.NoFollow && !k.cut && !k.parent.excluded && !k.parent.noRows && (t.rule == nil || !t.rule.NoFollow)
}

// restrict finds the tables that conditions restrict.
func (r *Rules) restrict(tables []*table) {
	for changed := true; changed; {
		changed = false
		for _, t := range tables {
			if t.restricted || t.excluded || t.noRows {
				continue
			}
			t.restricted = t.rule != nil && t.rule.Where != ""
			for i := range t.keys {
				t.restricted = t.restricted || t.keys[i].parent.restricted && r.follows(t, &t.keys[i])
			}
			changed = changed || t.restricted
		}
	}
}

// choice returns what is meant of a table.
func (r *Rules) choice(t *table) (c source.Choice, err error) {
	if c.Selection.Columns, err = t.columns(); err != nil {
		return c, err
	}
	if c.NoRows = t.noRows; !t.noRows {
		if c.Selection.Where, err = r.where(t, nil); err != nil {
			return c, err
		}
	}
	for i := range t.keys {
		if k := &t.keys[i]; k.constraint.Kind != "" && k.within == nil && !r.holds(t, k) {
			c.WithoutKeys = append(c.WithoutKeys, k.constraint)
		}
	}
	return c, nil
}

// holds reports whether all that a key refers to comes along.
func (r *Rules) holds(t *table, k *key) bool {
	switch {
	case k.parent.excluded:
		return false
	case t.noRows:
		return true
	case k.parent.noRows, slices.ContainsFunc(k.referenced, k.parent.lacks),
		slices.ContainsFunc(k.columns, t.hasDefault):
		return false
	}
	return !k.parent.restricted || r.follows(t, k)
}

// lacks reports whether the values of a column do not come along. Those of a generated one follow from others.
func (t *table) lacks(column string) bool {
	if t.rule == nil || slices.ContainsFunc(t.definition.Columns, func(c source.ColumnDefinition) bool {
		return c.Name == column && c.Generated != ""
	}) {
		return false
	}
	return slices.Contains(t.rule.WithoutColumns, column) ||
		len(t.rule.Columns) > 0 && !slices.Contains(t.rule.Columns, column)
}

// hasDefault reports whether rows have a default in a column, and not NULL, since its values do not come along.
func (t *table) hasDefault(column string) bool {
	return t.lacks(column) && slices.ContainsFunc(t.definition.Columns, func(c source.ColumnDefinition) bool {
		return c.Name == column && c.Default != "" && !strings.HasPrefix(strings.ToUpper(c.Default), "NULL")
	})
}

// state is how far the condition of a table is known.
type state uint8

const (
	unknown state = iota
	beingMade
	made
)

// where returns the condition of a table, with what follows from the tables that it refers to. The path has the tables
// that refer to it, so far.
func (r *Rules) where(t *table, path []*table) (string, error) {
	switch {
	case !t.restricted:
		return "", nil
	case t.state == made:
		return t.where, nil
	}
	t.state = beingMade
	path = append(slices.Clip(path), t)
	var terms []string
	for i := range t.keys {
		k := &t.keys[i]
		if !k.parent.restricted || !r.follows(t, k) {
			continue
		}
		if k.parent.state == beingMade {
			return "", newCircleError(path, k)
		}
		condition, err := r.where(k.parent, path)
		if err != nil {
			return "", err
		}
		terms = append(terms, t.refersTo(k, condition))
	}
	if own := t.own(); own != "" && len(terms) == 0 {
		t.where = own
	} else {
		if own != "" {
			terms = slices.Insert(terms, 0, inParentheses(own))
		}
		t.where = strings.Join(terms, " AND ")
	}
	if len(t.where) > maxCondition {
		return "", fmt.Errorf("tablechoice: the condition of table %q, with what follows from the tables that it "+
			"refers to, has more than %d KiB: cut some of its foreign keys", t.name, maxCondition>>10)
	}
	t.state = made
	return t.where, nil
}

func (t *table) own() string {
	if t.rule == nil {
		return ""
	}
	return t.rule.Where
}

func newCircleError(path []*table, last *key) error {
	e := &CircleError{Column: last.columns[0]}
	begin := slices.Index(path, last.parent)
	for _, t := range path[begin:] {
		e.Tables = append(e.Tables, strings.Join(t.parts, "."))
	}
	e.Tables = append(e.Tables, strings.Join(last.parent.parts, "."))
	return e
}

// sql returns the name of a table, or of a column of it, for statements.
func (t *table) sql(column ...string) string {
	parts := slices.Concat(t.parts, column)
	for i, part := range parts {
		parts[i] = dialect.Quote(t.definition.Dialect, part)
	}
	return strings.Join(parts, ".")
}

// refersTo returns the condition that a row refers to a row that meets a condition, or to none.
func (t *table) refersTo(k *key, condition string) string {
	var b strings.Builder
	b.WriteByte('(')
	if k.within != nil {
		b.WriteString("NOT " + t.isIn(k.within) + " OR ")
	}
	for _, name := range k.columns {
		if t.isNullable(name) {
			b.WriteString(t.sql(name) + " IS NULL OR ")
		}
	}
	b.WriteString("EXISTS (SELECT 1 FROM ")
	if k.parent.hasHeirs && k.constraint.Kind != "" {
		b.WriteString("ONLY ") // a key of the database refers to no row of an heir
	}
	b.WriteString(k.parent.sql() + " WHERE ")
	for i, name := range k.columns {
		b.WriteString(k.parent.sql(k.referenced[i]) + " = " + t.sql(name) + " AND ")
	}
	if k.partition != nil {
		b.WriteString(k.parent.isIn(k.partition) + " AND ")
	}
	b.WriteString(inParentheses(condition) + "))")
	return b.String()
}

// isIn returns the condition that a row of a table of PostgreSQL is one of a partition.
func (t *table) isIn(p *source.TableName) string {
	name := dialect.Quote(source.PostgreSQL, p.Schema) + "." + dialect.Quote(source.PostgreSQL, p.Name)
	return t.sql("tableoid") + " IN (SELECT relid FROM pg_catalog.pg_partition_tree('" +
		strings.ReplaceAll(name, "'", "''") + "'))"
}

// inParentheses returns a condition in parentheses. It may end in a comment.
func inParentheses(condition string) string {
	if strings.Contains(condition, "--") || strings.Contains(condition, "#") {
		return "(" + condition + "\n)"
	}
	return "(" + condition + ")"
}

// isNullable reports whether a column may have NULL. Of one that is not known, nobody knows.
func (t *table) isNullable(name string) bool {
	for _, c := range t.definition.Columns {
		if c.Name == name {
			return !c.NotNull
		}
	}
	return true
}
