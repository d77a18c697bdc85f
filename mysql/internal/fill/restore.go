package fill

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"

	"culvert/mysql/internal/catalog"
	"culvert/mysql/internal/wire"
	"culvert/sink"
	"culvert/source"
)

var _ sink.Restorer = (*DB)(nil)

// restoring is the table in which a restoration keeps what it has done, beside its ledger. Both are dropped at the end.
// The server commits each statement of a schema by itself, so the table first says that a statement is begun, and with
// the next one that it is done. A statement that was begun, and is refused since what it makes exists, was done before
// this process was killed.
const (
	restoring       = catalog.Restoring
	restoringLedger = catalog.RestoringLedger
)

// The table has a state for each statement by its hash, since the schema of a copy can have changed when it goes on. It
// also has these keys: of the load, of the collation that the database had, and of the rows, which are done when all
// are there.
const (
	ofLoad      = "load"
	ofCollation = "collation"
	ofRows      = "rows"

	begun  = "begun"
	done   = "done"
	failed = "failed"
)

const makeRestoringSQL = "CREATE TABLE " + restoring + " (statement varchar(32) NOT NULL PRIMARY KEY, " +
	"state varchar(128) NOT NULL) ENGINE=InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin " +
	"COMMENT='a load of culvert that has not ended; it is removed when the load ends'"

// restoration is a database that is made again.
type restoration struct {
	filling   sink.Filling // of which Redact and LockTimeout count
	db        *DB
	ctx       context.Context
	load      string
	isNew     bool // began with this process
	steps     []step
	states    map[string]string
	changed   []string // the statements whose state is not in the table yet
	collation string   // of the database, as it was
	now       settings // of the session
}

// Restores reports whether the schema is one of the system of the server: MySQL, or MariaDB. The other one of them has
// not all of its statements.
func (db *DB) Restores(d source.Dialect) bool { return d == db.dialect() }

// Restore runs the statements before the rows, which make sequences. If one fails, it drops the others.
func (db *DB) Restore(
	ctx context.Context, load string, s *source.Schema, f sink.Filling,
) (sink.Restoration, error) {
	if !db.Restores(s.Dialect) {
		return nil, fmt.Errorf("mysql: the schema is one of %s", s.Dialect)
	}
	r := &restoration{filling: f, db: db, load: load}
	var err error
	if r.steps, err = stepsOf(s.Statements); err != nil {
		return nil, err
	}
	if err := db.ready(ctx, f); err != nil {
		return nil, err
	}
	if db.conn.Database == "" {
		return nil, errors.New("mysql: no database is opened in which the schema could be made")
	}
	if err := db.mayWrite(ctx); err != nil {
		return nil, err
	}
	isFirst := db.guard != db.conn
	if err := r.keepOthersOut(ctx); err != nil {
		return nil, err
	}
	err = r.alone(ctx, func() error {
		isNew, err := r.find()
		if r.isNew = isNew; err == nil && isNew {
			err = r.begin()
		}
		if err == nil {
			err = r.run(false)
		}
		if _, refused := errors.AsType[*sink.StatementsError](err); refused {
			err = errors.Join(err, r.undo())
		}
		return err
	})
	if err != nil && isFirst {
		err = errors.Join(err, r.Close())
	}
	if err != nil {
		return nil, err // a nil *restoration would be a Restoration
	}
	return r, nil
}

// Ledger returns a ledger beside the table of the restoration.
func (r *restoration) Ledger() *sink.Ledger {
	return &sink.Ledger{Table: restoringLedger, Load: r.load}
}

// Filled reports whether the rows were there before.
func (r *restoration) Filled() bool { return r.states[ofRows] == done }

// Finish runs the statements after the rows, one after the other. Those that fail are tried again as long as another
// one succeeds, since one may need what a later one makes.
func (r *restoration) Finish(ctx context.Context, _ int) error {
	if err := r.db.ready(ctx, r.filling); err != nil {
		return err
	}
	return r.alone(ctx, func() error {
		if _, err := r.find(); err != nil {
			return err
		}
		r.change(ofRows, done)
		if err := r.record(""); err != nil {
			return err
		}
		if err := r.run(true); err != nil {
			return err
		}
		return r.forget()
	})
}

// lock returns the name of a lock of the database, as SQL.
func (r *restoration) lock(purpose string) string {
	sum := sha256.Sum256([]byte(r.db.conn.Database))
	return "'culvert " + purpose + " " + hex.EncodeToString(sum[:20]) + "'"
}

// keepOthersOut waits until no other restoration works in the database, and keeps others out until Close, or until
// the connection ends.
func (r *restoration) keepOthersOut(ctx context.Context) error {
	conn := r.db.conn
	if r.db.guard == conn {
		return nil
	}
	found, err := conn.Query(ctx, 1, fmt.Sprintf("SELECT GET_LOCK(%s, %.0f)", r.lock("rows"),
		r.filling.Timeout().Seconds()))
	switch {
	case err != nil:
		return r.db.failed(ctx, "locking the database", err)
	case len(found) != 1:
		return wire.ErrAnswer
	case found[0][0] != "1":
		return fmt.Errorf("mysql: database %q: %w", conn.Database, sink.ErrRestoring)
	}
	r.db.guard = conn
	return nil
}

// Close lets other loads in.
func (r *restoration) Close() error {
	conn := r.db.guard
	r.db.guard = nil
	if conn == nil || conn.Gone {
		return nil
	}
	ctx := context.WithoutCancel(r.ctx)
	return r.db.failed(ctx, "setting up the session", conn.Exec(ctx, "DO RELEASE_LOCK("+r.lock("rows")+")"))
}

// alone does something while no other load makes the database, with the settings of the statements. One that was killed
// may still be there for a moment.
func (r *restoration) alone(ctx context.Context, do func() error) error {
	r.ctx = ctx
	conn := r.db.conn
	lock := r.lock("restore")
	found, err := conn.Query(ctx, 1, fmt.Sprintf("SELECT GET_LOCK(%s, %.0f)", lock, r.filling.Timeout().Seconds()))
	if err == nil && len(found) != 1 {
		err = wire.ErrAnswer
	}
	if err != nil {
		return r.failed("locking the database", err)
	}
	if found[0][0] != "1" {
		return fmt.Errorf("mysql: database %q: %w", conn.Database, sink.ErrRestoring)
	}
	r.now = settings{}
	err = do()
	// If the connection is gone, the server frees the lock.
	after := context.WithoutCancel(ctx)
	for _, sql := range append(session{}.sql(conn.IsMariaDB), "DO RELEASE_LOCK("+lock+")") {
		if !conn.Gone {
			err = errors.Join(err, r.db.failed(after, "setting up the session", conn.Exec(after, sql)))
		}
	}
	return err
}

func (r *restoration) failed(doing string, err error) error { return r.db.failed(r.ctx, doing, err) }

// find reads what was done, and reports whether nothing was.
func (r *restoration) find() (isNew bool, err error) {
	r.states = map[string]string{}
	found, err := r.db.conn.Query(r.ctx, 2, "SELECT statement, state FROM "+restoring)
	if refused := wire.Refused(err); refused != nil && refused.Number == codeNoSuchTable {
		return true, nil
	}
	if err != nil {
		return false, r.failed("reading the table "+restoring, err)
	}
	for _, row := range found {
		r.states[row[0]] = row[1]
	}
	r.collation = r.states[ofCollation]
	other := r.states[ofLoad]
	if other != "" && other != r.load {
		return false, fmt.Errorf("mysql: database %q: %w: %s; end it, or begin with another database",
			r.db.conn.Database, sink.ErrOtherRestore, other)
	}
	return other == "", nil // also with the table, if it was killed between these two
}

// begin makes the table.
func (r *restoration) begin() error {
	found, err := r.db.conn.Query(r.ctx, 1, "SELECT @@collation_database")
	if err == nil && len(found) != 1 {
		err = wire.ErrAnswer
	}
	if err == nil {
		r.collation = found[0][0]
		err = r.db.conn.Exec(r.ctx, makeRestoringSQL)
		if refused := wire.Refused(err); refused != nil && refused.Number == codeTableExists {
			err = nil
		}
	}
	if err == nil {
		err = r.db.conn.Run(r.ctx, "INSERT INTO "+restoring+" VALUES (?, ?), (?, ?)",
			ofLoad, r.load, ofCollation, r.collation)
	}
	return r.failed("making the table "+restoring, err)
}

// run runs the statements before or after the rows that are not done. Whatever becomes of them, the database has its
// collation again.
func (r *restoration) run(after bool) (err error) {
	defer func() { err = errors.Join(err, r.restoreCollation()) }()
	var steps []step
	for _, s := range r.steps {
		if s.after == after && r.states[s.key] != done {
			steps = append(steps, s)
		}
	}
	var refused []sink.StatementError
	for more := true; more; more = after && 0 < len(refused) && len(refused) < len(steps) {
		if refused != nil {
			steps = slices.DeleteFunc(steps, func(s step) bool { return r.states[s.key] == done })
		}
		refused = nil
		for _, s := range steps {
			why, err := r.runOne(s)
			if err != nil {
				return err
			}
			if why == nil {
				continue
			}
			refused = append(refused, sink.StatementError{SQL: s.sql, Err: why})
			if !after {
				break
			}
		}
	}
	if err := r.record(""); err != nil {
		return err
	}
	if len(refused) > 0 {
		return &sink.StatementsError{Before: !after, Failed: refused}
	}
	return nil
}

// runOne runs a statement. The first error is that of a statement that the server has refused.
func (r *restoration) runOne(s step) (refused, err error) {
	wasBegun := r.states[s.key] == begun
	if err := r.record(s.key); err != nil {
		return nil, err
	}
	err = r.set(s.with)
	if err == nil {
		err = r.db.conn.Exec(r.ctx, s.sql)
	}
	is := wire.Refused(err)
	switch {
	case is != nil && wasBegun && slices.Contains(alreadyThere, int(is.Number)):
		err = nil
	case is != nil && r.ctx.Err() == nil:
		r.change(s.key, failed)
		return r.failed("making the database", err), nil
	}
	if err != nil {
		return nil, r.failed("making the database", err)
	}
	r.change(s.key, done)
	return nil, nil
}

// alreadyThere are the errors of what exists: ER_TABLE_EXISTS_ERROR, ER_SP_ALREADY_EXISTS, ER_TRG_ALREADY_EXISTS and
// ER_EVENT_ALREADY_EXISTS.
var alreadyThere = []int{codeTableExists, 1304, 1359, 1537}

func (r *restoration) change(key, state string) {
	r.states[key] = state
	r.changed = append(r.changed, key)
}

// record writes the states that have changed, and that the next statement is begun, if there is one.
func (r *restoration) record(next string) error {
	if next != "" {
		r.change(next, begun)
	}
	if len(r.changed) == 0 {
		return nil
	}
	sql, values := "REPLACE INTO "+restoring+" VALUES ", []string(nil)
	for i, key := range r.changed {
		if i > 0 {
			sql += ", "
		}
		sql += "(?, ?)"
		values = append(values, key, r.states[key])
	}
	if err := r.db.conn.Run(r.ctx, sql, values...); err != nil {
		return r.failed("recording what was made", err)
	}
	r.changed = nil
	return nil
}

// set makes the settings of a statement. New routines take the collation of the database, which is altered for them.
func (r *restoration) set(with settings) error {
	if with.session != r.now.session {
		r.now.session = session{client: "unknown"} // some are made even if others are refused
		for _, sql := range with.session.sql(r.db.conn.IsMariaDB) {
			if err := r.db.conn.Exec(r.ctx, sql); err != nil {
				return err
			}
		}
		r.now.session = with.session
	}
	if wanted := cmp.Or(with.database, r.collation); wanted != cmp.Or(r.now.database, r.collation) {
		if err := r.alter(wanted); err != nil {
			return err
		}
	}
	return nil
}

func (r *restoration) alter(collation string) error {
	err := r.db.conn.Exec(r.ctx, alterSQL(r.db.conn.Database, collation))
	if wire.Refused(err) == nil { // it may be altered even if the answer is lost
		r.now.database = collation
	}
	return err
}

// restoreCollation gives the database the collation that it had, which an earlier process may have altered too. The end
// of the context does not keep it from that. If the connection is gone, another one does it.
func (r *restoration) restoreCollation() (err error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(r.ctx), grace)
	defer cancel()
	conn := r.db.conn
	if conn.Gone {
		if cmp.Or(r.now.database, r.collation) == r.collation {
			return nil
		}
		if conn, err = conn.After(ctx); err != nil {
			return fmt.Errorf("mysql: database %q keeps another collation until the load goes on: %w",
				r.db.conn.Database, err)
		}
		defer conn.Close()
	}
	found, err := conn.Query(ctx, 1,
		"SELECT DEFAULT_COLLATION_NAME FROM information_schema.SCHEMATA WHERE SCHEMA_NAME = ?", r.db.conn.Database)
	if err == nil && len(found) != 1 {
		err = wire.ErrAnswer
	}
	if err == nil && r.collation != "" && found[0][0] != r.collation {
		err = conn.Exec(ctx, alterSQL(r.db.conn.Database, r.collation))
	}
	if err == nil {
		r.now.database = ""
	}
	return r.db.failed(ctx, "setting the collation of the database", err)
}

func alterSQL(database, collation string) string {
	return "ALTER DATABASE " + catalog.Quote(database) + " COLLATE " + collation
}
