package cli

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"culvert/internal/ui"
	"culvert/wal"
)

const walRepairHelp = `Repair copies entries of a damaged log into a new log: from the first entry that is left up to
the first damage after it. The directory of the new log must not exist yet, or be empty. Entries keep their LSNs. The
damaged log is not changed. No program may have it open.

A log that only has a torn end needs no repair: a program opens it without the torn entries.

Repair leaves out the entries after the damage, and exits with code 0 even then. Entries in later segments can often
be read with culvert wal dump --from. If the first segments of the log are missing, the entries after them are copied.

To continue with the new log, move it to the place of the old one.`

const walRepairFields = `log, output, first and last (LSNs in the new log) and damage, if there was any.`

func (a *app) newWalRepair() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "repair [--key-file FILE] -o NEW DIR",
		Short: "Copy a damaged log, up to the damage, into a new one",
		Long:  walRepairHelp + jsonHelp(walRepairFields) + exitHelp,
		Example: `  culvert wal repair -o journal.new journal
  mv journal journal.damaged && mv journal.new journal`,
	}
	return a.copiesLog(cmd, "directory of the new log", walRepaired, a.walRepair)
}

func walRepaired(r *walCopyReport) string {
	text := fmt.Sprintf("%s: LSN %d to %d", ui.Line(r.Output), r.First, r.Last)
	if r.Last < r.First {
		text = fmt.Sprintf("%s: nothing could be saved", ui.Line(r.Output))
	}
	if r.Damage == "" {
		return text + "; there was no damage\n"
	}
	return fmt.Sprintf("%s; the rest is left out or missing: %s\n", text, ui.Line(r.Damage))
}

func (a *app) walRepair(ctx context.Context, r *walCopyReport, flags *walFlags) error {
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
