// Package load is the verbs load and copy: they fill tables of a database from files, and from another database.
package load

import (
	"cmp"
	"context"
	"errors"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"culvert/cmd/culvert/internal/argument"
	"culvert/cmd/culvert/internal/command"
	"culvert/cmd/culvert/internal/database"
	"culvert/cmd/culvert/internal/help"
	"culvert/cmd/culvert/internal/jobfile"
	"culvert/cmd/culvert/internal/ui"
	"culvert/export"
	"culvert/format"
	"culvert/load"
	"culvert/manifest"
	"culvert/sink"
	"culvert/source"
)

// options are the flags of culvert load.
type options struct {
	command.WorkFlags
	argument.InputFlags
	tableFlags
	author argument.AuthorFlags
	to     database.Flags
	choice jobfile.ChoiceFlags
	csv    argument.CSVFlags
	reject rejectFlags

	ofExport       bool // the job file is that of an export
	verify         bool
	schemaOnly     bool
	dataOnly       bool
	ledger, format string

	flags *pflag.FlagSet
}

// New returns the verb load.
func New(a *command.App) *cobra.Command {
	o := &options{}
	cmd := help.Command("load")
	o.flags = cmd.Flags()
	cmd.Args = cobra.ArbitraryArgs
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if err := o.reject.check(cmd); err != nil {
			return err
		}
		again := typed(cmd, args)
		args, err := o.applyJob(cmd, a, args)
		if err != nil {
			return err
		}
		l := &loading{work: work{a: a, r: &Report{}, again: again}, o: o}
		if o.dryRun {
			r := &PlanReport{json: o.JSON}
			err := o.Check()
			if err == nil {
				l.omitted, l.author = &r.Omitted, &r.Author
				err = l.run(cmd.Context(), args, &preview{l, r})
			}
			return a.Deliver(cmd, r, a.Stdout, o.JSON, command.Interruption(cmd.Context(), err))
		}
		return a.Perform(cmd, &o.WorkFlags, l.r, func(ctx context.Context, w *command.Work) error {
			l.w, l.omitted, l.author = w, &l.r.Omitted, &l.r.Author
			return l.run(ctx, args, &filling{l})
		})
	}
	o.WorkFlags.Add(cmd, "j") // before the identities, which would take the letter
	o.AddEnd(cmd)
	o.InputFlags.Add(cmd)
	o.author.Add(cmd, "load")
	o.to.AddFor(cmd, "DEST")
	o.tableFlags.add(cmd)
	o.csv.Add(cmd)
	o.reject.add(cmd)
	o.choice.Add(cmd, "load", false)
	flags := cmd.Flags()
	flags.BoolVar(&o.verify, "verify", false, "read the rows back, and compare their sum before they are committed")
	flags.Var((*command.NotEmpty)(&o.ledger), "ledger",
		"record files in `TABLE`; load only those that it does not have")
	flags.StringVarP(&o.format, "format", "f", "",
		"the file is `FORMAT`: csv, tsv, jsonl, parquet or arrow (default: by its name)")
	flags.BoolVar(&o.schemaOnly, "schema-only", false, "make the whole database without its rows")
	flags.BoolVar(&o.dataOnly, "data-only", false, "load only rows, as without --create")
	cmd.MarkFlagsMutuallyExclusive("schema-only", "data-only")
	cmd.MarkFlagsMutuallyExclusive("ledger", "triggers")
	cmd.MarkFlagsMutuallyExclusive("create", "data-only")
	for _, other := range []string{"truncate", "swap", "append", "on-conflict", "ledger", "verify", "reject"} {
		cmd.MarkFlagsMutuallyExclusive("schema-only", other)
	}
	flags.Lookup("jobs").Usage = jobsUsage
	return cmd
}

const jobsUsage = "use `N` connections and cores (default: one connection, all cores)"

// plan checks the flags that say how to load.
func (o *options) plan(ctx context.Context, to database.Database) (*load.Plan, error) {
	plan, err := o.tableFlags.plan(ctx, to, o.Jobs)
	if err != nil {
		return nil, err
	}
	plan.ReadBack = o.verify
	others := o.appending || o.ledger != "" || plan.Filling.Conflict != sink.Fail
	switch {
	case o.verify && o.reject.given() && others:
		return nil, command.WithHint(command.Usagef("--verify with --reject is for tables that have no other rows"),
			"leave out --append or --ledger, or --verify")
	case o.verify && len(o.columns) > 0:
		return nil, command.Usagef("--verify compares whole rows, and cannot be combined with --columns")
	case o.verify && to.Engine != "postgres" && others:
		return nil, command.WithHint(
			command.Usagef("only PostgreSQL can tell the rows of the load from others to read them back"),
			"use --verify without --append, --ledger and --on-conflict")
	}
	return plan, nil
}

// work is what runs of load and copy have.
type work struct {
	a    *command.App
	r    *Report
	w    *command.Work // nil for a preview
	plan *load.Plan
	db   database.Database // that is filled

	again   string    // the command
	omitted *[]string // of the report
}

// leaveOut reports what all tables together leave out.
func (r *work) leaveOut(omitted []string, json bool) {
	if *r.omitted = omitted; !json {
		r.a.WarnOmitted(omitted)
	}
}

// loading is one run of the verb load.
type loading struct {
	work
	o      *options
	from   string
	to     string // the argument DEST, or ""
	tables []target
	named  bool    // the user has named them
	author *string // of the report
}

// doer loads, or says what loading would do.
type doer interface {
	text(ctx context.Context, db sink.Sink, in *argument.Input, text io.Reader, f format.Readable) error
	columns(ctx context.Context, db sink.Sink, in *argument.Input, from columns) error
	directory(ctx context.Context, db sink.Sink, at *argument.Location, from *export.Directory) error
	whole(ctx context.Context, db sink.Sink, at *argument.Location, from *export.Directory) error
}

func (l *loading) run(ctx context.Context, args []string, do doer) (err error) {
	if len(args) == 0 {
		return command.WithHint(command.Usagef("FILE or DIR is missing"), loadUsage)
	}
	l.from = args[0]
	if len(args) > 1 && l.o.to.File == "" {
		l.to = args[1]
	}
	var rest []string
	if l.db, rest, err = l.o.to.Parse(l.a, args[1:]); err != nil {
		return err
	}
	if l.tables, err = parseTargets(rest); err != nil {
		return err
	}
	l.named = len(l.tables) > 0
	if l.plan, err = l.o.plan(ctx, l.db); err != nil {
		return err
	}
	l.plan.SchemaOnly = l.o.schemaOnly
	l.o.waitForRemoval(l.a)
	if err := l.o.author.Read(ctx, l.a); err != nil {
		return err
	}
	config := export.ReadConfig{Jobs: l.o.Jobs}
	if config.Identities, err = l.o.DecryptFlags.WhenNeeded(ctx, l.a); err != nil {
		return err
	}
	if !argument.IsURL(l.from) && !argument.IsDirectory(l.from) {
		in, err := argument.OpenInput(ctx, l.a, []string{l.from}, &l.o.PlaceFlags)
		if err != nil {
			return err
		}
		return l.file(ctx, in, config, do)
	}
	ctx, at, err := argument.Locate(ctx, l.a, l.from, &l.o.PlaceFlags)
	if err != nil {
		return err
	}
	if info, err := at.Info(); err == nil && info.IsDir() {
		return at.Close(l.directory(ctx, at, config, do))
	}
	in, err := at.OpenInput(ctx)
	if err != nil {
		return err
	}
	return l.file(ctx, in, config, do)
}

const loadUsage = "usage: culvert load DIR DEST [TABLE]..., or culvert load FILE DEST TABLE"

// file loads a single file.
func (l *loading) file(ctx context.Context, in *argument.Input, config export.ReadConfig, do doer) error {
	switch {
	case len(l.tables) != 1 || l.tables[0].renamed:
		return in.Close(command.WithHint(command.Usagef("a file needs the TABLE that it is loaded into"), loadUsage))
	case l.o.ledger != "":
		return in.Close(command.WithHint(command.Usagef("--ledger is for the directory of an export"),
			"name the directory: the manifest in it has what it needs"))
	}
	if l.o.choice.Given() {
		return in.Close(command.WithHint(
			command.Usagef("--include, --exclude and the tables of a job file are for the directory of an export"),
			"a file has one table: leave them out, or name the directory"))
	}
	if err := l.o.author.RefuseFile(in.Name); err != nil {
		return in.Close(err)
	}
	name := in.Name
	if argument.IsURL(name) {
		name, _, _ = strings.Cut(name, "?") // the address of a store, such as its endpoint
	}
	if l.o.format != "" {
		name = "table." + l.o.format
	}
	if f := argument.ColumnarOf(name); f != nil && !l.o.csv.Given() {
		return l.columnFile(ctx, in, config, f, do)
	}
	readable, err := l.o.formatOf(name)
	switch {
	case l.o.csv.Given() && err != nil:
		return in.Close(err)
	case err != nil:
		return in.Close(command.WithHint(
			command.Usagef("%s: the format is none of csv, tsv, jsonl, parquet and arrow", in.Name),
			"say which it is: --format csv"))
	case l.o.create:
		return in.Close(command.WithHint(
			command.Usagef("--create is for Parquet and Arrow, which have types, and for the directory of an export"),
			"make the table first, by CREATE TABLE, and load without --create",
			"or name the directory: the manifest in it has what it needs"))
	}
	return in.Use(config, func(text *export.Reader) (err error) {
		done, err := l.work.reject(ctx, &l.o.reject, &l.o.PlaceFlags, nil)
		if err != nil {
			return err
		}
		defer func() { err = done(err) }()
		db, err := l.db.OpenSink(ctx, false)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, db.Close()) }()
		decoded, err := l.o.csv.Decode(text)
		if err != nil {
			return err
		}
		return l.explain(nil, withTypes(do.text(ctx, db, in, decoded, readable)))
	})
}

// withTypes says what to do if text is to be loaded into a table that does not exist: text does not say which types it
// has.
func withTypes(err error) error {
	unknown, is := errors.AsType[*source.UnknownError](err)
	if !is || unknown.What != "table" {
		return err
	}
	return command.WithHint(err, append(command.HintsOf(err), "if it is a new one, make it first: CREATE TABLE")...)
}

// directory loads tables of an export.
func (l *loading) directory(
	ctx context.Context, at *argument.Location, config export.ReadConfig, do doer,
) (err error) {
	files, err := at.Directory()
	if err != nil {
		return err
	}
	from, err := config.OpenDirectory(ctx, files)
	if err != nil {
		return l.explain(at, err)
	}
	if l.o.csv.Given() {
		return command.WithHint(command.Usagef("--csv is for a file of another program, and not for an export"),
			"name the file, or leave --csv out")
	}
	if err := l.trust(ctx, from.Manifest); err != nil {
		return err
	}
	if err := l.chooseTables(from.Manifest); err != nil {
		return err
	}
	if err := refuseSameNames(l.db.Engine, l.targets(from.Manifest)); err != nil {
		return err
	}
	several := len(l.tables) > 1 || len(l.tables) == 0 && len(from.Manifest.Tables) > 1
	if several && (l.o.columns != nil || l.o.renames != nil) {
		return command.WithHint(command.Usagef("--columns and --map are for one table"), "load it by itself")
	}
	if l.o.ledger != "" {
		l.plan.Filling.Ledger = &sink.Ledger{Table: l.o.ledger, Load: identify(from.Manifest)}
		l.plan.Filling.EachPart = !l.o.create // a table that is made is committed as a whole
	}
	done, err := l.work.reject(ctx, &l.o.reject, &l.o.PlaceFlags, withoutExtensions)
	if err != nil {
		return err
	}
	defer func() { err = done(err) }()
	db, err := l.db.OpenSink(ctx, l.o.makes() || l.o.schemaOnly && !l.o.dryRun)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	whole, err := l.makesDatabase(db, from.Manifest)
	switch {
	case err != nil:
		return err
	case whole:
		if err := l.o.reject.refuseWhole(); err != nil {
			return err
		}
		l.o.isWhole = true
		return l.explain(at, do.whole(ctx, db, at, from))
	case len(l.tables) == 0:
		l.leaveOut(slices.Concat(from.Manifest.LeftOut(), l.withoutStaged(from.Manifest)), l.o.JSON)
	}
	return l.explain(at, do.directory(ctx, db, at, from))
}

// targets returns the tables of an export that are loaded, with the names that they have in the database.
func (l *loading) targets(m *manifest.Manifest) (targets []target) {
	named := namesOf(l.tables)
	for i := range m.Tables {
		t := &m.Tables[i]
		if to, is := named[t.Name]; is || named == nil && (l.o.create || !t.IsDefined()) {
			targets = append(targets, target{from: t.Name, to: cmp.Or(to, m.NameIn(dialects[l.db.Engine], t))})
		}
	}
	return targets
}

// withoutStaged leaves out the tables that are loaded only with the whole database, and says what they have.
func (l *loading) withoutStaged(m *manifest.Manifest) (omitted []string) {
	if m.Schema == nil || len(m.Schema.Staged) == 0 {
		return nil
	}
	others := slices.DeleteFunc(l.targets(m), func(t target) bool { return m.Schema.StagedIn(t.from) != "" })
	if len(others) == 0 {
		return nil // an error says why
	}
	l.tables = others
	return []string{"the large objects, which are made only with the whole database"}
}

// dialects are the systems of engines. MariaDB has the names of MySQL.
var dialects = map[string]source.Dialect{
	"postgres": source.PostgreSQL, "mysql": source.MySQL, "sqlite": source.SQLite,
}

// trust fails unless the export is by an author whose rows, and whose SQL if tables are made, the user trusts.
func (l *loading) trust(ctx context.Context, m *manifest.Manifest) error {
	*l.author = argument.Author(m)
	if l.o.create || l.o.schemaOnly {
		return l.o.author.CheckCode(ctx, l.a, &l.o.DecryptFlags, l.from, m)
	}
	return l.o.author.Check(l.from, m)
}

// watch begins the work, and makes its progress that of the plan.
func (r *work) watch(name string, read func() int64, done func() float64) {
	progress := r.plan.Progress
	r.w.Name = name
	r.w.Figures = func() ui.Figures {
		return ui.Figures{Rows: progress.Rows.Load(), In: read(), Out: progress.Text.Load()}
	}
	r.w.Status = func() ui.Status {
		return ui.Status{Task: ui.Task{
			Name:   database.Paced(name, r.plan.Pace),
			Amount: ui.Several(progress.Rows.Load(), "row"), Bytes: progress.Text.Load(), Done: done(),
		}}
	}
	r.w.Begin()
}
