package postgres

import (
	"context"
	"sync"
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
	// A cancellation in between would leave no savepoint.
	bounded, cancel := context.WithTimeout(context.WithoutCancel(ctx), patience)
	defer cancel()
	err := db.session.conn.Exec(bounded, "RELEASE SAVEPOINT culvert; SAVEPOINT culvert").Close()
	if err != nil {
		return db.session.failed(ctx, "keeping locks", err)
	}
	db.kept += count
	db.keptOf[r.oid] += count
	return nil
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
	if db.reading == nil {
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
