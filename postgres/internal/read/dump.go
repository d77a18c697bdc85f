package read

import (
	"context"
	"time"

	"culvert/postgres/internal/pgdump"
	"culvert/source"
)

// dumpTimeout is how long pg_dump waits for a lock. Only tests change it for the first time that it runs.
var dumpTimeout = longDump

const longDump = time.Minute

// dump has pg_dump print the schema, and returns a function that waits for it, and also reports whether it has failed
// after the time that it may wait for a lock. Close ends it.
func (db *DB) dump(ctx context.Context, config pgdump.Config) (wait func() (_ *source.Schema, late bool, _ error)) {
	ctx, cancel := context.WithCancel(ctx)
	before := db.endDump
	ended := make(chan struct{})
	var schema *source.Schema
	var late bool
	var err error
	go func() {
		defer close(ended)
		begun := time.Now()
		schema, err = pgdump.Dump(ctx, db.config, config)
		late = err != nil && ctx.Err() == nil && time.Since(begun) >= config.LockTimeout
	}()
	db.endDump = func() {
		cancel()
		<-ended
		before()
	}
	return func() (*source.Schema, bool, error) {
		<-ended
		return schema, late, err
	}
}

// dumpAgain has pg_dump print the schema when it has waited too long for a lock before, with the error. Somebody may
// have waited to change a table whose lock this DB keeps, and pg_dump behind them: the server cannot see that this DB
// waits for pg_dump. So the locks are released first.
func (db *DB) dumpAgain(ctx context.Context, config pgdump.Config, before error) (*source.Schema, error) {
	if db.renew(ctx) != nil {
		return nil, before
	}
	config.Snapshot, config.LockTimeout = db.snapshot, longDump
	schema, _, err := db.dump(ctx, config)()
	return schema, err
}

// renew has another session read the same snapshot from now on, and ends the first one with all its locks.
func (db *DB) renew(ctx context.Context) error {
	joined, err := join(ctx, db.config, db.shared)
	if err != nil {
		return err
	}
	shared, err := joined.Share(ctx)
	if err != nil {
		joined.session.close()
		return err
	}
	joined.session.own, joined.session.description = db.session.own, db.session.description
	for _, s := range append(db.helpers, db.session) {
		if s != nil {
			s.close()
		}
	}
	db.session, db.helpers, db.reading, db.lastPart, db.limited = joined.session, nil, nil, nil, false
	db.kept, db.keptOf = joined.kept, joined.keptOf
	db.joined, db.shared, db.snapshot = joined.joined, shared, joined.snapshot
	return nil
}
