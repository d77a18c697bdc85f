package cli

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

	"culvert/wal"
)

// walFlags are the flags of the commands for logs.
type walFlags struct {
	keyFile notEmpty
	from    uint64
	json    bool
}

func (a *app) newWal() *cobra.Command {
	cmd := command("wal")
	cmd.Args = unknownVerb
	cmd.RunE = func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
	cmd.AddCommand(a.newWalDump(), a.newWalTail(), a.newWalVerify(), a.newWalCopy(), a.newWalRepair())
	return cmd
}

func (f *walFlags) addKey(cmd *cobra.Command) {
	cmd.Flags().Var(&f.keyFile, "key-file", "key of an encrypted log, in `FILE`")
}

func (f *walFlags) addFrom(cmd *cobra.Command) {
	cmd.Flags().Uint64Var(&f.from, "from", 0, "begin with the entry `LSN`")
}

func (f *walFlags) addJSON(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&f.json, "json", false, "print JSON")
}

// key reads the key file, if one is given.
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
		return nil, usagef("%s is not a key: a key has 32 bytes or 64 hexadecimal digits", f.keyFile)
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

// hint adds what to do about a log that cannot be read.
func (f *walFlags) hint(err error, dir string) error {
	option := ""
	if f.keyFile != "" {
		option = "--key-file " + string(f.keyFile) + " "
	}
	switch {
	case errors.Is(err, wal.ErrKey) && f.keyFile == "":
		return withHint(err, "the log is encrypted; add its key: --key-file FILE")
	case errors.Is(err, wal.ErrKey):
		return withHint(err, "the log has another key, or is not encrypted; if it is not, leave out --key-file")
	case errors.Is(err, wal.ErrCorrupt):
		return withHint(err,
			fmt.Sprintf("save the entries before the damage: culvert wal repair %s-o NEW %s", option, dir))
	case errors.Is(err, wal.ErrForeign), errors.Is(err, syscall.ENOTDIR):
		return withHint(err, "name the directory of a log; it has files such as 0000000000000001.wal")
	case errors.Is(err, wal.ErrTruncated):
		return withHint(err, "the program that writes the log has cut off entries; start again, without --from")
	case errors.Is(err, wal.ErrLocked):
		return withHint(err, "stop the program that writes the log, or use culvert wal copy, which works while it runs")
	case errors.Is(err, fs.ErrExist):
		return withHint(err, "name a directory that does not exist yet: -o NEW")
	}
	return err
}
