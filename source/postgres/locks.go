package postgres

import (
	"context"
	"sync"
)

// The server keeps the locks of all its clients in one table of a fixed size. A statement locks each table that it
// reads, and when it is planned all indexes of each; whoever needs a lock when there is no room fails, and that may be
// any client. So all sessions of a DB together hold at most half of what the table has room for, except where one
// statement needs more:
//
//   - what the rows of one table or query take is given up before the next is looked up, in all sessions that read them
//   - so is what the planner takes when it is only asked; see [session.probe]
//   - the locks that keep a table as it is, from when it is looked up to the end, are kept while they are at most a
//     quarter of the room; a table that comes later is locked each time it is read
//   - several sessions read a table if its locks, taken by each of them, fit into what is left of the half
//
// Locks on the catalogs of the system, a few dozen in each session, are not counted.

// mostLocks is how many locks the sessions may hold at a time.
func (db *DB) mostLocks() int64 { return db.session.lockRoom / 2 }

// keepLocks lets the locks that were taken since the savepoint, when a relation was looked up, stay until the
// transaction ends, if there are not too many of them.
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
	// To be canceled in between would leave no savepoint.
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

// heldLocks counts the locks of the session on tables and indexes that are not the system's, whose object identifiers
// are below 16384 (FirstNormalObjectId in the sources).
func (s *session) heldLocks(ctx context.Context) (int64, error) {
	found, err := s.query(ctx, 1, `
SELECT pg_catalog.count(*) FROM pg_catalog.pg_locks l
WHERE l.pid = pg_catalog.pg_backend_pid() AND l.locktype = 'relation' AND l.relation::int8 >= 16384`)
	if err != nil {
		return 0, err
	}
	var count int64
	return count, scanInts(found, &count)
}

// releaseLocks gives up what the rows that were given last have locked and set, in all sessions that have read them.
func (db *DB) releaseLocks(ctx context.Context) error {
	if db.open == nil {
		return db.session.recover(ctx)
	}
	patient, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	var releasing sync.WaitGroup
	for _, part := range db.open.parts {
		releasing.Go(func() { _ = part.session.release(patient) }) // what is lost is found out when it is needed again
	}
	err := db.session.release(ctx)
	releasing.Wait()
	if err == nil {
		db.open = nil
	}
	return err
}
