package cli

import (
	"io"

	"github.com/spf13/cobra"

	"culvert/cmd/culvert/internal/argument"
	"culvert/cmd/culvert/internal/command"
	"culvert/cmd/culvert/internal/ui"
	"culvert/place"
)

// move copies a text to an output.
func move(w *command.Work, text *argument.Text, out place.File) error {
	counted := beginMoving(w, text.Size, text.BytesIn, out)
	if _, err := io.Copy(counted, text); err != nil {
		return counted.Blame(err, text.Explain(err))
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

// beginMoving begins the work of a command that reads size bytes, or 0, and counts what it writes to out.
func beginMoving(
	w *command.Work, size int64, bytesIn func(bytesOut int64) int64, out io.Writer,
) *command.CountingWriter {
	counted := &command.CountingWriter{Writer: out}
	w.Total = size
	w.Figures = func() ui.Figures {
		written := counted.Count.Load()
		return ui.Figures{Rows: ui.NoRows, In: bytesIn(written), Out: written}
	}
	w.Begin()
	return counted
}
