// Package doctor is the verb doctor: it finds out what may keep an export of a database from working, by doing what an
// export does before it reads rows.
//
// What every database has is checked here; what only some have is in [engines], and what only job files say in job.go.
package doctor

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"culvert/cmd/culvert/internal/command"
	"culvert/cmd/culvert/internal/database"
	verb "culvert/cmd/culvert/internal/export"
	"culvert/cmd/culvert/internal/ui"
	"culvert/export"
	"culvert/source"
)

// New returns the command doctor.
func New(a *command.App) *cobra.Command {
	from, job, r := &database.Flags{}, command.NotEmpty(""), &Report{Checks: []check{}}
	var cmd *cobra.Command
	cmd = a.Reporting("doctor", r, func(ctx context.Context, args []string) error {
		e := &examination{Report: r, now: time.Now, limit: limit}
		if job != "" {
			return e.job(ctx, a, cmd, args)
		}
		db, names, err := from.Parse(a, args)
		if err != nil {
			return err
		}
		e.db = db
		return db.Explain(e.run(ctx, names))
	})
	from.Add(cmd)
	cmd.Flags().Var(&job, "job", "check what the job file `FILE` says, and where it goes")
	cmd.ValidArgsFunction = from.CompleteTables
	return cmd
}

// patience is how long a table may be locked before it is called so, and mostLocked how many are waited for. To look
// all tables up together may take longer.
const (
	patience    = 10 * time.Second
	patienceAll = time.Minute
	mostLocked  = 3
)

func limit(ctx context.Context, patience time.Duration) (context.Context, context.CancelFunc) {
	return context.WithTimeoutCause(ctx, patience, errLocked)
}

// examination looks at one database.
type examination struct {
	*Report
	db     database.Database
	trial  *verb.Trial // or nil, if no job file is named
	bytes  int64       // about, of the tables that a job file means
	src    source.Source
	now    func() time.Time
	limit  func(context.Context, time.Duration) (context.Context, context.CancelFunc) // of what waits for locks
	locked []string

	unknown bool // which tables a job file means
}

func (e *examination) run(ctx context.Context, names []string) (err error) {
	if e.src, err = e.db.OpenTogether(ctx, 2, database.DefaultLockWait); err != nil {
		return err
	}
	defer func() {
		if e.src != nil {
			err = errors.Join(err, e.src.Close())
		}
	}()
	described, err := source.Describe(ctx, e.src)
	if err != nil {
		return err
	}
	e.ok("server", fmt.Sprintf("%s, database %q", described.System, described.Database))
	if err := engines[e.db.Engine](ctx, e); err != nil {
		return err
	}
	names, whole, err := e.meant(ctx, names)
	if err != nil {
		return err
	}
	failed := 0
	if !e.unknown {
		if failed, err = e.tables(ctx, names); err == nil {
			err = e.snapshot(ctx, names)
		}
		if err == nil && whole {
			err = e.schema(ctx)
		}
	}
	if err == nil && e.trial != nil {
		err = e.around(ctx)
	}
	if err == nil && failed > 0 {
		err = &export.PartialError{Failed: failed, Tables: len(names)}
	}
	return err
}

// meant returns the tables that are meant, and whether the schema of the whole database is.
func (e *examination) meant(ctx context.Context, names []string) (_ []string, whole bool, err error) {
	if e.trial != nil {
		names, whole = e.chosen(ctx)
		return names, whole, ctx.Err()
	}
	lister, is := e.src.(source.Lister)
	if len(names) > 0 || !is {
		return names, len(names) == 0, nil
	}
	names, err = lister.Tables(ctx, "")
	return names, true, err
}

// tables tries to read each table, and returns how many cannot be read.
func (e *examination) tables(ctx context.Context, names []string) (failed int, err error) {
	for _, name := range names {
		err := e.table(ctx, name)
		switch {
		case err == nil:
			continue
		case errors.Is(err, errLocked):
			e.locked = append(e.locked, name)
		case ctx.Err() != nil, errors.Is(err, source.ErrUnavailable):
			return failed, err
		default:
			failed++
			err = e.db.Explain(err)
			text := strings.TrimPrefix(command.Plain(err), fmt.Sprintf("table %q: ", name))
			e.add("tables", failedResult, ui.Name(name)+": "+text, command.HintsOf(err)...)
		}
		if len(e.locked) == mostLocked {
			break
		}
	}
	if len(e.locked) > 0 {
		e.add("locks", warning, fmt.Sprintf("an export would wait, since others have locked or wait to change: %s",
			some(e.locked)))
	} else {
		e.ok("locks", "no table is locked by others")
	}
	switch {
	case len(names) == 0:
		e.add("tables", warning, "there are none, or none that the user may see")
	case failed == 0 && len(e.locked) < mostLocked:
		e.ok("tables", ui.Several(int64(len(names)-len(e.locked)), "table")+" can be read")
	}
	return failed, nil
}

// errLocked is the error of a table that does not answer.
var errLocked = errors.New("the table is locked")

// table does what an export does until the first row.
func (e *examination) table(ctx context.Context, name string) error {
	return e.limited(ctx, patience, func(ctx context.Context) error { return e.read(ctx, name) })
}

// limited does what may wait for locks. If it does so for too long, the error is errLocked.
func (e *examination) limited(ctx context.Context, patience time.Duration, do func(context.Context) error) (err error) {
	if e.src == nil {
		return errors.New("the database was reached before, and cannot be reached again")
	}
	bounded, cancel := e.limit(ctx, patience)
	defer cancel()
	if err = do(bounded); err == nil || ctx.Err() != nil || context.Cause(bounded) != errLocked {
		return err
	}
	// The statement was interrupted, and the session may have ended with it.
	closeErr := e.src.Close()
	if e.src, err = e.db.Open(ctx); err != nil {
		e.src = nil
		return errors.Join(err, closeErr)
	}
	return errLocked
}

// read reads a row of a table, with the columns that a job file names. A condition is only looked at, since the first
// row that meets it may be far.
func (e *examination) read(ctx context.Context, name string) error {
	of := source.Selection{}
	if e.trial != nil {
		chosen, bytes, rows, err := e.trial.Estimate(ctx, e.src, name)
		if err != nil || !rows {
			return err
		}
		of.Columns = chosen.Columns
		e.bytes += bytes
	}
	return readOne(ctx, e.src, name, of)
}

func readOne(ctx context.Context, src source.Source, name string, of source.Selection) (err error) {
	selector, is := src.(source.Selector)
	if !is {
		return errors.New("the source cannot read a part of a table")
	}
	of.Limit = 1
	rows, err := selector.Select(ctx, name, of)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	var batch source.Batch
	if err := rows.Next(&batch); err != nil && err != io.EOF {
		return err
	}
	return nil
}

// snapshot finds out whether several sessions can read one state.
func (e *examination) snapshot(ctx context.Context, names []string) error {
	names = slices.DeleteFunc(slices.Clone(names), func(name string) bool { return slices.Contains(e.locked, name) })
	outside, err := source.OutsideSnapshot(ctx, e.src, names)
	if err != nil {
		return err
	}
	if len(outside) > 0 {
		e.add("snapshot", warning, "these tables are in none, so their rows are those of when each is read: "+
			some(outside))
	}
	if grouped, is := e.src.(source.Grouped); is {
		return e.together(grouped)
	}
	sharer, is := e.src.(source.Sharer)
	if !is {
		e.ok("snapshot", "one connection reads in one transaction")
		return nil
	}
	if err := joins(ctx, sharer); err != nil {
		if ctx.Err() != nil {
			return err
		}
		err = e.db.Explain(err)
		e.add("snapshot", warning, "only one connection can read it: "+command.Plain(err), command.HintsOf(err)...)
		return nil
	}
	e.ok("snapshot", "other connections can read it too")
	return nil
}

// together finds out whether another session has begun at the same moment.
func (e *examination) together(src source.Grouped) (err error) {
	beside, fewer := src.Beside(1)
	for _, one := range beside {
		err = errors.Join(err, one.Close())
	}
	switch {
	case fewer != nil:
		e.add("snapshot", warning, "only one connection can read it: "+fewer.Reason)
	case len(beside) == 0: // the first one was replaced
		e.ok("snapshot", "one connection reads in one transaction")
	default:
		e.ok("snapshot", "several connections can read it, which begin together")
	}
	return err
}

func joins(ctx context.Context, sharer source.Sharer) error {
	snapshot, err := sharer.Share(ctx)
	if err != nil {
		return err
	}
	joined, err := sharer.Join(ctx, snapshot)
	if err != nil {
		return err
	}
	return joined.Close()
}

// schema reads what makes the database again.
func (e *examination) schema(ctx context.Context) error {
	if len(e.locked) > 0 {
		e.add("schema", warning, notChecked)
		return nil
	}
	config := source.SchemaConfig{}
	if e.trial != nil {
		config, _ = e.trial.Schema()
	}
	schema, err := source.SchemaOf(ctx, e.src, config)
	if none, is := errors.AsType[*source.NoSchemaError](err); is && ctx.Err() == nil {
		var hints []string
		if none.Hint != "" {
			hints = append(hints, none.Hint)
		}
		e.add("schema", warning, "only the tables and what they need could be exported: "+command.Plain(err), hints...)
		return e.nothing(ctx)
	} else if err != nil {
		return err
	}
	text := ui.Several(int64(len(schema.Statements)), "statement")
	if schema.By != "" {
		text += " by " + schema.By
	}
	e.ok("schema", text)
	if len(schema.Lacks) > 0 {
		e.add("schema", warning, "left out: "+some(schema.Lacks))
	}
	if len(schema.Statements) == 0 {
		return e.nothing(ctx)
	}
	return nil
}

// some names the first of several things.
func some(all []string) string {
	const most = 5
	if len(all) > most {
		return strings.Join(all[:most], ", ") + fmt.Sprintf(" and %d more", len(all)-most)
	}
	return strings.Join(all, ", ")
}
