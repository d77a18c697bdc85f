package cli

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"culvert/internal/ui"
	"culvert/wal"
)

// walCopyReport is the report of commands that write the entries of a log into a new one.
type walCopyReport struct {
	outcome
	Log    string  `json:"log"`
	Output string  `json:"output"`
	First  wal.LSN `json:"first"`
	Last   wal.LSN `json:"last"`
	Damage string  `json:"damage,omitempty"`

	words func(*walCopyReport) string
}

func (r *walCopyReport) text() string { return r.words(r) }

func (a *app) newWalCopy() *cobra.Command {
	cmd := command("wal copy")
	return a.copiesLog(cmd, "write to the directory `NEW`", walCopied, a.walCopy)
}

func walCopied(r *walCopyReport) string {
	if r.Last < r.First {
		return fmt.Sprintf("%s: empty, the next LSN is %d\n", ui.Line(r.Output), r.First)
	}
	return fmt.Sprintf("%s: LSN %d to %d\n", ui.Line(r.Output), r.First, r.Last)
}

func (a *app) walCopy(ctx context.Context, r *walCopyReport, flags *walFlags) error {
	log, _, err := flags.open(a, r.Log)
	if err != nil {
		return err
	}
	copied, err := log.Copy(ctx, r.Output)
	r.First, r.Last = copied.First, copied.Last
	return flags.hint(err, r.Log)
}

// copiesLog completes a command that writes the entries of a log into a new one.
func (a *app) copiesLog(cmd *cobra.Command, usage string, text func(*walCopyReport) string,
	run func(context.Context, *walCopyReport, *walFlags) error,
) *cobra.Command {
	flags := &walFlags{}
	var output notEmpty
	cmd.Args = exactly(1)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		r := &walCopyReport{Log: args[0], Output: string(output), words: text}
		err := usagef("the directory of the new log is missing: add -o NEW")
		if output != "" {
			err = run(cmd.Context(), r, flags)
		}
		return a.deliver(cmd, r, a.stdout, flags.json, interruption(cmd.Context(), err))
	}
	flags.addKey(cmd)
	flags.addJSON(cmd)
	cmd.Flags().VarP(&output, "output", "o", usage)
	return cmd
}
