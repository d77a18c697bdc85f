package cli

import (
	"context"
	"errors"
	"time"

	"github.com/spf13/cobra"

	"culvert/internal/ui"
	"culvert/wal"
)

func (a *app) newWalDump() *cobra.Command {
	flags := &walFlags{}
	cmd := command("wal dump")
	cmd.Args = exactly(1)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		log, _, err := flags.open(a, args[0])
		if err != nil {
			return err
		}
		_, err = a.printRecords(cmd.Context(), log, wal.LSN(flags.from))
		return flags.hint(interruption(cmd.Context(), err), args[0])
	}
	flags.addKey(cmd)
	flags.addFrom(cmd)
	return cmd
}

// tailInterval is how often tail looks for entries of another process: often enough for people, and no load on a disk.
const tailInterval = 100 * time.Millisecond

func (a *app) newWalTail() *cobra.Command {
	flags := &walFlags{}
	cmd := command("wal tail")
	cmd.Args = exactly(1)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		err := a.walTail(cmd.Context(), flags, args[0])
		return flags.hint(interruption(cmd.Context(), err), args[0])
	}
	flags.addKey(cmd)
	flags.addFrom(cmd)
	return cmd
}

func (a *app) walTail(ctx context.Context, flags *walFlags, dir string) error {
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
		next, err = a.printRecords(ctx, log, next)
		if errors.Is(err, wal.ErrTruncated) {
			// After a restart, the writer has copied the last entries into another segment.
			if err = log.Refresh(); err == nil {
				next, err = a.printRecords(ctx, log, next)
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
func (a *app) printRecords(ctx context.Context, log *wal.Reader, next wal.LSN) (wal.LSN, error) {
	for record, err := range log.Records(ctx, next) {
		if err != nil {
			return next, err
		}
		line := recordLine{LSN: record.LSN, GroupEnd: record.Last, Data: record.Data}
		if err := ui.WriteJSON(a.stdout, line); err != nil {
			return next, err
		}
		next = record.LSN + 1
	}
	return next, nil
}
