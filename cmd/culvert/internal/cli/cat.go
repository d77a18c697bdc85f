package cli

import (
	"context"
	"path"
	"strings"

	"github.com/spf13/cobra"

	"culvert/cmd/culvert/internal/argument"
	"culvert/cmd/culvert/internal/command"
	"culvert/export"
	"culvert/format/parquet"
	"culvert/place"
)

func newCat(a *command.App) *cobra.Command {
	o, r := &catOptions{}, &command.WorkReport{Output: "-"}
	cmd := o.Command(a, "cat", r, func(ctx context.Context, w *command.Work, args []string) error {
		return cat(ctx, a, w, r, o, args)
	})
	o.InputFlags.Add(cmd)
	o.author.Add(cmd, "print")
	return cmd
}

// catOptions are the flags of culvert cat.
type catOptions struct {
	readOptions
	author argument.AuthorFlags
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
	if len(args) > 0 && isParquet(args[0]) {
		return errParquet(args[0])
	}
	if o.author.Given() {
		return catSigned(ctx, a, w, o, args, config)
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

// isParquet reports whether a name is that of a Parquet file.
func isParquet(name string) bool {
	if argument.IsURL(name) {
		name, _, _ = strings.Cut(name, "?") // the address of a store, such as its endpoint
	}
	return path.Ext(strings.TrimSuffix(strings.ToLower(name), ".age")) == parquet.Format{}.Extension()
}

func errParquet(name string) error {
	return command.WithHint(command.Usagef("%s is Parquet, which is not text: cat does not print it", name),
		"decrypt it, and read it with another program: culvert decrypt -o FILE.parquet "+command.ForShell(name))
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
	if !t.Export.Manifest.IsText() {
		return errParquet(args[0])
	}
	if err := o.author.Check(args[0], t.Export.Manifest); err != nil {
		return err
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
