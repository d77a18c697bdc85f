package cli

import (
	"context"

	"github.com/spf13/cobra"

	"culvert/cmd/culvert/internal/argument"
	"culvert/cmd/culvert/internal/command"
	"culvert/export"
	"culvert/place"
)

func newCat(a *command.App) *cobra.Command {
	o := &readOptions{}
	r := &command.WorkReport{Output: "-"}
	cmd := o.Command(a, "cat", r, func(ctx context.Context, w *command.Work, args []string) error {
		if err := argument.OutputTo(w, r, "-", false, args); err != nil {
			return err
		}
		var err error
		config := export.ReadConfig{Jobs: o.Jobs}
		if config.Identities, err = o.DecryptFlags.WhenNeeded(ctx, a); err != nil {
			return err
		}
		open := func() (place.File, func(error) error, error) {
			return argument.OpenSink(ctx, a, "", false, nil, "write to a file or to a program: culvert cat … > FILE")
		}
		return copyText(ctx, a, w, &o.PlaceFlags, args, config, open)
	})
	o.InputFlags.Add(cmd)
	return cmd
}
