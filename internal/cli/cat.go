package cli

import (
	"context"
	"errors"
	"io"

	"github.com/spf13/cobra"

	"culvert/export"
	"culvert/place"
)

func (a *app) newCat() *cobra.Command {
	o := &readOptions{}
	cmd := o.command(a, "cat", &workReport{Output: "-"}, func(ctx context.Context, w *work, args []string) error {
		w.toStdout, w.name = true, "standard output"
		config := export.ReadConfig{Jobs: o.jobs, Identities: o.decryptFlags.whenNeeded(ctx, a)}
		open := func() (place.File, func(error) error, error) {
			return a.openSink(ctx, "", false, nil, "write to a file or to a program: culvert cat … > FILE")
		}
		return a.copyText(ctx, w, &o.placeFlags, args, config, open)
	})
	o.inputFlags.add(cmd)
	return cmd
}

// copyText copies what is in a file to the output that open opens.
func (a *app) copyText(
	ctx context.Context, w *work, flags *placeFlags, args []string, config export.ReadConfig,
	open func() (place.File, func(error) error, error),
) error {
	in, err := a.openInput(ctx, args, flags)
	if err != nil {
		return err
	}
	return in.use(config, func(text *export.Reader) error {
		if config.Packed && !text.Encrypted() {
			return withHint(about(in.name, errNotAge), "culvert cat shows files of any kind")
		}
		out, done, err := open()
		if err != nil {
			return err
		}
		return done(w.move(in, out, text))
	})
}

// use calls do with what is in the input, and closes both.
func (in *input) use(config export.ReadConfig, do func(*export.Reader) error) error {
	text, err := config.NewReader(in.Reader, in.name)
	if err != nil {
		return in.closed(readError(in.name, err))
	}
	err = do(text)
	return in.closed(errors.Join(err, text.Close()))
}

// move copies the text of an input to an output.
func (w *work) move(in *input, out place.File, text io.Reader) error {
	counted := w.beginMoving(in, out)
	if _, err := io.Copy(counted, text); err != nil {
		return counted.blame(err, readError(in.name, err))
	}
	return out.Commit()
}
