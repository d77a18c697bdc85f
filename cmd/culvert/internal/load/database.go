package load

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"culvert/cmd/culvert/internal/argument"
	"culvert/cmd/culvert/internal/command"
	"culvert/cmd/culvert/internal/ui"
	"culvert/export"
	"culvert/load"
	"culvert/manifest"
	"culvert/sink"
	"culvert/source"
)

// SchemaReport says what has become of the schema of a whole database.
type SchemaReport struct {
	By     string   `json:"by,omitempty"`     // who printed it
	Before int      `json:"before"`           // statements before the rows
	After  int      `json:"after"`            // statements after the rows
	Failed []string `json:"failed,omitempty"` // why statements have failed

	// Pending is the number of statements after the rows that wait until tables are loaded that have failed.
	Pending int `json:"pending,omitempty"`
}

// makesDatabase reports whether a load makes the whole database again. Otherwise, tables are made by their definitions.
func (l *loading) makesDatabase(db sink.Sink, m *manifest.Manifest) (bool, error) {
	restorer, is := db.(sink.Restorer)
	whole := m.Schema != nil && !m.Schema.Needs
	switch {
	case !l.o.schemaOnly && (!l.o.create || len(l.tables) > 0 || l.o.ledger != ""):
		return false, nil
	case l.o.schemaOnly && len(l.tables) > 0:
		return false, command.Usagef("--schema-only makes the whole database, so no TABLE can be given")
	case whole && is && restorer.Restores(m.Schema.Dialect):
		return true, nil
	case !l.o.schemaOnly:
		return false, nil
	case !whole:
		return false, command.WithHint(fmt.Errorf("%s: there is no schema in it", l.from),
			"culvert export --all writes the schema too, without --data-only",
			"the tables that were exported can be made alone: --create")
	}
	return false, command.WithHint(fmt.Errorf("the schema is one of %s", m.Schema.Dialect),
		"the tables can be made in other systems: --create")
}

// whole loads a whole database.
func (f *filling) whole(ctx context.Context, db sink.Sink, at *argument.Location, from *export.Directory) error {
	all, err := f.loadTables(at, from, func() ([]load.Stats, error) {
		return f.plan.Database(ctx, db, from, identify(from.Manifest))
	})
	s := from.Manifest.Schema
	f.reportDatabase(f.o.Jobs, all, tablesOf(from.Manifest, !s.Tables), err)
	f.leaveOut(s.Lacks, f.o.JSON)
	f.reportSchema(&SchemaReport{By: s.By, Before: s.Before, After: s.After}, all, err)
	return f.withRestoreHints(err, len(all) > 0)
}

// reportDatabase reports what has become of the tables of a database. There are none if only the schema was to be made,
// or if an earlier command has loaded them.
func (r *work) reportDatabase(jobs int, all []load.Stats, of int, err error) {
	if len(all) == 0 && (err == nil || command.Is[*sink.StatementsError](err)) {
		of = 0
	}
	reportTables(r.a, r.w, r.r, jobs, all, of, err)
}

// reportSchema reports what has become of the schema, and which statements have failed.
func (r *work) reportSchema(report *SchemaReport, all []load.Stats, err error) {
	r.r.Schema = report
	waits := slices.ContainsFunc(all, func(stats load.Stats) bool { return stats.Err != nil })
	if command.Is[*load.PartialError](err) && waits {
		report.Pending = report.After
	}
	if report.Pending > 0 && !r.w.Flags.JSON {
		r.a.Console.Warn(fmt.Sprintf("not run yet, since tables have failed: %s after the rows, for keys, indexes, "+
			"views, triggers and the like", ui.Several(int64(report.Pending), "statement")))
		r.a.Console.Hint("when the cause is gone, to load the tables that failed: " + r.again)
	}
	if err == nil && report.Before+report.After > 0 {
		r.w.Summary += fmt.Sprintf("schema of %s, ", ui.Several(int64(report.Before+report.After), "statement"))
	}
	failed, is := errors.AsType[*sink.StatementsError](err)
	if !is {
		return
	}
	for _, one := range failed.Failed {
		text := r.a.Secrets.Redact(command.Plain(&one))
		if report.Failed = append(report.Failed, text); len(failed.Failed) > 1 && !r.w.Flags.JSON {
			r.a.Console.Error(text)
		}
	}
}

// restoring is the name of the schema of PostgreSQL, or of the tables, in which a database remembers what was done.
const restoring = "culvert_restore"

// withRestoreHints adds what to try when a database was not made to its end. Some says that tables were tried.
func (r *work) withRestoreHints(err error, some bool) error {
	again := "what was done is recorded in the database; to do what is missing: " + r.again
	failed, isFailed := errors.AsType[*sink.StatementsError](err)
	var hints []string
	switch {
	case err == nil:
		return nil
	case errors.Is(err, sink.ErrOtherRestore):
		hints = []string{"run that load again until it ends; or begin with an empty database"}
	case isFailed && failed.Before && failed.Kept > 0:
		hints = []string{again, "to begin anew, begin with an empty database"}
	case isFailed && failed.Before:
		hints = []string{
			"nothing was changed; the database must be empty, and have the roles and extensions that the schema names",
			"to make only tables, in a database that has others: name the tables",
		}
	case isFailed:
		if n := len(failed.Failed); n > 1 {
			err = fmt.Errorf("%d statements after the rows have failed: %w", n, err)
		}
		hints = []string{
			"the rows are committed; " + again,
			"to leave it as it is, drop what has recorded that: " + restoring,
		}
	case some:
		return command.WithNext(err, again)
	default:
		return err
	}
	return command.WithHint(err, append(command.HintsOf(err), hints...)...)
}

// whole reports what loading a whole database would run.
func (p *preview) whole(ctx context.Context, db sink.Sink, at *argument.Location, from *export.Directory) error {
	schema, err := from.Schema(ctx)
	if err != nil {
		return err
	}
	if err := p.refuseTypes(schema.Tables); err != nil {
		return err
	}
	p.r.addSchema(schema)
	*p.omitted = schema.Lacks
	switch {
	case !schema.Tables:
		return p.directory(ctx, db, at, from)
	case p.plan.SchemaOnly:
		return nil
	}
	for i := range from.Manifest.Tables {
		t := &from.Manifest.Tables[i]
		if t.Error != "" || t.IsDefined() {
			continue
		}
		p.r.Tables = append(p.r.Tables, PlannedTable{
			Table: t.Name, Columns: []string{}, Loaders: max(1, p.plan.Loaders),
			Steps: []string{fmt.Sprintf("load %s from %s", ui.Several(t.Rows, "row"), at.Join(t.File()))},
		})
	}
	return nil
}

// readSchema reads the schema of the source if the whole database is copied into one of the same system. If it cannot,
// the tables are made by their definitions.
func (c *copying) readSchema(ctx context.Context, omitted *[]string) error {
	restorer, restores := c.dst.(sink.Restorer)
	switch description, err := source.Describe(ctx, c.src); {
	case err != nil:
		return err
	case !c.o.create && !c.o.schemaOnly:
		return nil
	case !restores || !restorer.Restores(source.DialectOf(description.System)):
		if c.o.schemaOnly {
			return command.Usagef("--schema-only is for two databases of the same system")
		}
		return nil
	}
	schema, err := source.SchemaOf(ctx, c.src, c.schemaConfig())
	if none, is := errors.AsType[*source.NoSchemaError](err); is && !c.o.schemaOnly && !c.o.largeObjects {
		*omitted = append(*omitted, "the schema: "+command.Plain(none))
		return nil
	}
	if err != nil {
		return err
	}
	if err := c.refuseTypes(schema.Tables); err != nil {
		return err
	}
	if schema.OwnRows {
		source.Separate(c.src)
	}
	c.schema, c.o.isWhole, *omitted = schema, true, c.leftOut(schema.Lacks)
	return nil
}

// copyAll copies the tables, or the whole database.
func (c *copying) copyAll(ctx context.Context, tables []load.Names) ([]load.Stats, error) {
	if c.schema == nil {
		all, err := c.plan.CopyTables(ctx, c.dst, c.src, tables)
		return all, withNeedsHint(err)
	}
	return c.plan.CopyDatabase(ctx, c.dst, c.src, c.schema, tables)
}

// previewRows reports what would become of tables that the schema makes.
func (c *copying) previewRows(r *PlanReport, tables []load.Names) {
	for _, table := range tables {
		if c.plan.SchemaOnly {
			break
		}
		r.Tables = append(r.Tables, PlannedTable{
			Table: table.To, Columns: []string{}, Loaders: max(1, c.plan.Loaders), Steps: []string{"copy its rows"},
		})
	}
}

func newSchemaReport(s *source.Schema) *SchemaReport {
	before, after := s.Count()
	return &SchemaReport{By: s.By, Before: before, After: after}
}

// addSchema adds the statements of a schema, as they are.
func (r *PlanReport) addSchema(schema *source.Schema) {
	for _, one := range schema.Statements {
		if one.After {
			r.After = append(r.After, one.SQL)
		} else {
			r.Before = append(r.Before, one.SQL)
		}
	}
}

// addNeeds adds the statements of what tables need.
func (r *PlanReport) addNeeds(needs []source.Statement) {
	for _, one := range needs {
		r.Before = append(r.Before, one.SQL)
	}
}

// withNeedsHint adds what to try when something cannot be made that tables need.
func withNeedsHint(err error) error {
	switch {
	case command.Is[*sink.DifferentError](err):
		return command.WithHint(err, "nothing was changed; rename or drop what is there, or choose another database")
	case command.Is[*sink.StatementsError](err):
		return command.WithHint(err, "nothing was changed; make it yourself, and run the same command again")
	}
	return err
}
