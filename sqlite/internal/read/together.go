package read

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"runtime"
	"strconv"
	"time"

	"github.com/ncruces/go-sqlite3"
	"github.com/ncruces/go-sqlite3/vfs"

	"culvert/source"
	"culvert/sqlite/internal/dbfile"
)

const (
	// mostConnections is the most connections that read a file at the same time.
	mostConnections = 16

	// beginPatience is how long a further connection waits for a lock.
	beginPatience = time.Second

	// beginTries is how often all connections begin, if somebody writes meanwhile each time. A try takes far less than
	// a millisecond.
	beginTries = 50
)

// largeFile is the least size of a file, with its WAL, that several connections read. Opening a connection takes a
// millisecond. Only tests change it.
var largeFile int64 = 4 << 20

// processors is the number of connections of which each can have a processor. Only tests change it.
var processors = func() int { return runtime.GOMAXPROCS(0) }

// betweenBegins is called when some of the connections have begun. Only tests change it.
var betweenBegins = func() {}

// beginTogether begins the transaction. For a large file, it also opens further connections, one for each other
// processor, begins their transactions, and proves that all show the same state. If it cannot prove that, the first
// connection goes on alone, and db.alone says why. An error means that the transaction has not begun.
func (db *DB) beginTogether(ctx context.Context) error {
	if db.conn.GetAutocommit() {
		if err := db.conn.Exec("BEGIN"); err != nil {
			return db.fail(ctx, err)
		}
	}
	n := min(processors(), mostConnections) - 1
	if n < 1 || !db.isLarge() {
		return nil // the first read fixes the state
	}
	// A locked file is waited for here.
	if _, err := db.dataVersion(ctx); err != nil {
		return err
	}
	err := db.openOthers(ctx, n)
	if err == nil {
		err = db.beginOthers(ctx)
	}
	if err == nil {
		return nil
	}
	reason, is := errors.AsType[*source.IndivisibleError](err)
	if !is {
		reason = &source.IndivisibleError{Reason: "other connections cannot begin: " + err.Error(), Err: err}
	}
	db.alone = reason
	if closeErr := db.closeOthers(); closeErr != nil || ctx.Err() != nil || db.conn.GetAutocommit() {
		return errors.Join(err, closeErr)
	}
	return nil
}

// isLarge reports whether a file is worth several connections.
func (db *DB) isLarge() bool {
	size := int64(0)
	for _, path := range []string{db.path, db.path + "-wal"} {
		if info, err := os.Stat(path); err == nil {
			size += info.Size()
		}
	}
	return size >= largeFile
}

// openOthers opens n further connections to the same file.
func (db *DB) openOthers(ctx context.Context, n int) error {
	own, err := db.fileInfo()
	for range n {
		if err != nil {
			return err
		}
		other := &DB{path: db.path}
		if err := other.connect(dbfile.MaxMemory); err != nil {
			return err
		}
		db.others = append(db.others, other)
		other.conn.SetInterrupt(ctx)
		var opened fs.FileInfo
		if err = other.conn.BusyTimeout(beginPatience); err == nil {
			opened, err = other.fileInfo()
		}
		if err == nil && !os.SameFile(own, opened) {
			err = &source.IndivisibleError{Reason: "another file has its name now"}
		}
	}
	return err
}

// fileInfo describes the file that the connection has open, whatever has its name now.
func (db *DB) fileInfo() (fs.FileInfo, error) {
	file, err := db.conn.FileControl("main", sqlite3.FCNTL_FILE_POINTER)
	if err != nil {
		return nil, err
	}
	for {
		switch f := file.(type) {
		case interface{ Stat() (fs.FileInfo, error) }:
			return f.Stat()
		case vfs.FileUnwrap:
			file = f.Unwrap()
		default:
			return nil, errors.New("the file of the connection is not known")
		}
	}
}

// beginOthers begins the transactions of the other connections, and proves that they show the state of the first one.
//
// Without a WAL, nobody can commit while the first connection has its lock. So those that begin meanwhile show the same
// as the first one, while it keeps its lock (https://sqlite.org/lockingv3.html).
//
// With a WAL, the last of the others is the witness. It reads data_version; then all begin, the witness at the end;
// then it reads data_version again. The number changes when another connection has committed
// (https://sqlite.org/pragma.html#pragma_data_version). If it is the same, all that have begun in between show one
// state. Otherwise all begin again, also the first one, which has read nothing yet.
func (db *DB) beginOthers(ctx context.Context) error {
	found, err := db.pragma(ctx, "journal_mode")
	if err != nil {
		return err
	}
	isWAL := found == "wal"
	witness := db.others[len(db.others)-1]
	for range beginTries {
		before := int64(0)
		if isWAL {
			if before, err = witness.dataVersion(ctx); err != nil {
				return err
			}
			if err := db.leave(ctx); err != nil {
				return err
			}
			if _, err := db.enter(ctx); err != nil {
				return err
			}
		}
		last := int64(0)
		for _, other := range db.others {
			betweenBegins()
			if last, err = other.enter(ctx); err != nil {
				return err
			}
		}
		if isWAL && last == before {
			return nil
		}
		if !isWAL {
			return db.checkLock()
		}
		for _, other := range db.others {
			if err := other.leave(ctx); err != nil {
				return err
			}
		}
	}
	return &source.IndivisibleError{Reason: "others write to it without a pause"}
}

// checkLock returns an error unless the connection has a lock that keeps others from changing the file.
func (db *DB) checkLock() error {
	level, err := db.conn.FileControl("main", sqlite3.FCNTL_LOCKSTATE)
	if err != nil {
		return err
	}
	held, is := level.(vfs.LockLevel)
	if !is || held < vfs.LOCK_SHARED || db.conn.TxnState("main") != sqlite3.TXN_READ {
		return errors.New("the lock of the file is not held")
	}
	return nil
}

// enter begins a transaction, and returns the data_version of its state.
func (db *DB) enter(ctx context.Context) (int64, error) {
	if err := db.conn.Exec("BEGIN"); err != nil {
		return 0, db.fail(ctx, err)
	}
	return db.dataVersion(ctx)
}

// leave ends the transaction.
func (db *DB) leave(ctx context.Context) error {
	if err := db.conn.Exec("ROLLBACK"); err != nil {
		return db.fail(ctx, err)
	}
	return nil
}

// dataVersion returns a number that changes when another connection has changed the file. It reads the file.
func (db *DB) dataVersion(ctx context.Context) (int64, error) {
	text, err := db.pragma(ctx, "data_version")
	if err != nil {
		return 0, err
	}
	return strconv.ParseInt(text, 10, 64)
}

// pragma returns a setting.
func (db *DB) pragma(ctx context.Context, name string) (string, error) {
	stmt, _, err := db.conn.Prepare("PRAGMA " + name)
	if err != nil {
		return "", db.fail(ctx, err)
	}
	defer finish(stmt)
	if stmt.Step() {
		return stmt.ColumnText(0), nil
	}
	if err := stmt.Err(); err != nil {
		return "", db.fail(ctx, err)
	}
	return "", errors.New("sqlite: there is no " + name)
}

// closeOthers closes the other connections.
func (db *DB) closeOthers() error {
	var errs []error
	for _, other := range db.others {
		errs = append(errs, other.Close())
	}
	db.others = nil
	return errors.Join(errs...)
}
