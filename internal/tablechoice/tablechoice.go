// Package tablechoice decides what is meant of the tables of a source: which tables, which of them have no rows, and
// which rows of others.
//
// [Rules.Choose] applies rules, which name tables by patterns, to a list of tables. Every foreign key of the result
// holds:
//
//   - A condition on a table also restricts the tables that refer to it, over any distance. A row is kept if the rows
//     that it refers to are kept; a key with a NULL in it refers to none. So the condition of orders may become
//
//     "shop"."orders"."customer" IS NULL OR EXISTS (SELECT 1 FROM "shop"."customers" WHERE … AND (vip))
//
//     Conditions are of one statement for each table, so they read the snapshot of the rows, and tables may be read in
//     parts.
//
//   - A foreign key is left out, and named, if the rows that it refers to do not all come along: since the table, its
//     rows or its columns are left out, or since the key is not followed.
//
// The definitions of the tables say how they refer to each other. Rules may add references that the database does not
// have.
package tablechoice

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"culvert/internal/namepattern"
	"culvert/sink/dialect"
	"culvert/source"
)

// Rules say which tables are meant, and what of them. The zero value means all of all.
type Rules struct {
	Include namepattern.Set // none for all tables
	Exclude namepattern.Set
	NoRows  namepattern.Set // tables of which only the definitions are meant

	Tables []Rule

	NoFollow bool // conditions do not restrict the tables that refer to theirs
	Optional bool // patterns may match no table
}

// Rule chooses rows and columns of the tables that a pattern matches, and of those that inherit from them. A table that
// is matched itself has only its own rule. Two rules must not match one table.
type Rule struct {
	Pattern *namepattern.Pattern

	Where          string
	Columns        []string // none for all
	WithoutColumns []string

	NoFollow   bool     // conditions on other tables do not restrict these
	Cut        []string // columns whose foreign keys are not followed
	References []Reference
}

// Reference is a foreign key that the database does not have. It is followed as others are.
type Reference struct {
	Columns []string
	Table   *namepattern.Pattern // which matches one table
	Key     []string
}

// IsZero reports whether the rules mean all of all tables.
func (r *Rules) IsZero() bool {
	return len(r.Include)+len(r.Exclude)+len(r.NoRows)+len(r.Tables) == 0
}

// Result is what is meant.
type Result struct {
	Names     []string // of the tables, in their order
	Excluded  []string
	Choices   map[string]source.Choice // by name; tables of which all is meant are not in it
	LeftOut   []string                 // foreign keys, for people
	Unmatched []string                 // patterns that match nothing, which are allowed to
	Hidden    []string                 // for people: tables that patterns without a schema do not leave out

	without     []source.TableName
	withoutKeys []source.KeyName
}

// Without returns what the schema of the database is without; see [source.SchemaConfig].
func (r *Result) Without() ([]source.TableName, []source.KeyName) { return r.without, r.withoutKeys }

// preparedAtOnce is how many tables a source looks up together; see [source.Preparer].
const preparedAtOnce = 500

// Choose looks up tables of a source, by names that it knows, and applies the rules to them. It reads no rows. The
// errors are an [*UnmatchedError], a [*CircleError], and those of the source.
func (r *Rules) Choose(ctx context.Context, src source.Source, names []string) (*Result, error) {
	var tables []*table
	for some := range slices.Chunk(names, preparedAtOnce) {
		if err := source.Prepare(ctx, src, some); err != nil {
			return nil, err
		}
		for _, name := range some {
			d, err := source.Define(ctx, src, name)
			if err != nil {
				return nil, err
			}
			if d == nil {
				return nil, fmt.Errorf("tablechoice: the source does not say how table %q is made, so no pattern and "+
					"no condition can be on it", name)
			}
			tables = append(tables, newTable(name, d))
		}
	}
	return r.choose(tables)
}

// table is a table that may be meant.
type table struct {
	name       string
	definition *source.Definition
	parts      []string // schema and name
	names      []tableName
	rule       *Rule // or nil
	excluded   bool
	noRows     bool

	keys       []key
	hasHeirs   bool // tables inherit from it, whose rows are not read with its own
	restricted bool // a condition may leave out rows
	state      state
	where      string
}

func newTable(name string, d *source.Definition) *table {
	schema := d.Schema
	if schema == "" {
		schema = "main" // of SQLite
	}
	return &table{name: name, definition: d, parts: []string{schema, d.Name}}
}

// leftOut says, for people, that a foreign key does not hold. The statement that makes a table of SQLite keeps it.
func (t *table) leftOut(columns []string) string {
	key := fmt.Sprintf("the foreign key (%s) of the table %q", strings.Join(columns, ", "), strings.Join(t.parts, "."))
	if t.definition.Dialect == source.SQLite {
		return "some or all that " + key + " refers to"
	}
	return key + ", since not all that it refers to comes along"
}

func (t *table) identifier() source.TableName {
	return source.TableName{Schema: t.definition.Schema, Name: t.definition.Name}
}

func (r *Rules) choose(tables []*table) (*Result, error) {
	result := &Result{Choices: map[string]source.Choice{}}
	if err := r.apply(tables, result); err != nil {
		return nil, err
	}
	if err := r.link(tables); err != nil {
		return nil, err
	}
	for _, t := range tables {
		if t.excluded {
			result.Excluded = append(result.Excluded, t.name)
			result.without = append(result.without, t.identifier())
			continue
		}
		result.Names = append(result.Names, t.name)
		choice, err := r.choice(t)
		if err != nil {
			return nil, err
		}
		for _, k := range choice.WithoutKeys {
			result.withoutKeys = append(result.withoutKeys, source.KeyName{Table: t.identifier(), Name: k.Name})
			result.LeftOut = append(result.LeftOut, t.leftOut(k.Columns))
		}
		for i := range t.keys {
			if k := &t.keys[i]; k.within != nil && !r.holds(t, k) {
				name := source.KeyName{Table: *k.within, Name: k.constraint.Name}
				result.withoutKeys = append(result.withoutKeys, name)
				result.LeftOut = append(result.LeftOut, t.leftOut(k.columns))
			}
		}
		if !choice.Selection.IsZero() || choice.NoRows || choice.WithoutKeys != nil {
			result.Choices[t.name] = choice
		}
	}
	return result, nil
}

// apply finds the tables that patterns match.
func (r *Rules) apply(tables []*table, result *Result) error {
	setNames(tables)
	for _, t := range tables {
		t.excluded = len(r.Include) > 0 && !t.isMeant(r.Include) || t.isMeant(r.Exclude)
		t.noRows = t.isMeant(r.NoRows)
		if err := t.setRule(r.Tables); err != nil {
			return err
		}
		if err := dialect.CheckCondition(t.definition.Dialect, t.own()); err != nil {
			return fmt.Errorf("tablechoice: the condition of table %q: %w", t.name, err)
		}
	}
	return r.matchAll(tables, result)
}

// columns returns the columns that are meant, or none for all.
func (t *table) columns() ([]string, error) {
	if t.rule == nil {
		return nil, nil
	}
	var known, columns []string
	for _, c := range t.definition.Columns {
		if known = append(known, c.Name); c.Generated == "" && !slices.Contains(t.rule.WithoutColumns, c.Name) {
			columns = append(columns, c.Name)
		}
	}
	for _, name := range slices.Concat(t.rule.WithoutColumns, t.rule.Columns, t.rule.Cut) {
		if !slices.Contains(known, name) {
			return nil, &UnmatchedError{What: "column", Pattern: name, Known: known}
		}
	}
	switch {
	case len(t.rule.Columns) > 0 && len(t.rule.WithoutColumns) > 0:
		return nil, fmt.Errorf("tablechoice: table %q has both columns to include and columns to exclude", t.name)
	case len(t.rule.Columns) > 0:
		return t.rule.Columns, nil
	case len(t.rule.WithoutColumns) == 0:
		return nil, nil
	case len(columns) == 0:
		return nil, fmt.Errorf("tablechoice: no column of table %q is left", t.name)
	}
	return columns, nil
}
