package cli

import (
	"context"

	"github.com/spf13/cobra"

	"culvert/cmd/culvert/internal/argument"
	"culvert/cmd/culvert/internal/command"
	"culvert/export"
)

func newCat(a *command.App) *cobra.Command {
	o, r := &readOptions{}, &command.WorkReport{Output: "-"}
	cmd := o.Command(a, "cat", r, func(ctx context.Context, w *command.Work, args []string) error {
		return cat(ctx, a, w, r, o, args)
	})
	o.InputFlags.Add(cmd)
	return cmd
}

func cat(
	ctx context.Context, a *command.App, w *command.Work, r *command.WorkReport, o *readOptions, args []string,
) (err error) {
	if err := argument.OutputTo(w, r, "-", false, args); err != nil {
		return err
	}
	config := export.ReadConfig{Jobs: o.Jobs}
	if config.Identities, err = o.DecryptFlags.WhenNeeded(ctx, a); err != nil {
		return err
	}
	text, err := argument.OpenText(ctx, a, args, &o.PlaceFlags, config)
	if err != nil {
		return err
	}
	defer func() { err = text.Close(err) }()
	out, done, err := argument.OpenSink(ctx, a, "", false, nil, "write to a file or to a program: culvert cat … > FILE")
	if err != nil {
		return err
	}
	return done(move(w, text, out))
}
