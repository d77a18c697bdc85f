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
		return a.cat(ctx, w, o, args)
	})
	o.inputFlags.add(cmd)
	return cmd
}

func (a *app) cat(ctx context.Context, w *work, o *readOptions, args []string) (err error) {
	in, err := a.openInput(ctx, args, &o.placeFlags)
	if err != nil {
		return err
	}
	text, err := in.open(export.ReadConfig{Jobs: o.jobs, Identities: o.decryptFlags.whenNeeded(ctx, a)})
	if err != nil {
		return err
	}
	defer func() { err = in.closed(errors.Join(err, text.Close())) }()
	out, done, err := a.openSink(ctx, "", false, nil, "write to a file or to a program: culvert cat … > FILE")
	if err != nil {
		return err
	}
	defer func() { err = done(err) }()
	return w.move(in, out, text)
}

// move copies the text of an input to an output.
func (w *work) move(in *input, out place.File, text io.Reader) error {
	counted := w.beginMoving(in, out)
	if _, err := io.Copy(counted, text); err != nil {
		return counted.blame(err, readError(in.name, err))
	}
	return out.Commit()
}

// open opens what is in the input, which is closed if that fails.
func (in *input) open(config export.ReadConfig) (*export.Reader, error) {
	text, err := config.NewReader(in.Reader, in.name)
	if err != nil {
		return nil, in.closed(readError(in.name, err))
	}
	return text, nil
}
