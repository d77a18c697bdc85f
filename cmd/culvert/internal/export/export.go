// Package export is the verb export: of a table or a query into one file, of several tables into a directory
// (tables.go), by several workers (workers.go; package jobs has the other verbs about them), and what a dry run shows
// (plan.go).
package export

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/spf13/cobra"

	"culvert/cmd/culvert/internal/argument"
	"culvert/cmd/culvert/internal/command"
	"culvert/cmd/culvert/internal/database"
	"culvert/cmd/culvert/internal/help"
	"culvert/cmd/culvert/internal/jobfile"
	"culvert/cmd/culvert/internal/jobs"
	"culvert/cmd/culvert/internal/masking"
	"culvert/cmd/culvert/internal/ui"
	"culvert/export"
	"culvert/internal/tablechoice"
	"culvert/manifest"
	"culvert/pace"
	"culvert/place"
	"culvert/source"
)

// options are the flags of culvert export.
type options struct {
	command.WorkFlags
	command.RecipientFlags
	argument.PlaceFlags
	jobs.Layout
	shared    workerFlags
	choice    jobfile.ChoiceFlags
	job       *jobfile.File // or nil
	from      database.Flags
	moment    database.MomentFlags
	masks     masking.Flags
	plaintext bool
	query     string
	output    string
	force     bool
	ordered   bool

	all     bool
	schemas []string
	schemaFlags
	failFast bool
	dryRun   bool
	snapshot string // its token
	partSize command.ByteSize

	columns []string
	where   string
	limit   int64

	given func(flag string) bool
	pace  database.PaceFlags
}

// New returns the command export.
func New(a *command.App) *cobra.Command {
	cmd, _ := newCommand(a)
	return cmd
}

// newCommand returns the command with its flags.
func newCommand(a *command.App) (*cobra.Command, *options) {
	o := &options{}
	cmd := help.Command("export")
	o.given = cmd.Flags().Changed
	cmd.RunE = func(cmd *cobra.Command, args []string) (err error) {
		if args, err = o.applyJob(cmd, args); err != nil {
			return err
		}
		if o.dryRun {
			r := &PlanReport{}
			err := dryRun(cmd.Context(), a, r, o, args)
			r.NewColumns = o.masks.NewColumns()
			return a.Deliver(cmd, r, a.Stdout, o.JSON, command.Interruption(cmd.Context(), err))
		}
		r := &Report{}
		return a.Perform(cmd, &o.WorkFlags, r, func(ctx context.Context, w *command.Work) error {
			err := o.masks.End(run(ctx, a, w, r, o, args))
			r.NewColumns = o.masks.NewColumns()
			return err
		})
	}
	cmd.ValidArgsFunction = o.from.CompleteTables
	o.RecipientFlags.Add(cmd)
	o.addTables(cmd)
	o.PlaceFlags.Add(cmd)
	o.Layout.Add(cmd)
	o.from.Add(cmd)
	o.moment.Add(cmd)
	o.masks.Add(cmd)
	o.choice.Add(cmd, "export", true)
	o.shared.Add(cmd)
	flags := cmd.Flags()
	flags.BoolVar(&o.plaintext, "no-encrypt", false, "do not encrypt")
	flags.StringVarP(&o.query, "query", "q", "", "export the rows of the statement `SQL`")
	flags.VarP((*command.NotEmpty)(&o.output), "output", "o",
		"write to `FILE`, into a directory, or with - to standard output")
	flags.BoolVar(&o.force, "force", false, "overwrite files; write binary data to a terminal")
	flags.BoolVar(&o.ordered, "ordered", false, "keep the order of the table, with one connection")
	o.WorkFlags.Add(cmd, "j")
	o.AddEnd(cmd)
	o.pace.Add(flags, "SOURCE")
	for _, name := range []string{"rate", "max-load"} {
		cmd.MarkFlagsMutuallyExclusive(name, "queue") // whose workers are other processes
		cmd.MarkFlagsMutuallyExclusive(name, "workers")
	}
	flags.Lookup("jobs").Usage = "use `N` cores, and connections to a server (default: all)"
	return cmd, o
}

// addTables adds the flags that say which tables, and what of them.
func (o *options) addTables(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.BoolVar(&o.all, "all", false, "export all tables, into a directory")
	flags.StringArrayVar(&o.schemas, "schema", nil, "export all tables of `SCHEMA`; repeatable")
	o.schemaFlags.add(cmd)
	flags.BoolVar(&o.failFast, "fail-fast", false, "stop at the first table that fails")
	flags.BoolVar(&o.dryRun, "dry-run", false, "show what would be exported; write nothing")
	flags.Var(&o.partSize, "part-size", "write tables in parts of about `SIZE`, such as 256MiB, into a directory")
	flags.StringSliceVar(&o.columns, "columns", nil, "export only these `COLUMNS`: a,b,c")
	flags.Var((*command.NotEmpty)(&o.where), "where", "export only rows that meet `CONDITION`, in SQL")
	flags.Var(command.Positive(&o.limit), "limit", "export at most `N` rows")
	flags.Var((*command.NotEmpty)(&o.snapshot), "snapshot",
		"read the snapshot `TOKEN`, which culvert snapshot hold has printed")
}

// request is what the command line asks for.
type request struct {
	options *options
	plan    *export.Plan // the recipients are missing at first
	db      database.Database
	names   []string            // of tables; empty if the database is to say, or for a query
	defined []string            // tables of which only the definitions are exported
	masked  []string            // tables of which it is known what is masked
	chosen  *tablechoice.Result // or nil, if no rules are given
	inputs  []string            // files that must not be overwritten

	late takenSchema // if the schema was read beside the rows
}

// request reads the arguments and the flags, as an export and a dry run do.
func (o *options) request(a *command.App, args []string) (*request, error) {
	db, names, err := o.from.Parse(a, args)
	if err != nil {
		return nil, err
	}
	if err := o.checkTables(names); err != nil {
		return nil, err
	}
	if o.largeObjects && db.Engine != "postgres" {
		return nil, command.Usagef("--large-objects is for PostgreSQL")
	}
	if o.shared.given() {
		if err := db.NotShared(); err != nil {
			return nil, err
		}
	}
	if err := errors.Join(o.masks.Check(), o.moment.Check()); err != nil {
		return nil, err
	}
	plan, err := o.plan(names)
	if err != nil {
		return nil, err
	}
	plan.Pace, err = o.pace.Pace(db)
	return &request{options: o, plan: plan, db: db, names: names}, err
}

func run(
	ctx context.Context, a *command.App, w *command.Work, r *Report, o *options, args []string) (err error,
) {
	e, err := o.request(a, args)
	if err == nil {
		err = e.expandOutput(ctx)
	}
	if err != nil {
		return err
	}
	names, plan := e.names, e.plan
	plan.Progress = watch(w, plan.Pace)
	inputs := [][]string{o.RecipientFlags.Inputs(), o.from.Inputs(e.db), o.masks.Inputs()}
	if o.several(names) {
		e.inputs = argument.WithOwnIdentity(slices.Concat(inputs...))
		return e.tables(ctx, a, w, r)
	}
	table := strings.Join(names, "") // one, or none for a query
	path, err := outputPath(ctx, a, o, table, plan.Extension())
	if err != nil {
		return err
	}
	if err := argument.OutputTo(w, &r.WorkReport, path, o.force, inputs...); err != nil {
		return err
	}
	if path == "-" && ui.IsTerminal(a.Stdout) && !o.force && plan.Extension() != plan.Format.Extension() {
		return command.WithHint(argument.ErrBinary, "to look at the rows: --no-encrypt -c none",
			"force it with --force")
	}
	if !o.plaintext {
		if plan.Recipients, err = o.RecipientFlags.Read(ctx, a, nil); err != nil {
			return err
		}
	}

	if argument.IsStream(path) {
		return e.fileOnce(ctx, a, w, r, path)
	}
	return e.attempt(a, r, func(one *request) error { return one.fileOnce(ctx, a, w, r, path) })
}

// fileOnce exports a table or a query into one file.
func (e *request) fileOnce(ctx context.Context, a *command.App, w *command.Work, r *Report, path string) (err error) {
	o, plan, table := e.options, e.plan, strings.Join(e.names, "")
	src, err := e.open(ctx)
	if err != nil {
		return err
	}
	end := sync.OnceValue(src.Close)
	defer func() { err = errors.Join(err, end()) }()
	r.MomentReport = database.MomentOf(src)
	if table != "" {
		if err := e.mask(ctx, a, src, e.names); err != nil {
			return err
		}
	}
	out, done, err := argument.OpenSink(ctx, a, path, o.force, &o.PlaceFlags)
	if err != nil {
		return err
	}
	defer func() { err = done(err) }()
	w.Begin()
	var stats export.Stats
	if o.query != "" {
		stats, err = e.queryMasked(ctx, out, src, o.query)
	} else {
		stats, err = plan.Table(ctx, out, src, table)
	}
	if err != nil {
		w.Stop()
		return e.db.Explain(err)
	}
	r.Sum, r.Readers, r.Reason, r.Outside = stats.Sum.String(), stats.Readers, reasonOf(stats), stats.Outside
	r.Untold, r.Unfit = stats.Untold, stats.Unfit
	if len(stats.Unfit) > 0 && !o.JSON {
		a.Console.Warn(database.Unfit(table, stats.Unfit, plan.Lossy))
	}
	if len(stats.Untold) > 0 && !o.JSON {
		a.Console.Warn(database.Untold(table, stats.Untold))
	}
	if stats.Outside && !o.JSON {
		a.Console.Warn(database.OutsideSnapshot(table))
	}
	tellReaders(w, w.Name, r.Readers, r.Reason)
	r.Tell(w, w.Name)
	if err := o.masks.End(nil); err != nil {
		return err
	}
	go func() { _ = end() }() // sessions end while the file is synced; the deferred call has the error
	return out.Commit()
}

// watch makes the progress of an export the figures of the work.
func watch(w *command.Work, limits pace.Pace) *export.Progress {
	progress := new(export.Progress)
	w.Figures = func() ui.Figures {
		return ui.Figures{Rows: progress.Rows.Load(), In: progress.Text.Load(), Out: progress.Out.Load()}
	}
	w.Status = func() ui.Status {
		all := ui.Task{
			Name:   database.Paced(w.Name, limits),
			Amount: ui.Several(progress.Rows.Load(), "row"), Bytes: progress.Text.Load(), Done: progress.Done(),
		}
		t, several := progress.Table()
		if !several {
			return ui.Status{Task: all}
		}
		all.Name = database.Paced(fmt.Sprintf("%d/%d tables", t.Number, t.Of), limits)
		one := ui.Task{Name: t.Name, Amount: ui.Several(t.Rows, "row"), Bytes: t.Text, Done: t.Done}
		return ui.Status{Task: all, Active: []ui.Task{one}}
	}
	return progress
}

// several reports whether the tables go into a directory: in one file each, or in parts.
func (o *options) several(names []string) bool {
	return len(names) > 1 || o.listed() || o.parted() || o.choice.Given()
}

// parted reports whether tables are written in parts.
func (o *options) parted() bool { return o.partSize > 0 || o.shared.given() }

// listed reports whether the database is to say which tables there are.
func (o *options) listed() bool { return o.all || len(o.schemas) > 0 }

// checkTables refuses what does not fit together.
func (o *options) checkTables(names []string) error {
	hint := "usage: culvert export SOURCE TABLE…, culvert export SOURCE --all, or culvert export SOURCE -q SQL"
	selects := o.columns != nil || o.where != "" || o.limit > 0
	switch {
	case o.query != "" && len(names) > 0:
		return command.WithHint(command.Usagef("both a query and the table %q are given", names[0]), hint)
	case o.query != "" && o.listed():
		return command.WithHint(command.Usagef("both a query and --all or --schema are given"), hint)
	case o.query != "" && o.choice.Given():
		return command.Usagef("--include, --exclude and --exclude-rows are for tables, not for a query")
	case o.query != "" && o.masks.Compares():
		return command.Usagef("the list of columns of a job file is for tables, not for a query")
	case selects && o.choice.Given():
		return command.WithHint(command.Usagef("--columns, --where and --limit are for one table"),
			"say in a job file which rows and columns of several tables are meant: culvert help jobs-file")
	case o.query != "" && o.dryRun:
		return command.Usagef("--dry-run is for tables, not for a query")
	case o.query != "" && selects:
		return command.WithHint(command.Usagef("--columns, --where and --limit are for a table, not for a query"),
			"write it in SQL")
	case o.listed() && len(names) > 0:
		return command.WithHint(command.Usagef("both the table %q and --all or --schema are given", names[0]), hint)
	case slices.Contains(o.schemas, ""):
		return command.Usagef("--schema is empty") // which for a source means all schemas
	case o.all && len(o.schemas) > 0:
		return command.Usagef("--all exports all schemas, so it cannot be combined with --schema")
	case o.query == "" && !o.listed() && (len(names) == 0 || slices.Contains(names, "")):
		return command.WithHint(command.Usagef("TABLE is missing"), hint)
	case o.query != "" && o.partSize > 0:
		return command.Usagef("--part-size is for tables, not for a query")
	case o.query != "" && o.parted():
		return command.Usagef("--workers, --queue and --resume are for tables, not for a query")
	case o.limit > 0 && o.parted():
		return command.Usagef("--limit cannot be combined with an export in parts: a part would do")
	case selects && (len(names) > 1 || o.listed()):
		return command.WithHint(command.Usagef("--columns, --where and --limit are for one table"),
			"export it by itself")
	case o.columns != nil && len(o.columns) == 0:
		return command.Usagef("--columns names no column")
	case o.output == "-" && o.parted():
		return command.WithHint(command.Usagef("parts cannot go to standard output"), "into a directory: -o DIR")
	case o.output == "-" && o.several(names):
		return command.WithHint(command.Usagef("several tables cannot go to standard output"),
			"into a directory: -o DIR")
	case !o.all && o.schemaFlags != (schemaFlags{}):
		err := command.Usagef("--schema-only, --data-only, --grants and --large-objects are for whole databases")
		return command.WithHint(err, "export all tables: --all")
	case o.parted() && o.schemaOnly:
		return command.Usagef("--schema-only exports no tables, so they have no parts and no workers")
	case o.failFast && !o.several(names):
		return command.Usagef("--fail-fast is for several tables")
	}
	for i, name := range names {
		if slices.Contains(names[:i], name) {
			return command.Usagef("the table %q is given twice", name)
		}
	}
	return o.checkShared()
}

// plan checks the flags that say how to export. Recipients are still missing from it.
func (o *options) plan(names []string) (*export.Plan, error) {
	plan := &export.Plan{
		Jobs: o.Jobs, Ordered: o.ordered, Unencrypted: o.plaintext, FailFast: o.failFast, Overwrite: o.force,
		PartSize:  o.sizeOfParts(),
		Selection: source.Selection{Columns: o.columns, Where: o.where, Limit: o.limit},
	}
	if o.plaintext && (o.Named() || o.Prompt || o.PassphraseFlags.Given()) {
		return nil, command.Usagef("--no-encrypt cannot be combined with recipients or a passphrase")
	}
	o.Settle(o.given)
	if o.namesFile(names) {
		name := o.output
		if argument.IsURL(name) {
			name, _, _ = strings.Cut(name, "?") // the address of a store, such as its endpoint
		}
		if err := o.Follow(name, o.given, o.plaintext); err != nil {
			return nil, err
		}
	}
	return plan, o.Layout.Apply(plan, o.several(names))
}

// namesFile reports whether -o is the name of a file, as far as that can be known without asking another machine.
func (o *options) namesFile(names []string) bool {
	return !argument.IsStream(o.output) && !o.several(names) && !argument.EndsInSlash(o.output)
}

// outputPath returns where an export goes: to the file of -o, into the directory of -o, or into the working directory.
func outputPath(ctx context.Context, a *command.App, o *options, table, extension string) (string, error) {
	name := "query" + extension
	if table != "" {
		name = manifest.FileNames([]string{table}, extension)[0]
	}
	switch output := o.output; {
	case output == "":
		return name, nil
	case argument.IsURL(output):
		_, l, err := argument.Locate(ctx, a, output, &o.PlaceFlags)
		if err != nil {
			return "", err
		}
		info, err := l.Info()
		if errors.Is(err, place.ErrUnreachable) {
			return "", l.Close(l.Blame(err)) // what follows would wait as long again
		}
		if err == nil && info.IsDir() || argument.EndsInSlash(output) {
			output = l.Join(name)
		}
		return output, l.Close(nil)
	case argument.IsDirectory(output), os.IsPathSeparator(output[len(output)-1]):
		return filepath.Join(output, name), nil
	default:
		return output, nil
	}
}
