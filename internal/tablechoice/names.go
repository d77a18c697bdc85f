package tablechoice

import (
	"fmt"
	"slices"
	"strings"

	"culvert/internal/namepattern"
)

// In PostgreSQL, a pattern without a schema means tables of the search path, as with pg_dump. A choice for a table also
// holds for its partitions and for the tables that inherit from it, since their rows are rows of the table.

// tableName is a name by which patterns may mean a table: its own name, or an ancestor's.
type tableName struct {
	parts    []string // schema and name
	hidden   bool     // without the schema, it means another table or none
	distance int      // of the ancestor, or 0
}

func (n *tableName) isMeant(p *namepattern.Pattern) bool {
	return p.Match(n.parts...) && (!n.hidden || p.Parts() > 1)
}

// Means reports whether any of the patterns means a table, by its schema and name, and by whether it is hidden: see
// [source.Definition].
func Means(set namepattern.Set, parts []string, hidden bool) bool {
	n := tableName{parts: parts, hidden: hidden}
	return slices.ContainsFunc(set, n.isMeant)
}

// setNames finds the names of tables.
func setNames(tables []*table) {
	for _, t := range tables {
		t.names = []tableName{{parts: t.parts, hidden: t.definition.Hidden}}
		for _, a := range t.definition.Ancestors {
			one := tableName{parts: []string{a.Schema, a.Name}, hidden: a.Hidden, distance: a.Distance}
			t.names = append(t.names, one)
		}
	}
}

// isMeant reports whether any of the patterns means a table.
func (t *table) isMeant(set namepattern.Set) bool {
	return slices.ContainsFunc(set, func(p *namepattern.Pattern) bool {
		return slices.ContainsFunc(t.names, func(n tableName) bool { return n.isMeant(p) })
	})
}

// setRule finds the rule for a table: the one for itself, or else for the nearest ancestor.
func (t *table) setRule(rules []Rule) error {
	at := 0 // how far away the table of the rule is
	for i := range rules {
		rule := &rules[i]
		nearest := slices.IndexFunc(t.names, func(n tableName) bool { return n.isMeant(rule.Pattern) })
		if nearest < 0 {
			continue
		}
		switch distance := t.names[nearest].distance; {
		case t.rule == nil || distance < at:
			t.rule, at = rule, distance
		case distance == at:
			return fmt.Errorf("tablechoice: both %q and %q match the table %q, and one of them has to say all",
				t.rule.Pattern, rule.Pattern, strings.Join(t.parts, "."))
		}
	}
	return nil
}

// UnmatchedError reports a pattern that matches no table, or no column.
type UnmatchedError struct {
	What    string // table or column
	Pattern string
	Known   []string

	// Hidden are the tables outside the search path that the pattern would match if it had a schema.
	Hidden []string
}

func (e *UnmatchedError) Error() string {
	return fmt.Sprintf("tablechoice: no %s matches %q", e.What, e.Pattern)
}

// Unmatched returns the error of a pattern that matches none of the names.
func Unmatched(p *namepattern.Pattern, names [][]string) *UnmatchedError {
	e := &UnmatchedError{What: "table", Pattern: p.String()}
	for _, name := range names {
		e.Known = append(e.Known, namepattern.Quote(name[max(0, len(name)-p.Parts()):]...))
	}
	return e
}

// unmatched returns the error of a pattern that matches no table.
func unmatched(p *namepattern.Pattern, tables []*table) *UnmatchedError {
	var names [][]string
	for _, t := range tables {
		if !t.definition.Hidden || p.Parts() > 1 {
			names = append(names, t.parts)
		}
	}
	e := Unmatched(p, names)
	e.Hidden = hiddenFrom(p, tables)
	return e
}

// hiddenFrom returns the tables outside the search path that a pattern does not mean because it has no schema.
func hiddenFrom(p *namepattern.Pattern, tables []*table) (hidden []string) {
	for _, t := range tables {
		if t.definition.Hidden && p.Parts() == 1 && p.Match(t.parts...) {
			hidden = append(hidden, namepattern.Quote(t.parts...))
		}
	}
	return hidden
}

// matchAll returns an error if a pattern matches nothing. It adds to the result tables outside the search path that
// people may think are left out, although the pattern does not mean them.
func (r *Rules) matchAll(tables []*table, result *Result) error {
	without := slices.Concat(r.Exclude, r.NoRows)
	for i := range r.Tables {
		without = append(without, r.Tables[i].Pattern)
	}
	for _, p := range slices.Concat(r.Include, without) {
		if slices.ContainsFunc(tables, func(t *table) bool { return t.isMeant(namepattern.Set{p}) }) {
			continue
		}
		if !r.Optional {
			return unmatched(p, tables)
		}
		result.Unmatched = append(result.Unmatched, p.String())
	}
	for _, p := range without {
		if hidden := hiddenFrom(p, tables); len(hidden) > 0 {
			result.Hidden = append(result.Hidden, fmt.Sprintf("%q does not mean %s, which is in no schema of the "+
				"search path: %q means it too", p, hidden[0], "*."+p.String()))
		}
	}
	return nil
}
