package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/ncruces/go-sqlite3"

	"culvert/internal/cli/command"
	"culvert/source"
	"culvert/source/mysql"
	"culvert/source/postgres"
	"culvert/source/sqlite"
)

// database is a SOURCE of the command line.
type database struct {
	engine  string // "mysql", "postgres" or "sqlite"
	address string
}

// sqliteExtensions are those that make a file name a SOURCE by itself.
var sqliteExtensions = []string{".db", ".sqlite", ".sqlite3"}

// parseSource understands a SOURCE.
func parseSource(text string) (database, error) {
	scheme, rest, found := strings.Cut(text, ":")
	switch {
	case found && (scheme == "postgres" || scheme == "postgresql") && strings.HasPrefix(rest, "//"):
		return database{"postgres", text}, nil
	case found && scheme == "postgres":
		return database{"postgres", rest}, nil
	case found && (scheme == "mysql" || scheme == "mariadb") && (rest == "" || strings.HasPrefix(rest, "//")):
		if rest == "" {
			text = "" // all from the environment
		}
		return database{"mysql", text}, nil
	case found && scheme == "sqlite" && rest != "":
		return database{"sqlite", rest}, nil
	case slices.Contains(sqliteExtensions, strings.ToLower(filepath.Ext(text))):
		return database{"sqlite", text}, nil
	}
	return database{}, command.WithHint(errNotSource,
		"a source is postgres://USER@HOST/DATABASE, postgres:, mysql://USER@HOST/DATABASE, sqlite:FILE or FILE.db",
		"see: culvert export --help")
}

var errNotSource = command.Usagef("this is not a source")

// notSource says of an argument that it is not a source. What is more than a word may hold a password, and is not
// repeated.
func notSource(text string, err error) error {
	scheme, _, isURL := strings.Cut(text, "://")
	switch {
	case isURL && !strings.ContainsAny(scheme, secretMarks):
		return command.Rephrase(err, fmt.Sprintf("%q is not a source", scheme+"://…"))
	case isURL, strings.ContainsAny(text, secretMarks):
		return err
	}
	err = command.Rephrase(err, fmt.Sprintf("%q is not a source", text))
	if _, statErr := os.Stat(text); statErr == nil {
		return command.WithHint(err, "if it is an SQLite database: "+command.ForShell("sqlite:"+text))
	}
	return err
}

// secretMarks are in every text that holds more than a name.
const secretMarks = ":@= \t\n"

// urlSchemes are those of servers.
var urlSchemes = []string{"postgres", "postgresql", "mysql", "mariadb"}

var passwordKeyword = regexp.MustCompile(`(?i)password\s*=`)

// hasPassword reports whether the address of a database holds a password. If in doubt it does.
func (d database) hasPassword() bool {
	if d.engine == "sqlite" {
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

// open opens the database.
func (d database) open(ctx context.Context) (source.Source, error) {
	// A nil pointer must not become a Source that is not nil.
	switch d.engine {
	case "sqlite":
		db, err := sqlite.Open(d.address)
		if err != nil {
			return nil, d.explain(err)
		}
		return db, nil
	case "mysql":
		db, err := mysql.Open(ctx, d.address)
		if err != nil {
			return nil, d.explain(err)
		}
		return db, nil
	}
	db, err := postgres.Open(ctx, d.address)
	if err != nil {
		return nil, d.explain(err)
	}
	return db, nil
}

// explain says what to try if the database cannot be reached.
func (d database) explain(err error) error {
	switch {
	case !errors.Is(err, source.ErrUnavailable):
		return err
	case d.engine != "sqlite":
		return command.WithHint(err, "check that the server runs, and that address, user and password are right",
			"see: culvert help environment")
	case errors.Is(err, sqlite3.BUSY):
		return command.WithHint(err, "another program has locked the database: try again when it is done")
	case errors.Is(err, sqlite3.READONLY):
		return err // it says what to do
	}
	return command.WithHint(err, "check the path; the file must be an SQLite database")
}

// sourceFlags say how to reach a database.
type sourceFlags struct {
	file     string
	insecure bool
}

// inputs are the files that a database is in, and that the flags name.
func (f *sourceFlags) inputs(d database) []string {
	var files []string
	if f.file != "" {
		files = append(files, f.file)
	}
	switch d.engine {
	case "sqlite":
		files = append(files, d.address, d.address+"-wal")
	case "mysql":
		files = append(files, mysql.Files(d.address)...)
	}
	return files
}

// parse returns the database that is the first argument, or that a file names, and the arguments after it.
func (f *sourceFlags) parse(a *command.App, args []string) (database, []string, error) {
	if f.file != "" {
		text, err := f.read(a)
		if err != nil {
			return database{}, nil, command.About("reading the source", err)
		}
		d, err := parseSource(text)
		if err != nil {
			err = command.Rephrase(err, fmt.Sprintf("the first line of %q is not a source", f.file))
		}
		return d, args, err
	}
	if len(args) == 0 {
		return database{}, nil, command.WithHint(command.Usagef("SOURCE is missing"), "see: culvert export --help")
	}
	d, err := parseSource(args[0])
	if err != nil {
		return database{}, nil, notSource(args[0], err)
	}
	if d.hasPassword() && !f.insecure {
		file := "~/.pgpass or PGPASSFILE, or a service file"
		if d.engine == "mysql" {
			file = "the option file ~/.my.cnf"
		}
		return database{}, nil,
			command.WithHint(command.Usagef("there is a password on the command line, where others can see it"),
				"put it into "+file+"; see: culvert help environment",
				"or put the whole SOURCE into a file: --dsn-file FILE",
				"to allow it anyway: --insecure-dsn")
	}
	return d, args[1:], nil
}

// dsnFileLimit bounds what is read of a file: its first line, and empty ones before it.
const dsnFileLimit = 64 << 10

func (f *sourceFlags) read(a *command.App) (string, error) {
	if f.file == "-" {
		stdin, err := a.ClaimStdin("the source")
		if err != nil {
			return "", err
		}
		return command.FirstLine(stdin)
	}
	file, err := os.Open(f.file)
	if err != nil {
		return "", err
	}
	text, err := io.ReadAll(io.LimitReader(file, dsnFileLimit))
	if err = errors.Join(err, file.Close()); err != nil {
		return "", err
	}
	return command.FirstLine(bytes.NewReader(bytes.TrimSpace(text)))
}
