package cli

import (
	"bytes"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"culvert/internal/ui"
	"culvert/wal"
)

const walHelp = `The write-ahead logs of package culvert/wal are directories of segments. These commands read them,
also while a program appends to them, and never change them.

An encrypted log is read with the key in a file: 32 bytes, or 64 hexadecimal digits. It is Options.Key of the program
that writes the log.`

// walFlags are those of all commands for logs.
type walFlags struct {
	keyFile notEmpty
	from    uint64
	json    bool
}

func (a *app) newWal() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "wal",
		Short: "Look into write-ahead logs, and repair them",
		Long:  walHelp + exitHelp,
		Args:  unknownVerb,
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.Example = `  culvert wal verify journal                          is it whole?
  culvert wal dump journal                            what is in it
  culvert wal tail --key-file journal.key journal     what comes, of an encrypted one
  culvert wal repair -o journal.new journal           save what is before the damage`
	cmd.AddCommand(a.newWalDump(), a.newWalTail(), a.newWalVerify(), a.newWalRepair())
	for _, sub := range cmd.Commands() {
		sub.Long = wrap(sub.Long)
	}
	return cmd
}

func (f *walFlags) addKey(cmd *cobra.Command) {
	cmd.Flags().Var(&f.keyFile, "key-file", "file with the key of an encrypted log")
}

func (f *walFlags) addFrom(cmd *cobra.Command) {
	cmd.Flags().Uint64Var(&f.from, "from", 0, "LSN of the first entry to print")
}

func (f *walFlags) addJSON(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&f.json, "json", false, "print JSON")
}

// key reads the key, if there is to be one.
func (f *walFlags) key(a *app) ([]byte, error) {
	if f.keyFile == "" {
		return nil, nil
	}
	file, err := os.Open(string(f.keyFile))
	if err != nil {
		return nil, err
	}
	const size, most = 32, 100
	b, err := io.ReadAll(io.LimitReader(file, most))
	if err := errors.Join(err, file.Close()); err != nil {
		return nil, err
	}
	if len(b) == size {
		a.secrets.add(string(b))
		return b, nil
	}
	digits := string(bytes.TrimSpace(b))
	a.secrets.add(digits)
	key, err := hex.DecodeString(digits)
	if err != nil || len(key) != size {
		return nil, usagef("%s is no key: it needs 32 bytes, or 64 hexadecimal digits", f.keyFile)
	}
	return key, nil
}

// open reads the state of a log.
func (f *walFlags) open(a *app, dir string) (*wal.Reader, wal.Recovery, error) {
	key, err := f.key(a)
	if err != nil {
		return nil, wal.Recovery{}, err
	}
	r, recovery, err := wal.OpenReader(dir, key)
	return r, recovery, f.hint(err, dir)
}

// hint says what to do about a log that cannot be read.
func (f *walFlags) hint(err error, dir string) error {
	option := ""
	if f.keyFile != "" {
		option = "--key-file " + string(f.keyFile) + " "
	}
	switch {
	case errors.Is(err, wal.ErrKey) && f.keyFile == "":
		return withHint(err, "the log is encrypted; give its key: --key-file FILE")
	case errors.Is(err, wal.ErrKey):
		return withHint(err, "the log is encrypted with another key, or not at all: then leave out --key-file")
	case errors.Is(err, wal.ErrCorrupt):
		return withHint(err,
			fmt.Sprintf("what is before the damage can be had: culvert wal repair %s-o NEW %s", option, dir))
	case errors.Is(err, wal.ErrForeign), errors.Is(err, syscall.ENOTDIR):
		return withHint(err, "name the directory of a log, which has files such as 0000000000000001.wal")
	case errors.Is(err, wal.ErrTruncated):
		return withHint(err, "to begin with the oldest entry that is left, leave out --from")
	}
	return err
}

const walVerifyHelp = `Verify reads every entry of a log and checks its checksum and, if the log is encrypted, that it
was written with the key. It says where the log begins and ends.

What a crash has cut off the end is no damage. Anything else that is missing or changed is, and ends it with code 12.`

const walVerifyFields = `log, segments, first and last (LSNs), entries, bytes (of their data), clean (it was closed),
torn_bytes (of unfinished groups at the end) and unproven (how many entries at the end need not be durable).`

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
	cmd := &cobra.Command{
		Use:     "verify [--key-file FILE] DIR",
		Short:   "Check every entry of a log",
		Long:    walVerifyHelp + jsonHelp(walVerifyFields) + exitHelp,
		Example: "  culvert wal verify journal\n  culvert wal verify --key-file journal.key journal",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			r := &walVerifyReport{Log: args[0]}
			err := a.walVerify(cmd.Context(), r, flags, args[0])
			return a.deliver(cmd, r, a.stdout, flags.json, interruption(cmd.Context(), err))
		},
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

const walRepairHelp = `Repair copies the entries of a log up to the first damage into a new log, in a directory that
does not exist yet or is empty. They keep their LSNs. The damaged log stays as it is.

A log that only has a torn end needs no repair: it is opened without what is torn.

Entries behind the damage are left out, and the code is 0 also then. Those in later segments can still be read, with
culvert wal dump --from. To go on with the new log, stop the program and put it in the place of the old one.`

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
	return fmt.Sprintf("%s; left out is what comes after: %s\n", text, ui.Line(r.Damage))
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
		Args: cobra.ExactArgs(1),
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
	case errors.Is(err, wal.ErrKey), errors.Is(err, wal.ErrForeign):
		return flags.hint(err, r.Log)
	case err != nil:
		return err
	}
	r.First, r.Last = repaired.First, repaired.Last
	if repaired.Damage != nil {
		r.Damage = plain(repaired.Damage)
	}
	return nil
}

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
		Args: cobra.ExactArgs(1),
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
		Args: cobra.ExactArgs(1),
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
