package load

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"github.com/spf13/cobra"

	"culvert/cmd/culvert/internal/argument"
	"culvert/cmd/culvert/internal/command"
	"culvert/cmd/culvert/internal/database"
	"culvert/cmd/culvert/internal/help"
	"culvert/cmd/culvert/internal/jobfile"
	"culvert/cmd/culvert/internal/masking"
	"culvert/export"
	"culvert/internal/tablechoice"
	"culvert/load"
	"culvert/sink"
	"culvert/source"
)

// copyOptions are the flags of culvert copy.
type copyOptions struct {
	command.WorkFlags
	tableFlags
	from          database.Flags
	masks         masking.Flags
	choice        jobfile.ChoiceFlags
	moment        database.MomentFlags
	places        argument.PlaceFlags // of reject
	reject        rejectFlags
	all, noVerify bool
	schemaOnly    bool
	largeObjects  bool
}

// NewCopy returns the verb copy.
func NewCopy(a *command.App) *cobra.Command {
	o := &copyOptions{}
	cmd := help.Command("copy")
	cmd.Args = cobra.ArbitraryArgs
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if err := o.reject.check(cmd); err != nil {
			return err
		}
		again := typed(cmd, args)
		args, err := o.applyJob(cmd, args)
		if err != nil {
			return err
		}
		c := &copying{work: work{a: a, r: &Report{}, again: again}, o: o}
		if o.dryRun {
			r := &PlanReport{json: o.JSON}
			err := o.Check()
			if err == nil {
				c.omitted = &r.Omitted
				err = c.run(cmd.Context(), args, func(ctx context.Context, tables []load.Names) error {
					if c.schema != nil {
						r.addSchema(c.schema)
					}
					if c.schema != nil && c.schema.Tables {
						c.previewRows(r, tables)
						return nil
					}
					planned, err := c.plan.PreviewTables(ctx, c.dst, c.src, tables)
					if len(planned) == 0 {
						return c.explainAll(ctx, tables, err)
					}
					needs, missing := c.plan.PreviewCopyNeeds(ctx, c.dst, c.src, planned)
					if missing != nil {
						return c.explain(withNeedsHint(missing))
					}
					r.addNeeds(needs)
					return c.preview(r, planned, err, c.explain)
				})
			}
			r.NewColumns = o.masks.NewColumns()
			return a.Deliver(cmd, r, a.Stdout, o.JSON, command.Interruption(cmd.Context(), err))
		}
		return a.Perform(cmd, &o.WorkFlags, c.r, func(ctx context.Context, w *command.Work) error {
			c.w, c.omitted = w, &c.r.Omitted
			err := o.masks.End(c.run(ctx, args, c.copy))
			c.r.NewColumns = o.masks.NewColumns()
			return err
		})
	}
	o.add(cmd)
	return cmd
}

// add adds the flags.
func (o *copyOptions) add(cmd *cobra.Command) {
	o.from.AddFor(cmd, "SOURCE")
	o.tableFlags.add(cmd)
	o.masks.Add(cmd)
	o.choice.Add(cmd, "copy", true)
	o.moment.Add(cmd)
	o.reject.add(cmd)
	o.places.Add(cmd)
	flags := cmd.Flags()
	flags.BoolVar(&o.all, "all", false, "copy all tables")
	flags.BoolVar(&o.schemaOnly, "schema-only", false, "with --all, make the whole database without its rows")
	flags.BoolVar(&o.largeObjects, "large-objects", false,
		"with --all and --create, copy also the large objects of PostgreSQL")
	for _, other := range []string{"truncate", "swap", "append", "on-conflict", "large-objects", "reject"} {
		cmd.MarkFlagsMutuallyExclusive("schema-only", other)
	}
	flags.BoolVar(&o.noVerify, "no-verify", false, "do not read the rows back to compare their sum")
	o.WorkFlags.Add(cmd, "j")
	o.AddEnd(cmd)
	flags.Lookup("jobs").Usage = jobsUsage
}

// copying is one run of the verb copy.
type copying struct {
	work
	o       *copyOptions
	source  database.Database
	src     source.Source
	dst     sink.Sink // db, opened
	twin    sink.Sink // of the source, to compare tables; nil if the databases are of different systems
	targets []target
	schema  *source.Schema      // of the whole database, if that is copied
	chosen  *tablechoice.Result // or nil, if no rules are given
}

const copyUsage = "usage: culvert copy SOURCE TABLE... DEST, or culvert copy SOURCE --all DEST"

func (c *copying) run(
	ctx context.Context, args []string, do func(ctx context.Context, tables []load.Names) error,
) (err error) {
	if err := c.parse(ctx, args); err != nil {
		return err
	}
	if c.src, err = c.o.moment.Open(ctx, c.source, c.o.Jobs); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.src.Close()) }()
	c.r.MomentReport = database.MomentOf(c.src)
	if c.dst, err = c.db.OpenSink(ctx, c.o.makes()); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.dst.Close()) }()
	if c.source.Engine == c.db.Engine {
		twin, openErr := c.source.OpenSink(ctx, false)
		switch {
		case openErr == nil:
			c.twin = twin
			defer func() { err = errors.Join(err, twin.Close()) }()
		case c.source.Engine != "sqlite": // a file that can only be read is not the target
			return openErr
		}
	}
	if c.o.all {
		if err := c.list(ctx); err != nil {
			return c.explain(err)
		}
	} else if err := c.nameTargets(ctx); err != nil {
		return c.explain(err)
	}
	if err := refuseSameNames(c.db.Engine, c.targets); err != nil {
		return err
	}
	if err := c.refuseSameDatabase(ctx); err != nil {
		return err
	}
	c.plan.Check = func(planned []load.Planned) error { return c.refuseSame(ctx, planned) }
	var tables []load.Names
	for _, t := range c.targets {
		tables = append(tables, load.Names{From: t.from, To: t.to})
	}
	if err := c.mask(ctx, tables); err != nil {
		return c.explain(err)
	}
	done, err := c.rejectOf(ctx, tables)
	if err != nil {
		return err
	}
	return done(do(ctx, tables))
}

// parse understands the arguments and the flags.
func (c *copying) parse(ctx context.Context, args []string) (err error) {
	var rest []string
	if c.source, rest, err = c.o.from.Parse(c.a, args); err != nil {
		return command.WithHint(err, append(command.HintsOf(err), copyUsage)...)
	}
	if len(rest) == 0 {
		return command.WithHint(command.Usagef("DEST is missing"), copyUsage)
	}
	last := len(rest) - 1
	if c.db, err = c.o.from.Named(c.a, rest[last]); err != nil {
		return command.WithHint(err, append(command.HintsOf(err), copyUsage)...)
	}
	if c.targets, err = parseTargets(rest[:last]); err != nil {
		return err
	}
	switch {
	case c.o.all && last > 0:
		return command.WithHint(command.Usagef("both the table %q and --all are given", rest[0]), copyUsage)
	case !c.o.all && last == 0:
		return command.WithHint(command.Usagef("TABLE is missing"), copyUsage)
	case c.o.schemaOnly && !c.o.all:
		return command.WithHint(command.Usagef("--schema-only makes whole databases"), "copy all tables: --all")
	case c.o.largeObjects && (!c.o.all || !c.o.create):
		return command.WithHint(command.Usagef("--large-objects is for whole databases"), "add --all and --create")
	case c.o.largeObjects && (c.source.Engine != "postgres" || c.db.Engine != "postgres"):
		return command.Usagef("--large-objects is for two databases of PostgreSQL")
	case (c.o.columns != nil || c.o.renames != nil) && last != 1:
		return command.WithHint(command.Usagef("--columns and --map are for one table"), "copy it by itself")
	}
	if c.plan, err = c.o.tableFlags.plan(ctx, c.db, c.o.Jobs); err != nil {
		return err
	}
	c.plan.ReadBack, c.plan.SchemaOnly = c.verifies(), c.o.schemaOnly
	c.o.waitForRemoval(c.a)
	return cmp.Or(c.o.moment.Check(), c.o.masks.Check())
}

// mask finds out what is masked. Errors then keep values out.
func (c *copying) mask(ctx context.Context, tables []load.Names) (err error) {
	if !c.o.masks.Given() || len(tables) == 0 {
		return nil
	}
	var names []string
	for _, t := range tables {
		if c.schema == nil || c.schema.StagedIn(t.From) == "" { // large objects have no columns of the user
			names = append(names, t.From)
		}
	}
	c.plan.Filling.Redact = c.plan.Filling.Redact || c.o.masks.Hides()
	c.plan.Masks, err = c.o.masks.Look(ctx, c.a, c.src, &export.Plan{Choices: c.plan.Choices}, names)
	return err
}

// verifies reports whether the rows are read back: if the target can tell them from others. In another system, or in
// columns of other types, their values are compared.
func (c *copying) verifies() bool {
	if c.o.noVerify || c.o.appending && c.o.reject.given() {
		return false
	}
	return c.db.Engine == "postgres" || !c.o.appending && c.plan.Filling.Conflict == sink.Fail
}

// list finds all tables of the source.
func (c *copying) list(ctx context.Context) error {
	lister, is := c.src.(source.Lister)
	if !is {
		return command.Usagef("this source cannot list its tables: name them")
	}
	names, err := lister.Tables(ctx, "")
	if err == nil {
		_, err = c.choose(ctx, names)
	}
	if err != nil {
		return err
	}
	omitted, err := source.Omitted(ctx, c.src, "")
	if err != nil {
		return err
	}
	omitted = c.leftOut(omitted)
	if err := c.readSchema(ctx, &omitted); err != nil {
		return err
	}
	if names, err = lister.Tables(ctx, ""); err == nil { // which depend on the schema
		names, err = c.choose(ctx, names)
	}
	if err != nil {
		return err
	}
	if c.schema == nil && c.o.create && len(names) > 0 {
		if omitted, err = c.withoutNeeds(ctx, names, omitted); err != nil {
			return err
		}
	}
	c.leaveOut(omitted, c.o.JSON)
	if c.schema != nil {
		for _, one := range c.schema.Staged {
			c.targets = append(c.targets, target{from: one.Table, to: one.Into})
		}
	}
	if len(names) == 0 && c.schema == nil {
		return database.NoTables(ctx, c.src, "copy")
	}
	for _, name := range names {
		to, err := c.nameOf(ctx, name)
		if err != nil {
			return err
		}
		c.targets = append(c.targets, target{from: name, to: to})
	}
	return nil
}

// nameTargets gives the tables that were named the names that they have in the other database.
func (c *copying) nameTargets(ctx context.Context) (err error) {
	if err := c.chooseTargets(ctx); err != nil {
		return err
	}
	for i := range c.targets {
		if t := &c.targets[i]; !t.renamed && err == nil {
			t.to, err = c.nameOf(ctx, t.from)
		}
	}
	return err
}

// nameOf returns the name that a table of the source has in the other database. SQLite has no schemas, and one of
// MySQL is a database. If the table cannot be looked up, the copy finds that out too, and says which table it is.
func (c *copying) nameOf(ctx context.Context, name string) (string, error) {
	if c.source.Engine == c.db.Engine {
		return name, nil
	}
	d, err := source.Define(ctx, c.src, name)
	if err != nil && (ctx.Err() != nil || errors.Is(err, source.ErrUnavailable)) {
		return "", err
	}
	if err != nil || d == nil || d.Name == "" {
		return name, nil
	}
	return d.Name, nil
}

// copy copies the tables.
func (c *copying) copy(ctx context.Context, tables []load.Names) error {
	name := "copied"
	if len(tables) == 1 {
		name = tables[0].From
	}
	c.watch(name, c.plan.Progress.Text.Load, c.plan.Progress.Done)
	outside, err := c.outside(ctx, tables)
	if err != nil {
		return c.source.Explain(err)
	}
	all, err := c.copyAll(ctx, tables)
	for i := range all {
		all[i].Err = c.explain(all[i].Err)
	}
	err = c.explainAll(ctx, tables, err)
	c.w.Stop() // what follows is no progress
	if c.schema != nil {
		c.reportDatabase(c.o.Jobs, all, len(tables), err)
		c.reportSchema(newSchemaReport(c.schema), all, err)
		err = c.withRestoreHints(err, len(all) > 0)
	} else {
		reportTables(c.a, c.w, c.r, c.o.Jobs, all, len(tables), err)
	}
	for i := range c.r.Tables {
		c.r.Tables[i].Outside = slices.Contains(outside, c.r.Tables[i].Name)
	}
	return c.reportRejects(&c.o.reject, all, err)
}

// outside returns the tables that the snapshot of the source does not hold, and warns of them.
func (c *copying) outside(ctx context.Context, tables []load.Names) ([]string, error) {
	var names []string
	for _, table := range tables {
		names = append(names, table.From)
	}
	outside, err := source.OutsideSnapshot(ctx, c.src, names)
	for _, name := range outside {
		if !c.w.Flags.JSON {
			c.a.Console.Warn(database.OutsideSnapshot(name))
		}
	}
	return outside, err
}

// explainAll explains the error of all the work.
func (c *copying) explainAll(ctx context.Context, tables []load.Names, err error) error {
	if command.Is[*load.PartialError](err) {
		return err
	}
	explained := c.explain(err)
	if err != nil && len(tables) == 1 && ctx.Err() == nil && !command.Is[*command.UsageError](err) &&
		!command.Is[*sink.StatementsError](err) {
		return command.Rephrase(explained, aboutTable(tables[0].From, command.Plain(explained)))
	}
	return explained
}

// explain says what to try. A database that is not reached is most often the target.
func (c *copying) explain(err error) error {
	if err == nil {
		return nil
	}
	return c.o.withHints(c.db.Explain(err))
}
