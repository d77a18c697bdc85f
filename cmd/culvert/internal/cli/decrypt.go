package cli

import (
	"context"

	"github.com/spf13/cobra"

	"culvert/cmd/culvert/internal/argument"
	"culvert/cmd/culvert/internal/command"
	"culvert/export"
)

// decryptOptions are the flags of culvert decrypt.
type decryptOptions struct {
	command.WorkFlags
	argument.InputFlags
	output string
	force  bool
}

func newDecrypt(a *command.App) *cobra.Command {
	o, r := &decryptOptions{}, &command.WorkReport{}
	cmd := o.Command(a, "decrypt", r, func(ctx context.Context, w *command.Work, args []string) error {
		return decrypt(ctx, a, w, r, o, args)
	})
	o.InputFlags.Add(cmd)
	outputFlags(cmd, &o.output, &o.force)
	return cmd
}

func decrypt(
	ctx context.Context, a *command.App, w *command.Work, r *command.WorkReport, o *decryptOptions,
	args []string) (err error,
) {
	err = argument.OutputTo(w, r, o.output, o.force, args, o.Identities.Files(), o.PassphraseFlags.Inputs())
	if err != nil {
		return err
	}
	config := export.ReadConfig{Jobs: o.Jobs, Packed: true}
	if config.Identities, err = o.DecryptFlags.Read(ctx, a); err != nil {
		return err
	}
	text, err := argument.OpenText(ctx, a, args, &o.PlaceFlags, config)
	if err != nil {
		return err
	}
	defer func() { err = text.Close(err) }()
	if !text.Encrypted() {
		return command.WithHint(command.About(text.Name, argument.ErrNotAge), "culvert cat shows files of any kind")
	}
	out, done, err := argument.OpenSink(ctx, a, o.output, o.force, &o.PlaceFlags,
		"write to a file with -o FILE, or look into it: culvert cat", "force it with -o -")
	if err != nil {
		return err
	}
	return done(move(w, text, out))
}
