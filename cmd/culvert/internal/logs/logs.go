// Package logs has the verbs below culvert wal, which read, check, copy and repair write-ahead logs.
package logs

import (
	"bytes"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"syscall"

	"github.com/spf13/cobra"

	"culvert/cmd/culvert/internal/command"
	"culvert/cmd/culvert/internal/help"
	"culvert/wal"
)

// options are the flags of the commands for logs.
type options struct {
	keyFile command.NotEmpty
	from    uint64
	json    bool
}

// New returns culvert wal, with its verbs.
func New(a *command.App) *cobra.Command {
	cmd := help.Command("wal")
	cmd.Args = command.UnknownVerb
	cmd.RunE = func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
	cmd.AddCommand(newDump(a), newTail(a), newVerify(a), newCopy(a), newRepair(a))
	return cmd
}

func (f *options) addKey(cmd *cobra.Command) {
	cmd.Flags().Var(&f.keyFile, "key-file", "key of an encrypted log, in `FILE`")
}

func (f *options) addFrom(cmd *cobra.Command) {
	cmd.Flags().Uint64Var(&f.from, "from", 0, "begin with the entry `LSN`")
}

func (f *options) addJSON(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&f.json, "json", false, "print JSON")
}

// key reads the key file, if one is given.
func (f *options) key(a *command.App) ([]byte, error) {
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
		a.Secrets.Add(string(b))
		return b, nil
	}
	digits := string(bytes.TrimSpace(b))
	a.Secrets.Add(digits)
	key, err := hex.DecodeString(digits)
	if err != nil || len(key) != size {
		return nil, command.Usagef("%s is not a key: a key has 32 bytes or 64 hexadecimal digits", f.keyFile)
	}
	return key, nil
}

// open reads the state of a log.
func (f *options) open(a *command.App, dir string) (*wal.Reader, wal.Recovery, error) {
	key, err := f.key(a)
	if err != nil {
		return nil, wal.Recovery{}, err
	}
	r, recovery, err := wal.OpenReader(dir, key)
	if err == nil && len(r.Segments()) == 0 {
		err = refuseNothing(dir)
	}
	return r, recovery, f.hint(err, dir)
}

// refuseNothing refuses a directory without files, such as a backup of which nothing is left. A log without entries has
// a lock.
func refuseNothing(dir string) error {
	names, err := os.ReadDir(dir)
	if err == nil && len(names) == 0 {
		err = fmt.Errorf("%s: %w: the directory is empty", dir, wal.ErrForeign)
	}
	return err
}

// hint adds what to do about a log that cannot be read.
func (f *options) hint(err error, dir string) error {
	option := ""
	if f.keyFile != "" {
		option = "--key-file " + string(f.keyFile) + " "
	}
	switch {
	case errors.Is(err, wal.ErrKey) && f.keyFile == "":
		return command.WithHint(err, "the log is encrypted; add its key: --key-file FILE")
	case errors.Is(err, wal.ErrKey):
		return command.WithHint(err, "the log has another key, or is not encrypted; if it is not, leave out --key-file")
	case errors.Is(err, wal.ErrCorrupt):
		return command.WithHint(err,
			fmt.Sprintf("save the entries before the damage: culvert wal repair %s-o NEW %s", option, dir))
	case errors.Is(err, wal.ErrForeign), errors.Is(err, syscall.ENOTDIR):
		return command.WithHint(err, "name the directory of a log; it has files such as 0000000000000001.wal")
	case errors.Is(err, wal.ErrTruncated):
		return command.WithHint(err, "the program that writes the log has cut off entries; start again, without --from")
	case errors.Is(err, wal.ErrLocked):
		return command.WithHint(err,
			"stop the program that writes the log, or use culvert wal copy, which works while it runs")
	case errors.Is(err, fs.ErrExist):
		return command.WithHint(err, "name a directory that does not exist yet: -o NEW")
	}
	return err
}
