package database

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ncruces/go-sqlite3"

	"culvert/cmd/culvert/internal/command"
	"culvert/sink"
	"culvert/source"
	"culvert/sqlite"
)

type sqliteEngine struct{}

// fileNameExtensions end the names of files that are databases without "sqlite:" before them.
var fileNameExtensions = []string{".db", ".sqlite", ".sqlite3"}

// isFileName reports whether an argument names a database file without saying sqlite.
func isFileName(text string) bool {
	return slices.Contains(fileNameExtensions, strings.ToLower(filepath.Ext(text)))
}

func (sqliteEngine) title() string { return "SQLite" }

func (sqliteEngine) parse(scheme, rest string) (address string, is bool) {
	return rest, scheme == "sqlite" && rest != ""
}

func (sqliteEngine) open(_ context.Context, address string) (source.Source, error) {
	return sqlite.OpenSource(address)
}

func (sqliteEngine) openSink(_ context.Context, address string, create bool) (sink.Sink, error) {
	if create {
		return sqlite.CreateSink(address)
	}
	db, err := sqlite.OpenSink(address)
	if errors.Is(err, os.ErrNotExist) {
		return nil, &missingFileError{err}
	}
	return db, err
}

// missingFileError is the error of a file to be filled that is not there.
type missingFileError struct{ error }

func (e *missingFileError) Unwrap() error { return e.error }

func (sqliteEngine) files(address string) []string { return []string{address, address + "-wal"} }

func (sqliteEngine) hints(err error, _ string) []string {
	switch {
	case errors.Is(err, sink.ErrReadOnly), !errors.Is(err, source.ErrUnavailable):
		return nil
	case errors.Is(err, sqlite3.BUSY):
		return []string{"another program has locked the database: try again when it is done"}
	case errors.Is(err, sqlite3.READONLY):
		return nil // it says what to do
	case errors.Is(err, os.ErrPermission):
		return []string{"let this user read and write the file, and write to its directory"}
	case command.Is[*missingFileError](err):
		return []string{"check the path; or have the file made, with its tables: --create without --dry-run"}
	}
	return []string{"check the path; the file must be an SQLite database"}
}

func (sqliteEngine) readOnlyHint(error) string {
	return "let this user write to the file and to its directory"
}
