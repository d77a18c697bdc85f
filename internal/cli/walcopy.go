package cli

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"culvert/internal/ui"
	"culvert/wal"
)

const walCopyHelp = `Copy makes a copy of a log, in a directory that does not exist yet or is empty, also while a
program appends to it. Use it for backups: other tools read the files of an open log at different times, and their
copy may be damaged.

The copy has every entry that was durable when the command began, and perhaps some that came after those. Entries
keep their LSNs, their groups and the key. If the program cuts off entries that are still to be copied, the command
begins again, with the entries that there are then. The copy is on the disk when the command ends with code 0. With
any other code it is not complete: remove it.`

const walCopyFields = `log, output, first and last (LSNs in the copy).`

// walCopyReport is the report of culvert wal copy.
type walCopyReport struct {
	outcome
	Log    string  `json:"log"`
	Output string  `json:"output"`
	First  wal.LSN `json:"first"`
	Last   wal.LSN `json:"last"`
}

func (r *walCopyReport) text() string {
	if r.Last < r.First {
		return fmt.Sprintf("%s: empty, the next LSN is %d\n", ui.Line(r.Output), r.First)
	}
	return fmt.Sprintf("%s: LSN %d to %d\n", ui.Line(r.Output), r.First, r.Last)
}

func (a *app) newWalCopy() *cobra.Command {
	flags := &walFlags{}
	var output notEmpty
	cmd := &cobra.Command{
		Use:   "copy [--key-file FILE] -o NEW DIR",
		Short: "Copy a log, also while a program appends to it",
		Long:  walCopyHelp + jsonHelp(walCopyFields) + exitHelp,
		Example: `  culvert wal copy -o journal.backup journal
  culvert wal copy --key-file journal.key -o /backup/journal journal`,
		Args: exactly(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			r := &walCopyReport{Log: args[0], Output: string(output)}
			err := a.walCopy(cmd.Context(), r, flags)
			return a.deliver(cmd, r, a.stdout, flags.json, interruption(cmd.Context(), err))
		},
	}
	flags.addKey(cmd)
	flags.addJSON(cmd)
	cmd.Flags().VarP(&output, "output", "o", "directory of the copy")
	return cmd
}

func (a *app) walCopy(ctx context.Context, r *walCopyReport, flags *walFlags) error {
	if r.Output == "" {
		return usagef("where is the copy to be? -o NEW")
	}
	log, _, err := flags.open(a, r.Log)
	if err != nil {
		return err
	}
	copied, err := log.Copy(ctx, r.Output)
	if err != nil {
		return flags.hint(err, r.Log)
	}
	r.First, r.Last = copied.First, copied.Last
	return nil
}
