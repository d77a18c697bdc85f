// Package database opens the SOURCE and the DEST of a command line: databases that are read and filled, each named by a
// URL, by keywords, or by a file.
package database

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ncruces/go-sqlite3"
	"github.com/spf13/cobra"

	"culvert/cmd/culvert/internal/command"
	"culvert/cmd/culvert/internal/ui"
	"culvert/internal/lazyregexp"
	"culvert/mysql"
	"culvert/postgres"
	"culvert/sink"
	"culvert/source"
	"culvert/sqlite"
)

// Database is a SOURCE or DEST of the command line. The zero value is none.
type Database struct {
	Engine  string // "mysql", "postgres" or "sqlite"
	address string
	prompt  *passwordPrompt // or nil, if nobody is asked for a password
}

// sqliteExtensions are those that make a file name a SOURCE by itself.
var sqliteExtensions = []string{".db", ".sqlite", ".sqlite3"}

// Parse understands a SOURCE.
func Parse(text string) (Database, error) {
	scheme, rest, found := strings.Cut(text, ":")
	switch {
	case found && (scheme == "postgres" || scheme == "postgresql") && strings.HasPrefix(rest, "//"):
		return Database{Engine: "postgres", address: text}, nil
	case found && scheme == "postgres":
		return Database{Engine: "postgres", address: rest}, nil
	case found && (scheme == "mysql" || scheme == "mariadb") && (rest == "" || strings.HasPrefix(rest, "//")):
		if rest == "" {
			text = "" // all from the environment
		}
		return Database{Engine: "mysql", address: text}, nil
	case found && scheme == "sqlite" && rest != "":
		return Database{Engine: "sqlite", address: rest}, nil
	case slices.Contains(sqliteExtensions, strings.ToLower(filepath.Ext(text))):
		return Database{Engine: "sqlite", address: text}, nil
	}
	return Database{}, command.WithHint(errNotSource,
		"a database is postgres://USER@HOST/DATABASE, postgres:, mysql://USER@HOST/DATABASE, sqlite:FILE or FILE.db",
		"see: culvert help sources")
}

var errNotSource = command.Usagef("this is not a database")

// notSource says of an argument that it is not a source. What is more than a word may hold a password, and is not
// repeated.
func notSource(text string, err error) error {
	scheme, _, isURL := strings.Cut(text, "://")
	switch {
	case isURL && !strings.ContainsAny(scheme, secretMarks):
		return command.Rephrase(err, fmt.Sprintf("%q is not a database", scheme+"://…"))
	case isURL, strings.ContainsAny(text, secretMarks):
		return err
	}
	err = command.Rephrase(err, fmt.Sprintf("%q is not a database", text))
	if _, statErr := os.Stat(text); statErr == nil {
		return command.WithHint(err, "if it is an SQLite database: "+command.ForShell("sqlite:"+text))
	}
	return err
}

// secretMarks are in every text that holds more than a name.
const secretMarks = ":@= \t\n"

// urlSchemes are those of servers.
var urlSchemes = []string{"postgres", "postgresql", "mysql", "mariadb"}

var passwordKeyword = lazyregexp.New(`(?i)password\s*=`)

// hasPassword reports whether the address of a database holds a password. If in doubt it does.
func (d Database) hasPassword() bool {
	if d.Engine == "sqlite" {
		return false
	}
	if passwordKeyword.MatchString(d.address) || command.URLPassword.MatchString(d.address) {
		return true
	}
	// What else holds "://" is in keywords for PostgreSQL too.
	scheme, _, _ := strings.Cut(d.address, "://")
	if !slices.Contains(urlSchemes, scheme) {
		return false
	}
	u, err := url.Parse(d.address)
	if err != nil {
		return true
	}
	_, set := u.User.Password()
	for key := range u.Query() {
		set = set || passwordKeyword.MatchString(key+"=")
	}
	return set
}

// Open opens the database. The user may be asked for a password.
func (d Database) Open(ctx context.Context) (source.Source, error) {
	return connect(ctx, d, func(address string) (source.Source, error) {
		switch d.Engine {
		case "sqlite":
			return sqlite.OpenSource(address)
		case "mysql":
			return mysql.OpenSource(ctx, address)
		}
		return postgres.OpenSource(ctx, address)
	})
}

// OpenSink opens the database to fill its tables. With create, the file of an SQLite database need not exist. The user
// may be asked for a password.
func (d Database) OpenSink(ctx context.Context, create bool) (sink.Sink, error) {
	return connect(ctx, d, func(address string) (sink.Sink, error) {
		switch d.Engine {
		case "sqlite":
			open := sqlite.OpenSink
			if create {
				open = sqlite.CreateSink
			}
			return open(address)
		case "mysql":
			return mysql.OpenSink(ctx, address)
		}
		return postgres.OpenSink(ctx, address)
	})
}

// Join opens the database and joins a snapshot. Only PostgreSQL has snapshots that others can join.
func (d Database) Join(ctx context.Context, snapshot source.Snapshot) (source.Source, error) {
	if d.Engine != "postgres" {
		return nil, d.NotShared()
	}
	return connect(ctx, d, func(address string) (source.Source, error) {
		return postgres.Join(ctx, address, snapshot)
	})
}

// NotShared is the error of a database whose snapshot other sessions cannot join, or nil.
func (d Database) NotShared() error {
	if d.Engine == "postgres" {
		return nil
	}
	names := map[string]string{"mysql": "MySQL", "sqlite": "SQLite"}
	return command.WithHint(command.Usagef("several sessions cannot share a snapshot of %s", names[d.Engine]),
		"leave out --workers, --queue and --snapshot: culvert export reads it in one session")
}

// environment leads to what an address may leave out.
const environment = "see: culvert help environment"

// hintsOf says what to try after an error of a server that tells more than that it is one, or nil.
func (d Database) hintsOf(err error) []string {
	switch d.Engine {
	case "postgres":
		return d.hintsOfPostgres(err)
	case "mysql":
		if refused, is := errors.AsType[*mysql.ConnectError](err); is {
			return hintsOfMySQL(refused)
		}
	}
	return nil
}

// hintsOfMySQL says what to try if a server of MySQL or MariaDB has refused a connection, or nil.
func hintsOfMySQL(refused *mysql.ConnectError) []string {
	const deniedDatabase, deniedUser, unknownDatabase = 1044, 1045, 1049
	switch mysql.ErrorNumber(refused) {
	case deniedDatabase:
		return []string{"name another database, or have an administrator GRANT rights in this one to the user"}
	case deniedUser:
		if refused.NoPassword {
			return []string{
				"no password was found: set MYSQL_PWD, or put password = PASSWORD below [client] in ~/.my.cnf",
				environment,
			}
		}
		return []string{"check the user and the password", environment}
	case unknownDatabase:
		return []string{"name another database, or make it: CREATE DATABASE " + refused.Database}
	}
	return nil
}

// Explain says what to try if the database cannot be reached.
func (d Database) Explain(err error) error {
	if hints := d.hintsOf(err); hints != nil {
		return command.WithHint(err, hints...)
	}
	switch {
	case errors.Is(err, sink.ErrReadOnly):
		return command.WithHint(err, d.hintOfReadOnly(err))
	case !errors.Is(err, source.ErrUnavailable):
		return err
	case d.Engine != "sqlite":
		return command.WithHint(err, "check that the server runs, and that address, user and password are right",
			environment)
	case errors.Is(err, sqlite3.BUSY):
		return command.WithHint(err, "another program has locked the database: try again when it is done")
	case errors.Is(err, sqlite3.READONLY):
		return err // it says what to do
	case errors.Is(err, os.ErrPermission):
		return command.WithHint(err, "let this user read and write the file, and write to its directory")
	}
	return command.WithHint(err, "check the path; the file must be an SQLite database")
}

// hintOfReadOnly says what to try if a database takes no writes.
func (d Database) hintOfReadOnly(err error) string {
	switch {
	case d.Engine == "sqlite":
		return "let this user write to the file and to its directory"
	case d.Engine == "mysql":
		return "load into the primary; or have an administrator allow writes: SET GLOBAL read_only = OFF"
	case strings.Contains(err.Error(), "standby"):
		return "load into its primary"
	}
	return "to write all the same: export PGOPTIONS='-c default_transaction_read_only=off'"
}

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
	switch d.Engine {
	case "sqlite":
		files = append(files, d.address, d.address+"-wal")
	case "mysql":
		files = append(files, mysql.Files(d.address)...)
	}
	return files
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
	if d.hasPassword() && !f.insecure {
		file := "~/.pgpass or PGPASSFILE, or a service file"
		if d.Engine == "mysql" {
			file = "the option file ~/.my.cnf"
		}
		return Database{},
			command.WithHint(command.Usagef("there is a password on the command line, where others can see it"),
				slices.Concat([]string{"put it into " + file + "; see: culvert help environment"}, hints,
					[]string{"to allow it anyway: --insecure-dsn"})...)
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

// OutsideSnapshot says that the snapshot of a source does not hold a table, or the rows of a query, whose name is "":
// see [source.PartialSnapshotter].
func OutsideSnapshot(table string) string {
	if table == "" {
		return "the query reads tables that are not in the snapshot, since their storage engine has none, or they " +
			"are foreign: their rows are those of the time at which each was read"
	}
	return fmt.Sprintf("table %q is not in the snapshot, since its storage engine has none, or it reads foreign "+
		"tables: its rows are those of the time at which each was read", table)
}
