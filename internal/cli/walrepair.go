package cli

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"culvert/internal/ui"
	"culvert/wal"
)

const walRepairHelp = `Repair copies entries of a damaged log into a new log, in a directory that does not exist yet or
is empty: from the first entry that is left up to the first damage after it. Entries keep their LSNs. The damaged log
stays as it is. No program may have it open.

A log that only has a torn end needs no repair: it is opened without what is torn.

Entries after the damage are left out, and the code is 0 also then. Entries in later segments can often be read with
culvert wal dump --from. If the first segments of the log are missing, the entries after them are copied.

To go on with the new log, put it in the place of the old one.`

const walRepairFields = `log, output, first and last (LSNs in the new log) and damage, if there was any.`

// walRepairReport is the report of culvert wal repair.
type walRepairReport struct {
	outcome
	Log    string  `json:"log"`
	Output string  `json:"output"`
	First  wal.LSN `json:"first"`
	Last   wal.LSN `json:"last"`
	Damage string  `json:"damage,omitempty"`
}

func (r *walRepairReport) text() string {
	text := fmt.Sprintf("%s: LSN %d to %d", ui.Line(r.Output), r.First, r.Last)
	if r.Last < r.First {
		text = fmt.Sprintf("%s: nothing could be saved", ui.Line(r.Output))
	}
	if r.Damage == "" {
		return text + "; there was no damage\n"
	}
	return fmt.Sprintf("%s; the rest is left out or missing: %s\n", text, ui.Line(r.Damage))
}

func (a *app) newWalRepair() *cobra.Command {
	flags := &walFlags{}
	var output notEmpty
	cmd := &cobra.Command{
		Use:   "repair [--key-file FILE] -o NEW DIR",
		Short: "Copy a damaged log, up to the damage, into a new one",
		Long:  walRepairHelp + jsonHelp(walRepairFields) + exitHelp,
		Example: `  culvert wal repair -o journal.new journal
  mv journal journal.damaged && mv journal.new journal`,
		Args: exactly(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			r := &walRepairReport{Log: args[0], Output: string(output)}
			err := a.walRepair(cmd.Context(), r, flags)
			return a.deliver(cmd, r, a.stdout, flags.json, interruption(cmd.Context(), err))
		},
	}
	flags.addKey(cmd)
	flags.addJSON(cmd)
	cmd.Flags().VarP(&output, "output", "o", "directory of the new log")
	return cmd
}

func (a *app) walRepair(ctx context.Context, r *walRepairReport, flags *walFlags) error {
	if r.Output == "" {
		return usagef("where is the new log to be? -o NEW")
	}
	key, err := flags.key(a)
	if err != nil {
		return err
	}
	repaired, err := wal.Repair(ctx, r.Log, r.Output, key)
	switch {
	case errors.Is(err, wal.ErrCorrupt):
		return err // the hint is this command
	case err != nil:
		return flags.hint(err, r.Log)
	}
	r.First, r.Last = repaired.First, repaired.Last
	if repaired.Damage != nil {
		r.Damage = plain(repaired.Damage)
	}
	return nil
}
