package mask

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"culvert/internal/lazyregexp"
	"culvert/source"
)

var (
	// fromSequence matches what draws a number from a sequence of PostgreSQL, whose name is in a text.
	fromSequence = lazyregexp.New(`nextval\('(?:[^']|'')*'`)

	// someText matches a text that is not empty, in SQL of any system.
	someText = lazyregexp.New(`(?:^|[^'])'(?:[^']|'')`)

	checks = lazyregexp.New(`(?is)\bcheck\s*\(.*`)
)

// Telling names, for people, what the definitions of tables, which leave as they are, have of texts about columns that
// have rules: such a text may be a value, as in CHECK (email <> 'anna@example.org'). Schemas have more of them, in
// views and functions, of which nobody can say what they are about.
func (p *Policy) Telling(tables []Table) (notices []string) {
	for _, t := range tables {
		if about := telling(t.Definition, p.Of(t.Name)); len(about) > 0 {
			notices = append(notices, fmt.Sprintf("table %q: its definition leaves as it is, with texts about columns "+
				"that are masked: %s", t.Name, strings.Join(about, ", ")))
		}
	}
	return notices
}

func telling(d *source.Definition, rules Rules) (about []string) {
	if d == nil || len(rules) == 0 {
		return nil
	}
	names := slices.Sorted(maps.Keys(rules))
	tells := func(sql string) bool { return someText.MatchString(sql) && mentioned(sql, names) != "" }
	for _, c := range d.Columns {
		if slices.ContainsFunc(c.Others, tells) {
			about = append(about, fmt.Sprintf("a clause of %q", c.Name))
		}
		if rules[c.Name].IsZero() {
			continue
		}
		if someText.MatchString(fromSequence.ReplaceAllString(c.Default, "")) {
			about = append(about, fmt.Sprintf("the default of %q", c.Name))
		}
		if c.Comment != "" {
			about = append(about, fmt.Sprintf("the comment on %q", c.Name))
		}
	}
	for _, c := range d.Constraints {
		if tells(c.Definition) {
			about = append(about, fmt.Sprintf("the constraint %q", c.Name))
		}
	}
	if tells(checksOfSQLite(d)) {
		about = append(about, "a check")
	}
	for _, i := range d.Indexes {
		if tells(i.Definition) {
			about = append(about, fmt.Sprintf("the index %q", i.Name))
		}
	}
	if slices.ContainsFunc(slices.Concat(d.Others, d.Lacks), func(clause string) bool {
		return strings.HasPrefix(clause, "PARTITION BY ") && mentioned(clause, names) != ""
	}) {
		about = append(about, "its partitions")
	}
	return about
}

// checksOfSQLite returns the end of the statement that has the checks of a table, from the first one on, or "".
func checksOfSQLite(d *source.Definition) string {
	if found := checks.FindStringSubmatch(d.Create); d.Dialect == source.SQLite && found != nil {
		return found[0]
	}
	return ""
}
