// Package database opens the SOURCE and the DEST of a command line: databases that are read and filled, each named by a
// URL, by keywords, or by a file.
//
// What differs between the systems is in their [engine], a file for each.
package database

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"slices"
	"strings"

	"culvert/cmd/culvert/internal/command"
	"culvert/format"
	"culvert/internal/lazyregexp"
	"culvert/manifest"
	"culvert/sink"
	"culvert/source"
)

// Database is a SOURCE or DEST of the command line. The zero value is none.
type Database struct {
	Engine  string // a key of engines
	address string
	prompt  *passwordPrompt // or nil, if nobody is asked for a password
}

// engines are the database systems, by the names that [Database.Engine] has.
var engines = map[string]engine{"postgres": postgresEngine{}, "mysql": mysqlEngine{}, "sqlite": sqliteEngine{}}

// engine is a database system, as the command line knows it. Addresses are what its parse returns.
type engine interface {
	// title is the name of the system in messages.
	title() string

	// parse understands an argument. The scheme is what is before its first colon; without one, it is "".
	parse(scheme, rest string) (address string, is bool)

	open(ctx context.Context, address string) (source.Source, error)
	openSink(ctx context.Context, address string, create bool) (sink.Sink, error)

	// files returns the files that opening the address reads, so that no output overwrites them.
	files(address string) []string

	// hints says what to try after an error that tells more than that the database cannot be reached, or nil.
	hints(err error, address string) []string

	// readOnlyHint says what to try if the database takes no writes.
	readOnlyHint(err error) string
}

// A joiner is an engine with snapshots that several sessions can read.
type joiner interface {
	join(ctx context.Context, address string, snapshot source.Snapshot) (source.Source, error)
}

// A server is an engine that clients connect to, perhaps with a password.
type server interface {
	// hasPassword reports whether an address holds a password. If in doubt it does.
	hasPassword(address string) bool

	// withPassword returns the address with a password.
	withPassword(address, password string) (string, error)

	// wanted returns who was asked for a password after an error, if nobody has named one.
	wanted(err error) (user, database, server string)

	// passwordFile says where passwords belong.
	passwordFile() string
}

func (d Database) engine() engine { return engines[d.Engine] }

// Parse understands a SOURCE.
func Parse(text string) (Database, error) {
	scheme, rest, found := strings.Cut(text, ":")
	if !found {
		scheme, rest = "", text
	}
	for name, e := range engines {
		if address, is := e.parse(scheme, rest); is {
			return Database{Engine: name, address: address}, nil
		}
	}
	if isFileName(text) {
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

var passwordKeyword = lazyregexp.New(`(?i)password\s*=`)

// hasPassword reports whether the address of a server holds a password. If in doubt it does. In a URL with one of the
// schemes it can stand in more places.
func hasPassword(address string, schemes ...string) bool {
	if passwordKeyword.MatchString(address) || command.URLPassword.MatchString(address) {
		return true
	}
	scheme, _, _ := strings.Cut(address, "://")
	if !slices.Contains(schemes, scheme) {
		return false
	}
	u, err := url.Parse(address)
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
	return connect(ctx, d, func(address string) (source.Source, error) { return d.engine().open(ctx, address) })
}

// OpenSink opens the database to fill its tables. With create, the file of an SQLite database need not exist. The user
// may be asked for a password.
func (d Database) OpenSink(ctx context.Context, create bool) (sink.Sink, error) {
	return connect(ctx, d, func(address string) (sink.Sink, error) { return d.engine().openSink(ctx, address, create) })
}

// Join opens the database and joins a snapshot. Only PostgreSQL has snapshots that others can join.
func (d Database) Join(ctx context.Context, snapshot source.Snapshot) (source.Source, error) {
	joins, can := d.engine().(joiner)
	if !can {
		return nil, d.NotShared()
	}
	return connect(ctx, d, func(address string) (source.Source, error) { return joins.join(ctx, address, snapshot) })
}

// NotShared is the error of a database whose snapshot other sessions cannot join, or nil.
func (d Database) NotShared() error {
	if _, can := d.engine().(joiner); can {
		return nil
	}
	return command.WithHint(
		command.Usagef("several sessions cannot share a snapshot of %s", d.engine().title()),
		"leave out --workers, --queue and --snapshot: culvert export reads it in one session")
}

// environment leads to what an address may leave out.
const environment = "see: culvert help environment"

// Explain says what to try if the database cannot be reached. No database explains nothing.
func (d Database) Explain(err error) error {
	if d.Engine == "" {
		return err
	}
	if hints := d.engine().hints(err, d.address); hints != nil {
		return command.WithHint(err, hints...)
	}
	if errors.Is(err, sink.ErrReadOnly) {
		return command.WithHint(err, d.engine().readOnlyHint(err))
	}
	return err
}

// unavailableHints says what to try if a server cannot be reached, or returns nil.
func unavailableHints(err error) []string {
	if errors.Is(err, sink.ErrReadOnly) || !errors.Is(err, source.ErrUnavailable) {
		return nil
	}
	return []string{"check that the server runs, and that address, user and password are right", environment}
}

// Untold says that the text of columns does not tell the types of all their values: see [source.Untold].
func Untold(table string, columns []string) string {
	return fmt.Sprintf("table %q has values in %q whose type neither the text nor the type of the column tells: they "+
		"would come back with another type, such as a number as a text; culvert copy keeps it", table, columns)
}

// Unfit says how values that did not fit their types were written.
func Unfit(table string, unfit []manifest.Unfit, how format.Lossy) string {
	var columns []string
	for _, one := range unfit {
		columns = append(columns, fmt.Sprintf("%d of %q", one.Values, one.Column))
	}
	became := "are NULL in the file, so it cannot be proved equal to the database"
	if how == format.LossyString {
		became = "are text in the file"
	}
	return fmt.Sprintf("table %q: values that do not fit their type %s: %s", table, became,
		strings.Join(columns, ", "))
}

// OutsideSnapshot says that the snapshot of a source does not hold a table, or the rows of a query, whose name is "":
// see [source.PartialSnapshotter].
func OutsideSnapshot(table string) string {
	if table == "" {
		return "the query reads tables that are not in the snapshot, since their storage engine has none, or they " +
			"are foreign, or its functions may read such tables: their rows are those of the time at which each " +
			"was read"
	}
	return fmt.Sprintf("table %q is not in the snapshot, since its storage engine has none, or it reads foreign "+
		"tables, or its functions may: its rows are those of the time at which each was read", table)
}
