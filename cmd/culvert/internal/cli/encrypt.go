package cli

import (
	"context"
	"io"

	"filippo.io/age"
	"filippo.io/age/armor"
	"github.com/spf13/cobra"

	"culvert/agefile"
	"culvert/cmd/culvert/internal/argument"
	"culvert/cmd/culvert/internal/command"
	"culvert/cmd/culvert/internal/ui"
)

// encryptOptions are the flags of culvert encrypt.
type encryptOptions struct {
	command.WorkFlags
	command.RecipientFlags
	argument.PlaceFlags
	identities command.IdentityFlags
	armor      bool
	output     string
	force      bool
}

func newEncrypt(a *command.App) *cobra.Command {
	o, r := &encryptOptions{}, &command.WorkReport{}
	cmd := o.Command(a, "encrypt", r, func(ctx context.Context, w *command.Work, args []string) error {
		return encrypt(ctx, a, w, r, o, args)
	})
	o.RecipientFlags.Add(cmd)
	o.identities.Add(cmd, "encrypt to")
	o.PlaceFlags.Add(cmd)
	cmd.Flags().BoolVarP(&o.armor, "armor", "a", false, "write text (PEM) instead of binary data")
	outputFlags(cmd, &o.output, &o.force)
	return cmd
}

func encrypt(
	ctx context.Context, a *command.App, w *command.Work, r *command.WorkReport, o *encryptOptions,
	args []string) (err error,
) {
	err = argument.OutputTo(w, r, o.output, o.force, args, o.RecipientFlags.Inputs(), o.identities.Files())
	if err != nil {
		return err
	}
	in, err := argument.OpenInput(ctx, a, args, &o.PlaceFlags)
	if err != nil {
		return err
	}
	defer func() { err = in.Close(err) }()
	recipients, err := o.RecipientFlags.Read(ctx, a, &o.identities)
	if err != nil {
		return err
	}
	if !o.armor && o.output == "" && ui.IsTerminal(a.Stdout) {
		return command.WithHint(argument.ErrBinary, "write text with -a, or to a file with -o FILE",
			"force it with -o -")
	}
	out, done, err := argument.OpenSink(ctx, a, o.output, o.force, &o.PlaceFlags)
	if err != nil {
		return err
	}
	defer func() { err = done(err) }()

	counted := beginMoving(w, in.Size, func(int64) int64 { return in.BytesRead.Load() }, out)
	config := agefile.Config{Workers: o.Jobs}
	if err := encryptStream(counted, in.Reader, config, o.armor, recipients); err != nil {
		return counted.Blame(err, command.About("encrypting "+ui.Name(in.Name), err))
	}
	return out.Commit()
}

// encryptStream encrypts all of src to dst.
func encryptStream(
	dst io.Writer, src io.Reader, config agefile.Config, armored bool, recipients []age.Recipient,
) error {
	closeArmor := func() error { return nil }
	if armored {
		w := armor.NewWriter(dst)
		dst, closeArmor = w, w.Close
	}
	w, err := config.NewWriter(dst, recipients...)
	if err != nil {
		return err
	}
	if _, err := io.Copy(w, src); err != nil {
		// Without the mark of its end the output cannot be taken for a complete file.
		w.Abort()
		return err
	}
	if err := w.Close(); err != nil {
		return err
	}
	return closeArmor()
}
