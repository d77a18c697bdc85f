// Package dbfile opens SQLite files for their source and their sink, with the settings of the sqlite3 program, and with
// its modules for virtual tables: FTS5, R*Tree and Geopoly.
//
// The driver's build of SQLite has other defaults: it enforces foreign keys, which lets a load delete rows of other
// tables, and makes tables that refer to each other impossible to load; it takes "x" for a name even in a CHECK, an
// index, a view or a trigger that was made with "x" as a text; it does not trust functions in a schema; and it does not
// sync commits to a WAL.
package dbfile

import (
	"context"
	"errors"
	"fmt"
	"math/bits"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"github.com/ncruces/go-sqlite3"
	"github.com/ncruces/go-sqlite3/ext/fts5"
	"github.com/ncruces/go-sqlite3/ext/rtree"
)

// MaxMemory is the address space of a connection, which is only reserved until a value needs it. The driver's default
// of 256 MB is too small for values of up to 1 GB, which SQLite allows; it can address 4 GiB.
const MaxMemory = 4 << 30

// Restoring and RestoringLedger are the tables in which the load of a whole database keeps what it has done until it
// ends. They are no part of the database.
const (
	Restoring       = "culvert_restore"
	RestoringLedger = "culvert_restore_ledger"
)

// Settings are the settings of a connection that need the file: a locked one delays them. They cannot be changed in a
// transaction. One that only reads does not need them.
const Settings = "PRAGMA synchronous = FULL"

// stock are the settings of the sqlite3 program that the driver's build of SQLite lacks.
var stock = []struct {
	of    sqlite3.DBConfig
	value bool
}{
	{sqlite3.DBCONFIG_ENABLE_FKEY, false},
	{sqlite3.DBCONFIG_DQS_DDL, true},
	{sqlite3.DBCONFIG_DQS_DML, true},
	{sqlite3.DBCONFIG_TRUSTED_SCHEMA, true},
}

// File says which file to open, and how.
type File struct {
	Path   string
	Mode   string // ro, rw, or rwc, as in https://sqlite.org/uri.html
	VFS    string // the file system of SQLite, or "" for the usual one
	Memory int64  // the address space in bytes; 0 is [MaxMemory]
}

// Open opens a file. The driver may panic with an error if the file is damaged, or memory is lacking.
func Open(f File) (*sqlite3.Conn, error) {
	// Opening a pipe would block, and a device would look like an empty database.
	if info, err := os.Stat(f.Path); err == nil && !info.Mode().IsRegular() {
		if info.IsDir() {
			return nil, errors.New("it is a directory")
		}
		return nil, errors.New("it is not a regular file")
	}
	uri, err := f.uri()
	if err != nil {
		return nil, err
	}
	ctx := context.Background()
	if bits.UintSize == 64 {
		if f.Memory == 0 {
			f.Memory = MaxMemory
		}
		ctx = sqlite3.WithMaxMemory(ctx, f.Memory)
	}
	conn, err := sqlite3.OpenContext(ctx, uri)
	if err != nil {
		return nil, err
	}
	for _, setting := range stock {
		is, e := conn.Config(setting.of, setting.value)
		if e == nil && is != setting.value {
			e = errors.New("it stays as it was")
		}
		if e != nil && err == nil {
			err = fmt.Errorf("the setting %d of SQLite: %w", setting.of, e)
		}
	}
	for _, register := range []func(*sqlite3.Conn) error{fts5.Register, rtree.Register} {
		if err == nil {
			err = register(conn)
		}
	}
	// Opening reads nothing; the first query shows whether the file is a database. It does not wait for the lock of a
	// writer here, since there is no context to end the wait.
	if err == nil {
		err = conn.Exec("PRAGMA schema_version")
	}
	if err != nil && !errors.Is(err, sqlite3.BUSY) {
		return nil, errors.Join(err, conn.Close())
	}
	return conn, nil
}

// TextRows binds texts to the parameters of a statement, and returns all its rows as texts. NULL is "".
func TextRows(stmt *sqlite3.Stmt, args ...string) (all [][]string, err error) {
	for i, arg := range args {
		if err := stmt.BindText(i+1, arg); err != nil {
			return nil, err
		}
	}
	for stmt.Step() {
		row := make([]string, stmt.ColumnCount())
		for i := range row {
			row[i] = stmt.ColumnText(i)
		}
		all = append(all, row)
	}
	return all, stmt.Err()
}

// uri returns a URI as in https://sqlite.org/uri.html, so that every path, even ":memory:", names a file.
func (f File) uri() (string, error) {
	abs, err := filepath.Abs(f.Path)
	if err != nil {
		return "", err
	}
	abs = (&url.URL{Path: filepath.ToSlash(abs)}).EscapedPath()
	if strings.HasPrefix(abs, "//") {
		abs = "//" + abs // an empty host before the name of a Windows share
	}
	abs = "file:" + abs + "?mode=" + f.Mode
	if f.VFS != "" {
		abs += "&vfs=" + f.VFS
	}
	return abs, nil
}
