package export

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"culvert/cmd/culvert/internal/command"
	"culvert/cmd/culvert/internal/ui"
	"culvert/internal/lazyregexp"
	"culvert/source"
)

// schemaFlags say whether the schema of a whole database goes along.
type schemaFlags struct {
	schemaOnly, dataOnly, grants bool
}

func (f *schemaFlags) add(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.BoolVar(&f.schemaOnly, "schema-only", false, "with --all, export what makes the database, without its rows")
	flags.BoolVar(&f.dataOnly, "data-only", false, "with --all, export only the rows, and what makes their tables")
	flags.BoolVar(&f.grants, "grants", false, "with --all, export also who owns what, and who may do what")
	cmd.MarkFlagsMutuallyExclusive("schema-only", "data-only")
	cmd.MarkFlagsMutuallyExclusive("grants", "data-only")
}

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
	o := e.options
	if !o.all || o.dataOnly {
		return e.plan.Omitted, nil
	}
	schema, err := source.SchemaOf(ctx, src, source.SchemaConfig{Grants: o.grants})
	none, is := errors.AsType[*source.NoSchemaError](err)
	switch {
	case err == nil && o.schemaOnly && !schema.Tables:
		return nil, command.WithHint(command.Usagef("--schema-only is for PostgreSQL"),
			"in other systems the definitions of tables go with their rows: leave out --schema-only")
	case err == nil:
		e.plan.Schema = schema
		if schema.OwnRows {
			source.Separate(src)
		}
		return schema.Lacks, nil
	case !is:
		return nil, err
	case none.Hint != "":
		err = command.WithHint(err, none.Hint)
	}
	if o.schemaOnly || o.grants {
		return nil, err
	}
	if !o.JSON {
		a.Console.Warn("the schema is not exported, only the tables and what they need: " + command.Plain(err))
		for _, hint := range command.HintsOf(err) {
			a.Console.Hint(hint)
		}
	}
	omitted = e.plan.Omitted
	if e.plan.Omitted = append(slices.Clip(omitted), "the schema: "+command.Plain(err)); o.JSON {
		omitted = e.plan.Omitted
	}
	return omitted, nil // people were told of the schema
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
	e.plan.Omitted = e.withoutNeeds(e.plan.Omitted)
	return needs.Lacks, nil
}

// quoted matches a name in SQL that has quotes.
var quoted = lazyregexp.New(`"((?:[^"]|"")*)"`)

// withoutNeeds returns what is left out without the sequences that tables need, since these come along.
func (e *request) withoutNeeds(omitted []string) []string {
	if e.plan.Schema == nil || !e.plan.Schema.Needs {
		return omitted
	}
	made := map[string]bool{}
	for _, one := range e.plan.Schema.Statements {
		name := quoted.ReplaceAllStringFunc(one.Object, func(name string) string {
			return strings.ReplaceAll(name[1:len(name)-1], `""`, `"`)
		})
		kind, name, _ := strings.Cut(name, " ")
		made["the "+kind+` "`+name+`"`] = true
	}
	return slices.DeleteFunc(slices.Clone(omitted), func(what string) bool { return made[what] })
}
