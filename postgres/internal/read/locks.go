package read

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"culvert/source"
)

// The server has one lock table of a fixed size for all clients. If it is full, the next lock fails, for any client.
// The package comment says how many locks the sessions of a DB hold together, and when they release them. To that end:
//
//   - The planner's locks are undone if it is only asked; see [session.probe].
//   - Several sessions read a table only if its locks, taken by each, fit into what is left of the half.

// mostLocks returns the number of locks that the sessions may hold at a time.
func (db *DB) mostLocks() int64 { return db.session.lockRoom / 2 }

// keepLocks keeps the locks that the lookup of a relation has taken since the savepoint until the transaction ends, if
// there are not too many.
func (db *DB) keepLocks(ctx context.Context, r *relation) error {
	count := int64(1)
	switch {
	case !r.plain:
		held, err := db.session.heldLocks(ctx)
		if err != nil {
			return db.session.failed(ctx, "counting locks", err)
		}
		count = held - db.kept
	case db.keptOf[r.oid] > 0:
		return nil
	}
	if count <= 0 || db.kept+count > db.mostLocks()/2 {
		return nil
	}
	if err := db.session.keep(ctx, ""); err != nil {
		return err
	}
	db.kept += count
	db.keptOf[r.oid] += count
	return nil
}

// keep runs statements and sets the savepoint again, so that all locks and settings last until the transaction ends.
func (s *session) keep(ctx context.Context, sql string) error {
	// A cancellation in between would leave no savepoint.
	bounded, cancel := context.WithTimeout(context.WithoutCancel(ctx), patience)
	defer cancel()
	err := s.conn.Exec(bounded, "RELEASE SAVEPOINT culvert; "+sql+"SAVEPOINT culvert").Close()
	return s.failed(ctx, "keeping locks", err)
}

// A session that has cut a table, or read a part of it, keeps its lock until all parts of all tables are read. A change
// of the table waits for that, and a session that then reads its first part of the table waits for the change. If
// nobody else can read that part, this is a deadlock that the server cannot see, since the first session waits only for
// its program.
//
// So sessions that read parts wait for locks no longer than partTimeout. This leaves time for a change that gives up
// earlier. A session that only cuts waits longer: nobody waits for it. Only tests change the timeout.
var partTimeout = 10 * time.Second

// limitWaits makes the session wait for locks no longer than partTimeout from now on.
func (db *DB) limitWaits(ctx context.Context) error {
	if db.limited {
		return nil
	}
	err := db.session.keep(ctx, fmt.Sprintf("SET LOCAL lock_timeout = %d; ", partTimeout.Milliseconds()))
	db.limited = err == nil
	return err
}

// lockersSQL tells who has a lock on the family of a relation with which nobody can read it, and who waits for one.
const lockersSQL = `
SELECT 'process ' || l.pid || CASE WHEN l.granted THEN ' has locked it' ELSE ' waits to change it' END
FROM pg_catalog.pg_locks l
WHERE l.locktype = 'relation' AND l.mode = 'AccessExclusiveLock' AND l.pid <> pg_catalog.pg_backend_pid()
	AND l.database = (SELECT d.oid FROM pg_catalog.pg_database d WHERE d.datname = pg_catalog.current_database())
	AND l.relation IN (SELECT oid FROM family)
ORDER BY l.granted DESC, l.pid LIMIT 3`

// explainLock adds to an error who keeps a relation locked, if that is the reason and they still do.
func (s *session) explainLock(ctx context.Context, r *relation, err error) error {
	if !errors.Is(err, source.ErrLocked) || s.recover(ctx) != nil {
		return err
	}
	lockers, listErr := s.list(ctx, r.with()+lockersSQL, r.oid)
	if listErr != nil || len(lockers) == 0 {
		return err
	}
	return fmt.Errorf("%w: %s", err, strings.Join(lockers, ", "))
}

// heldLocks counts the locks of the session on tables and indexes, except the system's, whose object identifiers are
// below 16384 (FirstNormalObjectId in the sources).
func (s *session) heldLocks(ctx context.Context) (count int64, err error) {
	found, err := s.query(ctx, 1, `
SELECT pg_catalog.count(*) FROM pg_catalog.pg_locks l
WHERE l.pid = pg_catalog.pg_backend_pid() AND l.locktype = 'relation' AND l.relation::int8 >= 16384`)
	if err == nil {
		err = scanInts(found, &count)
	}
	return count, err
}

// releaseLocks releases the locks and settings of the last rows, in all sessions that have read them.
func (db *DB) releaseLocks(ctx context.Context) error {
	if db.reading == nil || !db.reading.holdsLocks() {
		db.reading = nil
		return db.session.recover(ctx)
	}
	patient, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	var releasing sync.WaitGroup
	for _, part := range db.reading.parts {
		releasing.Go(func() { _ = part.session.release(patient) }) // a lost session shows when it is used again
	}
	err := db.session.release(ctx)
	releasing.Wait()
	if err == nil {
		db.reading = nil
	}
	return err
}
