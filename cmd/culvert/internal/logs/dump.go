package logs

import (
	"context"
	"errors"
	"time"

	"github.com/spf13/cobra"

	"culvert/cmd/culvert/internal/command"
	"culvert/cmd/culvert/internal/help"
	"culvert/cmd/culvert/internal/ui"
	"culvert/wal"
)

func newDump(a *command.App) *cobra.Command {
	flags := &options{}
	cmd := help.Command("wal dump")
	cmd.Args = command.Exactly(1)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		log, _, err := flags.open(a, args[0])
		if err != nil {
			return err
		}
		_, err = printRecords(cmd.Context(), a, log, wal.LSN(flags.from))
		return flags.hint(command.Interruption(cmd.Context(), err), args[0])
	}
	flags.addKey(cmd)
	flags.addFrom(cmd)
	return cmd
}

// tailInterval is how often tail looks for entries of another process: often enough for people, and no load on a disk.
const tailInterval = 100 * time.Millisecond

func newTail(a *command.App) *cobra.Command {
	flags := &options{}
	cmd := help.Command("wal tail")
	cmd.Args = command.Exactly(1)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		err := tail(cmd.Context(), a, flags, args[0])
		return flags.hint(command.Interruption(cmd.Context(), err), args[0])
	}
	flags.addKey(cmd)
	flags.addFrom(cmd)
	return cmd
}

func tail(ctx context.Context, a *command.App, flags *options, dir string) error {
	log, recovery, err := flags.open(a, dir)
	if err != nil {
		return err
	}
	ticks := time.NewTicker(tailInterval)
	defer ticks.Stop()
	next := wal.LSN(flags.from)
	if next == 0 {
		next = recovery.First
	}
	for {
		next, err = printRecords(ctx, a, log, next)
		if errors.Is(err, wal.ErrTruncated) {
			// After a restart, the writer has copied the last entries into another segment.
			if err = log.Refresh(); err == nil {
				next, err = printRecords(ctx, a, log, next)
			}
		}
		if err != nil {
			return err
		}
		select {
		case <-ticks.C:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
		if err := log.Refresh(); err != nil {
			return err
		}
	}
}

// recordLine is how an entry is printed.
type recordLine struct {
	LSN      wal.LSN `json:"lsn"`
	Data     []byte  `json:"data"`
	GroupEnd bool    `json:"group_end"`
}

// printRecords prints the entries from an LSN on and returns the LSN after the last one.
func printRecords(ctx context.Context, a *command.App, log *wal.Reader, next wal.LSN) (wal.LSN, error) {
	for record, err := range log.Records(ctx, next) {
		if err != nil {
			return next, err
		}
		line := recordLine{LSN: record.LSN, GroupEnd: record.Last, Data: record.Data}
		if err := ui.WriteJSON(a.Stdout, line); err != nil {
			return next, err
		}
		next = record.LSN + 1
	}
	return next, nil
}
