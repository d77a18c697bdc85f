package cli

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"culvert/internal/ui"
	"culvert/wal"
)

// walVerifyReport is the report of culvert wal verify.
type walVerifyReport struct {
	outcome
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

func (r *walVerifyReport) text() string {
	text := fmt.Sprintf("%s: intact, ", ui.Line(r.Log))
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

func (a *app) newWalVerify() *cobra.Command {
	flags := &walFlags{}
	cmd := command("wal verify")
	cmd.Args = exactly(1)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		r := &walVerifyReport{Log: args[0]}
		err := a.walVerify(cmd.Context(), r, flags, args[0])
		return a.deliver(cmd, r, a.stdout, flags.json, interruption(cmd.Context(), err))
	}
	flags.addKey(cmd)
	flags.addJSON(cmd)
	return cmd
}

func (a *app) walVerify(ctx context.Context, r *walVerifyReport, flags *walFlags, dir string) error {
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
