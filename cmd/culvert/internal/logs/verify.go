package logs

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"culvert/cmd/culvert/internal/command"
	"culvert/cmd/culvert/internal/help"
	"culvert/cmd/culvert/internal/ui"
	"culvert/wal"
)

// VerifyReport is the report of culvert wal verify.
type VerifyReport struct {
	command.Outcome
	Log      string  `json:"log"`
	Segments int     `json:"segments"`
	First    wal.LSN `json:"first"`
	Last     wal.LSN `json:"last"`
	Entries  int64   `json:"entries"`
	Bytes    int64   `json:"bytes"`
	Clean    bool    `json:"clean"`
	Torn     int64   `json:"torn_bytes"`
	Unproven uint64  `json:"unproven"`
}

// Text implements [command.Report].
func (r *VerifyReport) Text() string {
	text := fmt.Sprintf("%s: intact, ", ui.Name(r.Log))
	if r.Entries == 0 {
		text += fmt.Sprintf("empty, the next LSN is %d", r.First)
	} else {
		text += fmt.Sprintf("LSN %d to %d in %s, %s bytes", r.First, r.Last, ui.Several(int64(r.Segments), "segment"),
			ui.Count(r.Bytes))
	}
	switch {
	case r.Clean:
		text += ", closed"
	case r.Torn > 0:
		text += fmt.Sprintf(", not closed, %s torn bytes at its end", ui.Count(r.Torn))
	default:
		text += ", not closed"
	}
	return text + "\n"
}

func newVerify(a *command.App) *cobra.Command {
	flags := &options{}
	cmd := help.Command("wal verify")
	cmd.Args = command.Exactly(1)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		r := &VerifyReport{Log: args[0]}
		err := verify(cmd.Context(), a, r, flags, args[0])
		return a.Deliver(cmd, r, a.Stdout, flags.json, command.Interruption(cmd.Context(), err))
	}
	flags.addKey(cmd)
	flags.addJSON(cmd)
	return cmd
}

func verify(ctx context.Context, a *command.App, r *VerifyReport, flags *options, dir string) error {
	log, recovery, err := flags.open(a, dir)
	if err != nil {
		return err
	}
	r.First, r.Last, r.Clean = recovery.First, recovery.Last, recovery.Clean
	r.Torn, r.Unproven, r.Segments = recovery.Torn, recovery.Unproven, len(log.Segments())
	for record, err := range log.Records(ctx, 0) {
		if err != nil {
			return flags.hint(err, dir)
		}
		r.Entries++
		r.Bytes += int64(len(record.Data))
	}
	return nil
}
