package cli

import (
	"context"
	"io"
	"slices"

	"filippo.io/age"
	"filippo.io/age/armor"
	"github.com/spf13/cobra"

	"culvert/agefile"
	"culvert/internal/keyfile"
	"culvert/internal/ui"
)

// encryptOptions are the flags of culvert encrypt.
type encryptOptions struct {
	workFlags
	recipientFlags
	placeFlags
	identities identityFlags
	armor      bool
	output     string
	force      bool
}

func (a *app) newEncrypt() *cobra.Command {
	o, r := &encryptOptions{}, &workReport{}
	cmd := o.command(a, "encrypt", r, func(ctx context.Context, w *work, args []string) error {
		return a.encrypt(ctx, w, r, o, args)
	})
	o.recipientFlags.add(cmd)
	o.identities.add(cmd, "encrypt to")
	o.placeFlags.add(cmd)
	cmd.Flags().BoolVarP(&o.armor, "armor", "a", false, "write text (PEM) instead of binary data")
	outputFlags(cmd, &o.output, &o.force)
	return cmd
}

func (a *app) encrypt(ctx context.Context, w *work, r *workReport, o *encryptOptions, args []string) (err error) {
	if err := w.outputTo(r, o.output, o.force, args, o.recipientFlags.inputs(), o.identities.files()); err != nil {
		return err
	}
	in, err := a.openInput(ctx, args, &o.placeFlags)
	if err != nil {
		return err
	}
	defer func() { err = in.closed(err) }()
	recipients, err := o.recipientFlags.read(ctx, a, &o.identities)
	if err != nil {
		return err
	}
	if !o.armor && o.output == "" && ui.IsTerminal(a.stdout) {
		return withHint(errBinary, "write text with -a, or to a file with -o FILE", "force it with -o -")
	}
	out, done, err := a.openSink(ctx, o.output, o.force, &o.placeFlags)
	if err != nil {
		return err
	}
	defer func() { err = done(err) }()

	counted := w.beginMoving(in, out)
	config := agefile.Config{Workers: o.jobs, ReadAt: true}
	if err := encryptStream(counted, in.Reader, config, o.armor, recipients); err != nil {
		return counted.blame(err, about("encrypting "+in.name, err))
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

// oneFile accepts no argument, or one.
func oneFile(_ *cobra.Command, args []string) error {
	if len(args) > 1 {
		return usagef("%d files are given, and only one can be read; flags come before or after it", len(args))
	}
	return nil
}

func outputFlags(cmd *cobra.Command, output *string, force *bool) {
	cmd.Flags().VarP((*notEmpty)(output), "output", "o",
		"write to `FILE`; - is standard output, even a terminal")
	cmd.Flags().BoolVar(force, "force", false, "overwrite the output")
}

// outputTo notes where the output of the work goes, and refuses early what would fail in the end, or what would
// overwrite a file that is read.
func (w *work) outputTo(r *workReport, output string, force bool, inputs ...[]string) error {
	w.toStdout = output == "" || output == "-"
	r.Output, w.name = output, output
	switch {
	case w.toStdout:
		r.Output, w.name = "-", "standard output"
		return nil
	case isURL(output):
		return nil // a server is asked when the output begins
	}
	if err := refuseSameFile(output, withOwnIdentity(slices.Concat(inputs...))); err != nil {
		return err
	}
	return checkOutput(output, force)
}

// withOwnIdentity adds the file of the own identity to those that must not be overwritten.
func withOwnIdentity(files []string) []string {
	if own, err := keyfile.DefaultPath(); err == nil {
		files = append(files, own)
	}
	return files
}
