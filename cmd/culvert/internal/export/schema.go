package export

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"culvert/cmd/culvert/internal/command"
	"culvert/cmd/culvert/internal/ui"
	"culvert/source"
)

// schemaFlags say whether the schema of a whole database goes along.
type schemaFlags struct {
	schemaOnly, dataOnly, grants, largeObjects bool
}

func (f *schemaFlags) add(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.BoolVar(&f.schemaOnly, "schema-only", false, "with --all, export what makes the database, without its rows")
	flags.BoolVar(&f.dataOnly, "data-only", false, "with --all, export only the rows, and what makes their tables")
	flags.BoolVar(&f.grants, "grants", false, "with --all, export also who owns what, and who may do what")
	flags.BoolVar(&f.largeObjects, "large-objects", false, "with --all, export also the large objects of PostgreSQL")
	cmd.MarkFlagsMutuallyExclusive("schema-only", "data-only")
	cmd.MarkFlagsMutuallyExclusive("grants", "data-only")
	cmd.MarkFlagsMutuallyExclusive("large-objects", "schema-only")
	cmd.MarkFlagsMutuallyExclusive("large-objects", "data-only")
}

// config is what belongs to the schema.
func (f *schemaFlags) config() source.SchemaConfig {
	return source.SchemaConfig{Grants: f.grants, LargeObjects: f.largeObjects, ForTables: true}
}

// asks reports whether there must be a schema, and before the rows.
func (f *schemaFlags) asks() bool { return f.schemaOnly || f.grants || f.largeObjects }

// schemaReport says what makes the whole database again.
type schemaReport struct {
	By         string `json:"by,omitempty"` // who printed it
	Statements int    `json:"statements"`
}

// summary is a part of the line that sums up the export.
func (r *schemaReport) summary() string {
	if r == nil || r.Statements == 0 {
		return ""
	}
	return fmt.Sprintf("schema of %s, ", ui.Several(int64(r.Statements), "statement"))
}

func reportOf(s *source.Schema) *schemaReport {
	if s == nil {
		return nil
	}
	return &schemaReport{By: s.By, Statements: len(s.Statements)}
}

// readSchema reads the schema of the whole database, if it goes along, and returns what is left out then. If the source
// has none, that is what the tables leave out.
func (e *request) readSchema(ctx context.Context, a *command.App, src source.Source) (omitted []string, err error) {
	if !e.options.all || e.options.dataOnly {
		return e.plan.Omitted, nil
	}
	schema, err := source.SchemaOf(ctx, src, e.schemaConfig())
	return e.useSchema(a, src, schema, err)
}

// useSchema returns what is left out with a schema, or with the reason why there is none.
func (e *request) useSchema(
	a *command.App, src source.Source, schema *source.Schema, err error,
) (omitted []string, _ error) {
	taken, err := e.takeSchema(schema, err)
	if err != nil {
		return nil, err
	}
	if schema != nil && schema.OwnRows {
		source.Separate(src)
	}
	e.warnNoSchema(a, taken.none)
	return taken.omitted, nil
}

// startSchema is readSchema, but if the source can read the schema beside the rows, and nothing depends on it before,
// [export.Plan.Tables] finishes that.
func (e *request) startSchema(ctx context.Context, a *command.App, src source.Source) (omitted []string, err error) {
	o := e.options
	if _, can := src.(source.SchemaStarter); !can || !o.all || o.dataOnly || o.asks() {
		return e.readSchema(ctx, a, src)
	}
	ownRows, finish, err := source.StartSchema(ctx, src, e.schemaConfig())
	var schema *source.Schema
	if err == nil && !ownRows {
		e.plan.FinishSchema = func(ctx context.Context) (*source.Schema, []string, error) {
			schema, err := finish(ctx)
			if e.late, err = e.takeSchema(schema, err); e.late.none != nil {
				var lacks []string
				lacks, err = e.readNeeds(ctx, src, e.names)
				e.late.omitted = append(e.plan.Schema.WithoutMade(e.late.omitted), lacks...)
			}
			return e.plan.Schema, e.plan.Omitted, err
		}
		return nil, nil
	}
	if err == nil {
		schema, err = finish(ctx)
	}
	return e.useSchema(a, src, schema, err)
}

// afterSchema has the session end while the manifest is written, if the schema is the last that is read.
func (e *request) afterSchema(end func()) {
	finish := e.plan.FinishSchema
	if finish == nil {
		return
	}
	e.plan.FinishSchema = func(ctx context.Context) (*source.Schema, []string, error) {
		schema, omitted, err := finish(ctx)
		if err == nil {
			go end()
		}
		return schema, omitted, err
	}
}

// takenSchema is what became of the schema.
type takenSchema struct {
	omitted []string // what is left out
	none    error    // why there is no schema
}

// takeSchema puts the schema into the plan, or else the reason why there is none. An error ends the export.
func (e *request) takeSchema(schema *source.Schema, err error) (taken takenSchema, _ error) {
	o := e.options
	none, is := errors.AsType[*source.NoSchemaError](err)
	switch {
	case err == nil:
		schema.Lacks = e.leftOut(schema.Lacks)
		e.plan.Schema = schema
		return takenSchema{omitted: schema.Lacks}, nil
	case !is:
		return taken, err
	case none.Hint != "":
		err = command.WithHint(err, none.Hint)
	}
	if o.asks() {
		return taken, err
	}
	taken = takenSchema{omitted: e.plan.Omitted, none: err}
	if e.plan.Omitted = append(slices.Clip(taken.omitted), "the schema: "+command.Plain(err)); o.JSON {
		taken.omitted = e.plan.Omitted
	}
	return taken, nil // people are told of the schema
}

// warnNoSchema tells people why the schema is not exported, unless err is nil.
func (e *request) warnNoSchema(a *command.App, err error) {
	if err == nil || e.options.JSON {
		return
	}
	a.Console.Warn("the schema is not exported, only the tables and what they need: " + command.Plain(err))
	for _, hint := range command.HintsOf(err) {
		a.Console.Hint(hint)
	}
}

// tellLateSchema reports the schema that was read beside the rows, if it was.
func (e *request) tellLateSchema(a *command.App, r *Report) {
	if e.plan.FinishSchema == nil {
		return
	}
	r.Omitted, r.Schema = e.late.omitted, reportOf(e.plan.Schema)
	e.warnNoSchema(a, e.late.none)
	if !e.options.JSON {
		a.WarnOmitted(r.Omitted)
	}
}

// readNeeds reads what tables need beside their definitions, and returns what of that cannot be made.
func (e *request) readNeeds(ctx context.Context, src source.Source, names []string) ([]string, error) {
	if e.options.dataOnly {
		return nil, nil
	}
	needs, err := source.NeedsOf(ctx, src, names)
	if err != nil || needs == nil {
		return nil, err
	}
	e.plan.Schema = needs
	e.plan.Omitted = needs.WithoutMade(e.plan.Omitted)
	return needs.Lacks, nil
}

// schema returns the schema of the whole database, if it goes along, or what the tables need. If it cannot, the plan
// says why.
func (e *coordination) schema(ctx context.Context, src source.Source) (*source.Schema, error) {
	err := e.checkChosen(ctx, src)
	if err == nil {
		_, err = e.readSchema(ctx, e.app, src)
	}
	if err != nil || e.plan.Schema != nil {
		return e.plan.Schema, err
	}
	names, err := e.tableNames(ctx, src)
	if err == nil {
		_, err = e.readNeeds(ctx, src, names)
	}
	return e.plan.Schema, err
}
