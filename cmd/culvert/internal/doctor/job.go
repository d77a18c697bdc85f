package doctor

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"culvert/cmd/culvert/internal/command"
	verb "culvert/cmd/culvert/internal/export"
	"culvert/cmd/culvert/internal/ui"
	"culvert/export"
	"culvert/source"
)

// job examines the export of a job file. Whatever fails, the other checks are done too.
func (e *examination) job(ctx context.Context, a *command.App, cmd *cobra.Command, args []string) (err error) {
	if e.trial, err = verb.NewTrial(a, cmd, args); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, e.trial.Close()) }()
	e.db = e.trial.Database()
	err = e.run(ctx, nil)
	var failed command.ChecksError
	for _, c := range e.Checks {
		if c.Result == failedResult && !slices.Contains(failed, c.Name) {
			failed = append(failed, c.Name)
		}
	}
	if len(failed) == 0 || err != nil && !command.Is[*export.PartialError](err) {
		return e.db.Explain(err)
	}
	if e.onlyTables() {
		return err
	}
	return failed
}

// chosen returns the tables of the job, and whether the schema of the whole database goes along.
func (e *examination) chosen(ctx context.Context) (names []string, whole bool) {
	var notices []string
	err := e.limited(ctx, patienceAll, func(ctx context.Context) (err error) {
		names, notices, err = e.trial.Tables(ctx, e.src)
		return err
	})
	if errors.Is(err, errLocked) {
		e.add("patterns", warning, tooLong)
		e.unknown = true
		return nil, false
	}
	if e.failed(ctx, "patterns", err) {
		e.unknown = true
		return nil, false
	}
	for _, notice := range notices {
		e.add("patterns", warning, notice)
	}
	if len(notices) == 0 {
		e.ok("patterns", ui.Several(int64(len(names)), "table")+" meant")
	}
	_, whole = e.trial.Schema()
	return names, whole
}

// nothing notes that a database without a schema has no tables either, if so, with which the export of a job file ends.
func (e *examination) nothing(ctx context.Context) error {
	if e.trial != nil {
		e.failed(ctx, "schema", e.trial.Vacant())
	}
	return ctx.Err()
}

// These are said of what would wait for locks, and of what has perhaps waited for them.
const (
	notChecked = "not checked, since tables are locked"
	tooLong    = "not checked, since that takes more than a minute: others may have locked a table"
)

// lookedUp notes what was found about a number of columns of all tables, unless tables are locked.
func (e *examination) lookedUp(
	ctx context.Context, name, done string, lookUp func(context.Context, source.Source) (columns int, err error),
) {
	if len(e.locked) > 0 {
		e.add(name, warning, notChecked)
		return
	}
	columns := 0
	err := e.limited(ctx, patienceAll, func(ctx context.Context) (err error) {
		columns, err = lookUp(ctx, e.src)
		return err
	})
	if errors.Is(err, errLocked) {
		e.add(name, warning, tooLong)
	} else if !e.failed(ctx, name, err) {
		e.ok(name, ui.Several(int64(columns), "column")+" "+done)
	}
}

// failed notes an error, if there is one.
func (e *examination) failed(ctx context.Context, name string, err error) bool {
	if err != nil && ctx.Err() == nil {
		err = e.db.Explain(err)
		e.add(name, failedResult, command.Plain(err), command.HintsOf(err)...)
	}
	return err != nil
}

// around examines what an export needs beside the database: keys, and where it goes.
func (e *examination) around(ctx context.Context) error {
	if e.trial.HasMasks() {
		e.lookedUp(ctx, "masks", "masked", e.trial.Masks)
	}
	if e.trial.HasBloom() {
		e.lookedUp(ctx, "bloom", "with a bloom filter", e.trial.Bloom)
	}
	recipients, err := e.trial.Recipients(ctx)
	if !e.failed(ctx, "keys", err) && len(recipients) == 0 {
		e.add("keys", warning, "the files would not be encrypted")
	} else if err == nil {
		e.ok("keys", "encrypted to "+some(recipients))
	}
	author, err := e.trial.Author(ctx)
	if !e.failed(ctx, "author", err) && author == "" {
		e.add("author", warning, "the export would not be signed: there is no identity of one's own",
			"make one: culvert keygen")
	} else if err == nil {
		e.ok("author", "signed by "+author)
	}
	out, err := e.trial.Output(ctx, e.src)
	if !e.failed(ctx, "place", err) {
		e.place(out)
	}
	return ctx.Err()
}

// place says what was found about the place.
func (e *examination) place(out verb.Output) {
	switch {
	case out.Kept != nil:
		e.add("place", warning, fmt.Sprintf("%s can be written to, but nothing can be removed there: %s", out.Text,
			command.Plain(out.Kept)), "culvert prune needs that right")
	case out.Taken:
		e.add("place", warning, fmt.Sprintf("%s is there already, so an export would fail until the date or the time "+
			"in its name is another one", out.Text))
	default:
		e.ok("place", out.Text+" can be written to")
	}
	if out.Local == "" {
		return
	}
	switch free, known := freeSpace(out.Local); {
	case !known:
	case free < e.bytes:
		e.add("disk", warning, fmt.Sprintf("%s free, and the tables have about %s in the database", ui.Bytes(free),
			ui.Bytes(e.bytes)))
	default:
		e.ok("disk", ui.Bytes(free)+" free")
	}
}
