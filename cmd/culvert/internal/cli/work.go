package cli

import (
	"cmp"
	"context"
	"errors"
	"io"
	"os"
	"slices"

	"github.com/spf13/cobra"

	"culvert/cmd/culvert/internal/argument"
	"culvert/cmd/culvert/internal/command"
	"culvert/cmd/culvert/internal/connect"
	"culvert/cmd/culvert/internal/ui"
	"culvert/export"
	"culvert/internal/keyfile"
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

// outputTo notes where the output of the work goes, and refuses early what would fail in the end, or what would
// overwrite a file that is read.
func outputTo(w *command.Work, r *command.WorkReport, output string, force bool, inputs ...[]string) error {
	w.ToStdout = output == "" || output == "-"
	r.Output, w.Name = output, output
	switch {
	case w.ToStdout:
		r.Output, w.Name = "-", "standard output"
		return refuseOwnOutput(w.App, slices.Concat(inputs...))
	case connect.IsURL(output):
		return nil // a server is asked when the output begins
	}
	if err := refuseSameFile(output, withOwnIdentity(slices.Concat(inputs...))); err != nil {
		return err
	}
	return argument.CheckOutput(output, force)
}

// withOwnIdentity adds the file of the own identity to those that must not be overwritten.
func withOwnIdentity(files []string) []string {
	if own, err := keyfile.DefaultPath(); err == nil {
		files = append(files, own)
	}
	return files
}

// readOptions are the flags of commands that read all of a file.
type readOptions struct {
	command.WorkFlags
	argument.InputFlags
}

// refuseOwnOutput refuses standard output that is one of the files that are read: what is appended to the input would
// be read again, without an end. Standard input counts as one if it is the same file.
func refuseOwnOutput(a *command.App, inputs []string) error {
	to, err := statOf(a.Stdout)
	if err != nil || !to.Mode().IsRegular() {
		return nil
	}
	from, err := statOf(a.Stdin)
	if err == nil && os.SameFile(from, to) || isOneOf(to, inputs) {
		return command.Usagef("standard output is also an input")
	}
	return nil
}

func statOf(stream any) (os.FileInfo, error) {
	f, is := stream.(*os.File)
	if !is {
		return nil, os.ErrInvalid
	}
	return f.Stat()
}

// refuseSameFile refuses an output that is one of the files that are read: the input, or an identity, say.
func refuseSameFile(output string, inputs []string) error {
	target, err := os.Stat(output)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if target.Mode().IsRegular() && isOneOf(target, inputs) {
		return command.Usagef("the output %q is also an input", output)
	}
	return nil
}

// isOneOf reports whether a file is one of those with these names.
func isOneOf(file os.FileInfo, names []string) bool {
	return slices.ContainsFunc(names, func(name string) bool {
		info, err := os.Stat(name)
		return err == nil && os.SameFile(info, file)
	})
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
