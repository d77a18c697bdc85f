package logs

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"culvert/cmd/culvert/internal/command"
	"culvert/cmd/culvert/internal/help"
	"culvert/cmd/culvert/internal/ui"
	"culvert/wal"
)

func newRepair(a *command.App) *cobra.Command {
	cmd := help.Command("wal repair")
	return copiesLog(a, cmd, "write to the directory `NEW`", repaired, repair)
}

func repaired(r *CopyReport) string {
	text := fmt.Sprintf("%s: LSN %d to %d", ui.Name(r.Output), r.First, r.Last)
	if r.Last < r.First {
		text = fmt.Sprintf("%s: nothing could be saved", ui.Name(r.Output))
	}
	if r.Damage == "" {
		return text + "; there was no damage\n"
	}
	return fmt.Sprintf("%s; the rest is left out or missing: %s\n", text, ui.Line(r.Damage))
}

func repair(ctx context.Context, a *command.App, r *CopyReport, flags *options) error {
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
		r.Damage = strings.ReplaceAll(command.Plain(repaired.Damage), "\n", "; ")
	}
	return nil
}
