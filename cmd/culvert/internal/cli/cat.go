package cli

import (
	"context"
	"errors"
	"io"

	"github.com/spf13/cobra"

	"culvert/cmd/culvert/internal/argument"
	"culvert/cmd/culvert/internal/command"
	"culvert/export"
	"culvert/format"
	"culvert/place"
)

func newCat(a *command.App) *cobra.Command {
	o, r := &catOptions{}, &command.WorkReport{Output: "-"}
	cmd := o.Command(a, "cat", r, func(ctx context.Context, w *command.Work, args []string) error {
		return cat(ctx, a, w, r, o, args)
	})
	o.InputFlags.Add(cmd)
	o.author.Add(cmd, "print")
	o.csv.Add(cmd)
	cmd.Flags().StringVarP(&o.format, "format", "f", "", "print columns as `FORMAT`: csv or jsonl (default csv)")
	return cmd
}

// catOptions are the flags of culvert cat.
type catOptions struct {
	readOptions
	author argument.AuthorFlags
	csv    argument.CSVFlags
	format string
}

func cat(
	ctx context.Context, a *command.App, w *command.Work, r *command.WorkReport, o *catOptions, args []string,
) (err error) {
	if err := argument.OutputTo(w, r, "-", false, args); err != nil {
		return err
	}
	if err := o.author.Read(ctx, a); err != nil {
		return err
	}
	config := export.ReadConfig{Jobs: o.Jobs}
	if config.Identities, err = o.DecryptFlags.WhenNeeded(ctx, a); err != nil {
		return err
	}
	if o.csv.Given() {
		return catDialect(ctx, a, w, o, args, config)
	}
	if o.author.Given() {
		return catSigned(ctx, a, w, o, args, config)
	}
	if done, err := catAny(ctx, a, w, o, args, config); done {
		return err
	}
	text, err := argument.OpenText(ctx, a, args, &o.PlaceFlags, config)
	if err != nil {
		return err
	}
	defer func() { err = text.Close(err) }()
	out, done, err := openStdout(ctx, a)
	if err != nil {
		return err
	}
	return done(move(w, text, out))
}

// text is the format in which columns are printed.
func (o *catOptions) text() format.Format {
	if o.format == "jsonl" {
		return format.JSONL{}
	}
	return format.CSV{}
}

// check refuses --format if it is unknown, or if the file is text already.
func (o *catOptions) check(isColumnar bool) error {
	switch {
	case o.format != "" && o.format != "csv" && o.format != "jsonl":
		return command.Usagef("--format is csv or jsonl, not %q", o.format)
	case o.format != "" && !isColumnar:
		return command.Usagef("--format is for files of columns, such as Parquet; others are printed as they are")
	}
	return nil
}

func openStdout(ctx context.Context, a *command.App) (place.File, func(error) error, error) {
	return argument.OpenSink(ctx, a, "", false, nil, "write to a file or to a program: culvert cat … > FILE")
}

// catSigned prints a table of an export whose author is trusted, and compares its files with the manifest.
func catSigned(
	ctx context.Context, a *command.App, w *command.Work, o *catOptions, args []string, config export.ReadConfig,
) (err error) {
	if len(args) == 0 || args[0] == "-" {
		return o.author.RefuseFile("standard input")
	}
	t, err := argument.OpenTable(ctx, a, args[0], &o.PlaceFlags, config)
	switch {
	case err != nil:
		return err
	case t == nil:
		return o.author.RefuseFile(args[0])
	}
	defer func() { err = t.Close(err) }()
	f := argument.Columnar[t.Export.Manifest.Format]
	if err := errors.Join(o.check(f != nil), o.author.Check(args[0], t.Export.Manifest)); err != nil {
		return err
	}
	if f != nil {
		return catParts(ctx, a, w, o, t, f)
	}
	out, done, err := openStdout(ctx, a)
	if err != nil {
		return err
	}
	counted := beginMoving(w, t.Entry.FileBytes, t.BytesIn, out)
	if err := t.Export.CopyTable(ctx, t.Entry, counted); err != nil {
		return done(counted.Blame(err, t.Explain(err)))
	}
	return done(out.Commit())
}

// catDialect prints the text of another program as CSV.
func catDialect(
	ctx context.Context, a *command.App, w *command.Work, o *catOptions, args []string, config export.ReadConfig,
) (err error) {
	if o.format != "" || o.author.Given() {
		return command.Usagef("--csv is for a file of another program, and cannot be combined with --format and --from")
	}
	dialect, err := o.csv.Dialect()
	if err != nil {
		return err
	}
	text, err := argument.OpenText(ctx, a, args, &o.PlaceFlags, config)
	if err != nil {
		return err
	}
	defer func() { err = text.Close(err) }()
	decoded, err := o.csv.Decode(text)
	if err != nil {
		return err
	}
	rows, err := dialect.Reader(decoded)
	if err != nil {
		return err
	}
	out, done, err := openStdout(ctx, a)
	if err != nil {
		return err
	}
	counted := beginMoving(w, text.Size, text.BytesIn, out)
	if _, err := io.Copy(counted, rows); err != nil {
		return done(counted.Blame(err, text.Explain(err)))
	}
	return done(out.Commit())
}
