package cli

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"culvert/internal/ui"
	"culvert/wal"
)

func (a *app) newWalRepair() *cobra.Command {
	cmd := command("wal repair")
	return a.copiesLog(cmd, "write to the directory `NEW`", walRepaired, a.walRepair)
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
