package database

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"

	"github.com/spf13/cobra"

	"culvert/cmd/culvert/internal/command"
	"culvert/cmd/culvert/internal/ui"
)

// Flags say how to reach a database.
type Flags struct {
	File     string // whose first line is the SOURCE, in place of the argument
	argument string // what the usage calls it
	insecure bool
}

// Add adds the flags to a command.
func (f *Flags) Add(cmd *cobra.Command) { f.AddFor(cmd, "SOURCE") }

// AddFor adds the flags to a command whose usage calls the database by another name.
func (f *Flags) AddFor(cmd *cobra.Command, argument string) {
	f.argument = argument
	flags := cmd.Flags()
	flags.Var((*command.NotEmpty)(&f.File), "dsn-file", "read "+argument+" from the first line of `FILE`")
	flags.BoolVar(&f.insecure, "insecure-dsn", false, "allow a password in "+argument)
}

// Inputs are the files that a database is in, and that the flags name.
func (f *Flags) Inputs(d Database) []string {
	var files []string
	if f.File != "" {
		files = append(files, f.File)
	}
	return append(files, d.engine().files(d.address)...)
}

// Parse returns the database that is the first argument, or that a file names, and the arguments after it.
func (f *Flags) Parse(a *command.App, args []string) (Database, []string, error) {
	if f.File != "" {
		text, err := f.read(a)
		if err != nil {
			return Database{}, nil, command.About("reading "+ui.Name(f.argument), err)
		}
		d, err := Parse(text)
		if err != nil {
			err = command.Rephrase(err, fmt.Sprintf("the first line of %q is not a database", f.File))
		}
		d.prompt = &passwordPrompt{app: a}
		return d, args, err
	}
	if len(args) == 0 {
		return Database{}, nil,
			command.WithHint(command.Usagef("%s is missing", f.argument), "see: culvert help sources")
	}
	d, err := f.Named(a, args[0], "or put the whole "+f.argument+" into a file: --dsn-file FILE")
	return d, args[1:], err
}

// Named returns the database that an argument names. The hints are for an argument with a password.
func (f *Flags) Named(a *command.App, argument string, hints ...string) (Database, error) {
	d, err := Parse(argument)
	if err != nil {
		return Database{}, notSource(argument, err)
	}
	if e, is := d.engine().(server); is && e.hasPassword(d.address) && !f.insecure {
		where := "put it into " + e.passwordFile() + "; see: culvert help environment"
		return Database{},
			command.WithHint(command.Usagef("there is a password on the command line, where others can see it"),
				slices.Concat([]string{where}, hints, []string{"to allow it anyway: --insecure-dsn"})...)
	}
	d.prompt = &passwordPrompt{app: a}
	return d, nil
}

// dsnFileLimit bounds what is read of a file: its first line, and empty ones before it.
const dsnFileLimit = 64 << 10

func (f *Flags) read(a *command.App) (string, error) {
	if f.File == "-" {
		stdin, err := a.ClaimStdin("the source")
		if err != nil {
			return "", err
		}
		return command.FirstLine(stdin)
	}
	file, err := os.Open(f.File)
	if err != nil {
		return "", err
	}
	text, err := io.ReadAll(io.LimitReader(file, dsnFileLimit))
	if err = errors.Join(err, file.Close()); err != nil {
		return "", err
	}
	return command.FirstLine(bytes.NewReader(bytes.TrimSpace(text)))
}
