package logs

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"culvert/cmd/culvert/internal/argument"
	"culvert/cmd/culvert/internal/command"
	"culvert/cmd/culvert/internal/help"
	"culvert/cmd/culvert/internal/ui"
	"culvert/wal"
)

// CopyReport is the report of commands that write the entries of a log into a new one.
type CopyReport struct {
	command.Outcome
	Log    string  `json:"log"`
	Output string  `json:"output"`
	First  wal.LSN `json:"first"`
	Last   wal.LSN `json:"last"`
	Damage string  `json:"damage,omitempty"`

	words func(*CopyReport) string
}

// Text implements [command.Report].
func (r *CopyReport) Text() string { return r.words(r) }

func newCopy(a *command.App) *cobra.Command {
	cmd := help.Command("wal copy")
	return copiesLog(a, cmd, "write to the directory `NEW`", copied, copyLog)
}

func copied(r *CopyReport) string {
	if r.Last < r.First {
		return fmt.Sprintf("%s: empty, the next LSN is %d\n", ui.Name(r.Output), r.First)
	}
	return fmt.Sprintf("%s: LSN %d to %d\n", ui.Name(r.Output), r.First, r.Last)
}

func copyLog(ctx context.Context, a *command.App, r *CopyReport, flags *options) error {
	log, _, err := flags.open(a, r.Log)
	if err != nil {
		return err
	}
	copied, err := log.Copy(ctx, r.Output)
	r.First, r.Last = copied.First, copied.Last
	return flags.hint(err, r.Log)
}

// copiesLog completes a command that writes the entries of a log into a new one.
func copiesLog(a *command.App, cmd *cobra.Command, usage string, text func(*CopyReport) string,
	run func(context.Context, *command.App, *CopyReport, *options) error,
) *cobra.Command {
	flags := &options{}
	var output command.NotEmpty
	cmd.Args = command.Exactly(1)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		r := &CopyReport{Log: args[0], Output: string(output), words: text}
		err := command.Usagef("the directory of the new log is missing: add -o NEW")
		if output != "" {
			err = refuseInside(r.Output, r.Log)
		}
		if output != "" && err == nil {
			err = run(cmd.Context(), a, r, flags)
		}
		return a.Deliver(cmd, r, a.Stdout, flags.json, command.Interruption(cmd.Context(), err))
	}
	flags.addKey(cmd)
	flags.addJSON(cmd)
	cmd.Flags().VarP(&output, "output", "o", usage)
	return cmd
}

// refuseInside refuses a new log in the directory of the one that is read, which would then have files that are not its
// own.
func refuseInside(output, log string) error {
	inside, err := argument.IsInside(output, log)
	if err == nil && inside {
		err = command.WithHint(command.Usagef("the new log %q would be inside the log %q", output, log),
			"name a directory beside it")
	}
	return err
}
