package cli

import (
	"cmp"
	"context"
	"errors"
	"io"

	"github.com/spf13/cobra"

	"culvert/cmd/culvert/internal/argument"
	"culvert/cmd/culvert/internal/command"
	"culvert/cmd/culvert/internal/ui"
	"culvert/export"
	"culvert/place"
)

// copyText copies what is in a file to the output that open opens.
func copyText(
	ctx context.Context, a *command.App, w *command.Work, flags *argument.PlaceFlags, args []string,
	config export.ReadConfig,
	open func() (place.File, func(error) error, error),
) error {
	in, err := argument.OpenInput(ctx, a, args, flags)
	if errors.Is(err, argument.ErrDirectory) && !config.Packed {
		t, tableErr := argument.OpenTable(ctx, a, args[0], flags, config)
		if t != nil {
			return t.Close(catTable(w, t, open))
		}
		err = cmp.Or(tableErr, err)
	}
	if err != nil {
		return err
	}
	return in.Use(config, func(text *export.Reader) error {
		if config.Packed && !text.Encrypted() {
			return command.WithHint(command.About(in.Name, argument.ErrNotAge), "culvert cat shows files of any kind")
		}
		out, done, err := open()
		if err != nil {
			return err
		}
		return done(move(w, in, out, text))
	})
}

// move copies the text of an input to an output.
func move(w *command.Work, in *argument.Input, out place.File, text io.Reader) error {
	counted := beginMoving(w, in, out)
	if _, err := io.Copy(counted, text); err != nil {
		return counted.Blame(err, argument.ReadError(in.Name, err))
	}
	return out.Commit()
}

func outputFlags(cmd *cobra.Command, output *string, force *bool) {
	cmd.Flags().VarP((*command.NotEmpty)(output), "output", "o",
		"write to `FILE`; - is standard output, even a terminal")
	cmd.Flags().BoolVar(force, "force", false, "overwrite the output")
}

// readOptions are the flags of commands that read all of a file.
type readOptions struct {
	command.WorkFlags
	argument.InputFlags
}

// beginMoving begins the work of a command that reads in, and counts what it writes to out.
func beginMoving(w *command.Work, in *argument.Input, out io.Writer) *command.CountingWriter {
	counted := &command.CountingWriter{Writer: out}
	w.Total = in.Size
	w.Figures = func() ui.Figures {
		return ui.Figures{Rows: ui.NoRows, In: in.BytesRead.Load(), Out: counted.Count.Load()}
	}
	w.Begin()
	return counted
}
