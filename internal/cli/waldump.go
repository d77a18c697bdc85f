package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"culvert/internal/ui"
	"culvert/wal"
)

const walDumpHelp = `Dump prints the entries of a log as JSON, one on each line: lsn; of entries with a key version,
key, value and created, of others data; and group_end, true at the last entry of a group. Data and values are in
base64, and so is a key that is not UTF-8, as key_bytes.`

func (a *app) newWalDump() *cobra.Command {
	flags := &walFlags{}
	cmd := &cobra.Command{
		Use:   "dump [--from LSN] [--key-file FILE] DIR",
		Short: "Print the entries of a log",
		Long:  walDumpHelp + exitHelp,
		Example: `  culvert wal dump journal | jq -r '(.data // .value) | @base64d'
  culvert wal dump --from 1000 --key-file journal.key journal`,
		Args: exactly(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			log, _, err := flags.open(a, args[0])
			if err != nil {
				return err
			}
			_, err = a.printRecords(cmd.Context(), log, wal.LSN(flags.from))
			return flags.hint(interruption(cmd.Context(), err), args[0])
		},
	}
	flags.addKey(cmd)
	flags.addFrom(cmd)
	return cmd
}

const walTailHelp = `Tail prints the entries of a log as culvert wal dump does, and then waits for more, until it is
interrupted, which is code 130. What it prints is written, but need not be durable yet.`

// tailInterval is how often a log of another process is looked at. It is short for people, and nothing to a disk.
const tailInterval = 100 * time.Millisecond

func (a *app) newWalTail() *cobra.Command {
	flags := &walFlags{}
	cmd := &cobra.Command{
		Use:   "tail [--from LSN] [--key-file FILE] DIR",
		Short: "Print the entries of a log as they come",
		Long:  walTailHelp + exitHelp,
		Example: `  culvert wal tail journal
  culvert wal tail --from 1000 journal | jq -c 'select(.key == "user/7")'`,
		Args: exactly(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			err := a.walTail(cmd.Context(), flags, args[0])
			return flags.hint(interruption(cmd.Context(), err), args[0])
		},
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
			// The writer may have begun again, and put the last entries into another segment.
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
	Version  *uint64 `json:"version,omitempty"`
	Key      string  `json:"key,omitempty"`
	KeyBytes []byte  `json:"key_bytes,omitempty"` // of a key that is not UTF-8
	Value    *[]byte `json:"value,omitempty"`
	Created  string  `json:"created,omitempty"`
	Data     *[]byte `json:"data,omitempty"`
	GroupEnd bool    `json:"group_end"`
}

// printRecords prints the entries from an LSN on, and gives the one behind them.
func (a *app) printRecords(ctx context.Context, log *wal.Reader, next wal.LSN) (wal.LSN, error) {
	for record, err := range log.Records(ctx, next) {
		if err != nil {
			return next, err
		}
		line := recordLine{LSN: record.LSN, GroupEnd: record.Last, Data: &record.Data}
		if record.IsEntry() {
			e, err := record.Entry()
			if err != nil {
				return next, fmt.Errorf("LSN %d: %w", record.LSN, err)
			}
			line.Data, line.Version, line.Value, line.Created = nil, &e.Version, &e.Value, timeText(e.Created)
			line.Key = e.Key
			if valid := strings.ToValidUTF8(e.Key, ""); valid != e.Key {
				line.Key, line.KeyBytes = "", []byte(e.Key)
			}
		}
		if err := ui.WriteJSON(a.stdout, line); err != nil {
			return next, err
		}
		next = record.LSN + 1
	}
	return next, nil
}

// timeText is a time as RFC 3339 has it. Offsets from UTC that it has no form for are left out, so that the time is
// right; years beyond four digits are given as they are.
func timeText(t time.Time) string {
	const day = 24 * 60 * 60
	if _, offset := t.Zone(); offset%60 != 0 || offset <= -day || offset >= day {
		t = t.UTC()
	}
	return t.Format(time.RFC3339Nano)
}
