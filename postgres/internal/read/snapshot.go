package read

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"culvert/postgres/internal/wire"
	"culvert/source"
)

// patience is how long opening all further connections may take. A pooler without free connections makes clients wait
// for minutes. Only tests change it.
var patience = 10 * time.Second

// Several sessions take the same locks one after the other. A change of the table that comes between two of them waits
// for the first, and the second waits for the change. If the first then waited for the second here, that would be a
// deadlock that the server cannot see.
//
// So all sessions take their locks before the first row. A session that waits longer than tryTimeout does not take
// part. After that, reading waits for no lock, unless the table gets a child that someone has locked, for which
// lockTimeout is the limit. Only tests change these.
var (
	tryTimeout  = time.Second
	lockTimeout = 30 * time.Second
)

// help returns up to n further sessions with the snapshot of the first one. All sessions, including the first, hold the
// locks of the statement, which reads no row of the table. An [*source.IndivisibleError] says why there are fewer than
// n; the first session is then unchanged.
func (db *DB) help(ctx context.Context, n int, r *relation, sql string) ([]*session, error) {
	patient, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	helpers, err := db.gather(patient, n, r, sql)
	if err != nil && (ctx.Err() != nil || !db.session.inTransaction()) {
		return nil, db.session.failed(ctx, r.String(), errors.Unwrap(err))
	}
	return helpers, err
}

// gather is help with an error that is always an [*source.IndivisibleError].
func (db *DB) gather(ctx context.Context, n int, r *relation, sql string) ([]*session, error) {
	if err := db.shareSnapshot(ctx); err != nil {
		return nil, err
	}
	for len(db.helpers) < n {
		db.helpers = append(db.helpers, nil)
	}
	// With all locks, the first session never waits behind a client that waits for another session.
	if err := db.session.try(ctx, sql); err != nil {
		return nil, refusedTable(err)
	}
	failures := make([]error, n)
	var helping sync.WaitGroup
	for i := range n {
		helping.Go(func() { db.helpers[i], failures[i] = db.helper(ctx, db.helpers[i], r, sql) })
	}
	helping.Wait()
	// Connections that are opened at the same time all count towards a limit, which may then refuse all instead of
	// some.
	for i := range n {
		if tooMany(failures[i]) {
			if db.helpers[i], failures[i] = db.helper(ctx, nil, r, sql); tooMany(failures[i]) {
				break
			}
		}
	}
	var ready []*session
	var missing error
	for i, s := range db.helpers[:n] {
		if failures[i] == nil {
			ready = append(ready, s)
		} else if missing == nil {
			missing = failures[i]
		}
	}
	return ready, missing
}

// helper prepares a session, or a new one if it is nil. It returns nil if the session is lost.
func (db *DB) helper(ctx context.Context, s *session, r *relation, sql string) (*session, error) {
	if s != nil && (s.recover(ctx) != nil || s.conn.IsClosed()) {
		s.close()
		s = nil
	}
	if s == nil {
		var err error
		if s, err = connect(ctx, db.config); err != nil {
			return nil, refused("the server gives no second connection", err)
		}
	}
	if !s.inTransaction() {
		err := s.beginTransaction(ctx, db.snapshot)
		if err == nil && s.view != db.session.view {
			err = errOtherView
		}
		if err != nil {
			s.close()
			return nil, refusedSnapshot(err)
		}
	}
	if r.Where != "" && s.day != db.session.day {
		return s, refused("its condition may name a day, such as 'today', and midnight has passed", nil)
	}
	if err := s.try(ctx, sql); err != nil {
		if s.conn.IsClosed() {
			s.close()
			s = nil
		}
		return s, refusedTable(err)
	}
	return s, nil
}

// shareSnapshot exports the snapshot of the first session for others.
//
// The server cannot export a snapshot within a savepoint, so a failure would end the transaction, and with it the
// snapshot of all tables. So another session tries it first with its own snapshot, which shows whether the user and the
// server can export. That session then becomes the first helper. A session that has joined a snapshot does not try it:
// its user and its server have exported the same one.
func (db *DB) shareSnapshot(ctx context.Context) error {
	if db.snapshot != "" {
		return nil
	}
	if db.joined.Token != "" {
		if err := db.exportSnapshot(ctx); err != nil {
			return refused("the server does not share its snapshot", err)
		}
		return nil
	}
	s, err := connect(ctx, db.config)
	if err != nil {
		return refused("the server gives no second connection", err)
	}
	if err = s.beginTransaction(ctx, ""); err == nil {
		_, err = s.exportSnapshot(ctx)
	}
	if err == nil {
		err = db.exportSnapshot(ctx)
	}
	if err == nil {
		err = s.conn.Exec(ctx, "ROLLBACK").Close()
	}
	if err != nil {
		s.close()
		return refused("the server does not share its snapshot", err)
	}
	db.helpers = []*session{s}
	return nil
}

// exportSnapshot exports the snapshot of the first session, which keeps the locks that it has.
func (db *DB) exportSnapshot(ctx context.Context) error {
	bounded, cancel := context.WithTimeout(context.WithoutCancel(ctx), patience)
	defer cancel()
	var err error
	if db.snapshot, err = db.session.exportSnapshot(bounded); err != nil {
		return err
	}
	held, err := db.session.heldLocks(ctx)
	if err == nil {
		db.kept = held // including those of the table that is to be divided
	}
	return err
}

// exportSnapshot exports the snapshot of a session and returns its name.
func (s *session) exportSnapshot(ctx context.Context) (string, error) {
	results, err := s.conn.Exec(ctx,
		"RELEASE SAVEPOINT culvert; SELECT pg_catalog.pg_export_snapshot(); SAVEPOINT culvert").ReadAll()
	found, err := answerOf(results, err, 1)
	if err == nil && (len(found) != 1 || !isToken(string(found[0][0]))) {
		err = errAnswer
	}
	if err != nil {
		return "", s.failed(ctx, "exporting the snapshot", err)
	}
	return string(found[0][0]), nil
}

// isToken reports whether a text can be the name of an exported snapshot. The name becomes part of a statement.
func isToken(name string) bool {
	return name != "" && len(name) < 64 && strings.Trim(name, "0123456789ABCDEFabcdef-") == ""
}

// try runs a statement that returns no row, and keeps its locks. From then on, the session waits for locks no longer
// than lockTimeout. If the statement fails, the session is unchanged.
func (s *session) try(ctx context.Context, sql string) error {
	err := s.conn.Exec(ctx, fmt.Sprintf(
		"SAVEPOINT culvert_try; SET LOCAL lock_timeout = %d;\n%s;\nSET LOCAL lock_timeout = %d;\n"+
			"RELEASE SAVEPOINT culvert_try", tryTimeout.Milliseconds(), sql, lockTimeout.Milliseconds())).Close()
	if err == nil || s.conn.IsClosed() {
		return err
	}
	undoing, cancel := context.WithTimeout(context.WithoutCancel(ctx), grace)
	defer cancel()
	// If this fails too, the session is no longer in its transaction.
	_ = s.conn.Exec(undoing, "ROLLBACK TO SAVEPOINT culvert_try; RELEASE SAVEPOINT culvert_try").Close()
	return err
}

var errOtherView = errors.New("postgres: a further connection reached another server, or has other settings")

// refused returns the error that several sessions cannot read a table.
func refused(reason string, err error) *source.IndivisibleError {
	if answer, ok := errors.AsType[*pgconn.PgError](err); ok {
		reason += " (" + answer.Message + ")"
	}
	return &source.IndivisibleError{Reason: reason, Err: err}
}

// tooMany reports whether a connection was refused because there are too many.
func tooMany(err error) bool {
	answer, ok := errors.AsType[*pgconn.PgError](err)
	return ok && answer.Code == codeTooManyConnections
}

// refusedSnapshot is the error of a session that could not begin with the snapshot.
func refusedSnapshot(err error) *source.IndivisibleError {
	answer, answered := errors.AsType[*pgconn.PgError](err)
	if errors.Is(err, errOtherView) || answered && !wire.EndsSession(answer) {
		return refused("a second connection does not come to the same server with the same settings, "+
			"as behind a connection pooler", err)
	}
	return refused("the server gives no second connection", err)
}

// refusedTable is the error of a session that could not read a range of a table. Besides locks, the reason can be that
// the user has rights on the columns but not on ctid, or that an extension, such as TimescaleDB for compressed chunks,
// stores rows in its own way.
func refusedTable(err error) *source.IndivisibleError {
	answer, answered := errors.AsType[*pgconn.PgError](err)
	switch {
	case !answered || wire.EndsSession(answer):
		return refused("a connection was lost", err)
	case answer.Code == codeLockNotAvailable, answer.Code == codeQueryCanceled: // by tryTimeout, or by patience
		return refused("someone else has locked it, or waits to change it", err)
	case answer.Code == codeOutOfMemory:
		return refused("the server has too few locks for several connections", err)
	}
	return refused("the server refuses to read it in ranges of pages", err)
}
