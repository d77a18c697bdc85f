package export

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"

	"culvert/cmd/culvert/internal/command"
	"culvert/export"
	"culvert/manifest"
	"culvert/mask"
	"culvert/source"
)

// mask finds out what is masked of tables. It is done once, before a row is read.
func (e *request) mask(ctx context.Context, a *command.App, src source.Source, names []string) (err error) {
	if !e.options.masks.Given() || e.masked != nil || len(names) == 0 {
		return nil
	}
	if e.plan.Masks, err = e.options.masks.Look(ctx, a, src, e.plan, names); err != nil {
		return e.db.Explain(err)
	}
	e.masked = names
	return nil
}

// checkBloom refuses a bloom filter of a column that no table has.
func (e *request) checkBloom(ctx context.Context, src source.Source, names []string) error {
	if len(e.options.Bloom) == 0 || len(names) == 0 || !e.options.several(names) { // the export of one table does it
		return nil
	}
	lacking, err := e.plan.Lacking(ctx, src, names, e.options.Bloom)
	if err != nil {
		return e.db.Explain(err)
	}
	if len(lacking) > 0 {
		return command.Usagef("--bloom: no table has a column %q", lacking[0])
	}
	return nil
}

// namesWithSchema returns the tables of a request that may read the whole database, whose schema decides which tables
// have rows.
func (e *request) namesWithSchema(ctx context.Context, src source.Source) ([]string, error) {
	if e.options.all && !e.options.dataOnly {
		schema, err := source.SchemaOf(ctx, src, e.schemaConfig())
		if _, err = e.takeSchema(schema, err); err != nil {
			return nil, err
		}
		if schema != nil && schema.OwnRows {
			source.Separate(src)
		}
	}
	return e.tableNames(ctx, src)
}

// maskedTables returns the tables of a job. It refuses those of which it is not known what is masked, since they were
// made meanwhile, and bloom filters of columns that none of them has.
func (e *coordination) maskedTables(ctx context.Context, src source.Source) ([]string, error) {
	if err := e.choose(ctx, src, e.app); err != nil {
		return nil, err
	}
	names, err := e.tableNames(ctx, src)
	if err == nil {
		err = e.checkBloom(ctx, src, names)
	}
	if err != nil || !e.options.masks.Given() {
		return names, err
	}
	for _, name := range names {
		if !slices.Contains(e.masked, name) && !e.isStaged(name) {
			return nil, fmt.Errorf("the table %q was made meanwhile, and its masks are not known: begin again", name)
		}
	}
	return names, nil
}

// isStaged reports whether the schema has added a table, such as that of large objects, which have no masks.
func (e *request) isStaged(name string) bool {
	return e.plan.Schema != nil && slices.ContainsFunc(e.plan.Schema.Staged, func(s source.Staged) bool {
		return s.Table == name
	})
}

// queryMasked writes the rows of a query, whose columns are known when it has begun.
func (e *request) queryMasked(ctx context.Context, out io.Writer, src source.Source, sql string) (export.Stats, error) {
	if !e.options.masks.Given() {
		return e.plan.Query(ctx, out, src, sql)
	}
	plan := *e.plan
	plan.Ordered = true
	return plan.Rows(ctx, out, func(reading context.Context) (source.Rows, error) {
		rows, err := src.Query(reading, sql)
		if err != nil {
			return nil, err
		}
		if plan.Masks, err = e.options.masks.OfQuery(ctx, rows.Columns()); err != nil {
			return nil, errors.Join(err, rows.Close())
		}
		return rows, nil
	})
}

// rulesOf returns the rules of a table, in order of its columns.
func rulesOf(p *mask.Policy, table string) (all []manifest.Mask) {
	rules := p.Of(table)
	for _, column := range slices.Sorted(maps.Keys(rules)) {
		all = append(all, manifest.Mask{Column: column, Rule: rules[column].String()})
	}
	return all
}
