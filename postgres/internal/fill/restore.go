package fill

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"culvert/internal/lazyregexp"
	"culvert/postgres/internal/pgdump"
	"culvert/sink"
	"culvert/source"
)

var _ sink.Restorer = (*DB)(nil)

// restoring is the schema in which a restoration keeps what it has done: a row for each statement that comes after the
// rows, one for begun when all those before the rows were run, and one for filled when all rows are there. It is
// dropped at the end. A statement is known by its hash, since a copy that is repeated may find others before it.
const restoring = pgdump.Restoring

// These are recorded like the hashes of statements. The last one is followed by the number of statements before the
// rows that were run, if that took several transactions.
const (
	begun      = "begun"
	filled     = "filled"
	madeBefore = "before "
)

func hashOf(sql string) string {
	sum := sha256.Sum256([]byte(sql))
	return hex.EncodeToString(sum[:])
}

const makeRestoringSQL = `CREATE SCHEMA ` + restoring + `;
COMMENT ON SCHEMA ` + restoring + ` IS 'a load of culvert that has not ended; it is removed when the load ends';
CREATE TABLE ` + restoring + `.statements (load text NOT NULL, hash text NOT NULL, PRIMARY KEY (load, hash))`

// recordSQL records that the statement with the hash $2 of the load $1 was run, and recordAllSQL those of an array.
const (
	recordSQL    = `INSERT INTO ` + restoring + `.statements (load, hash) VALUES ($1, $2)`
	recordAllSQL = `INSERT INTO ` + restoring + `.statements (load, hash)
SELECT $1::pg_catalog.text, hash FROM pg_catalog.unnest($2::pg_catalog.text[]) AS hash`
)

// restoration is a database that is made again.
type restoration struct {
	filling    sink.Filling // of which Redact and LockTimeout count
	db         *DB
	load       string
	statements []source.Statement
	made       int             // of those before the rows
	small      map[string]bool // tables, as pg_dump names them, known after Finish has begun
	done       map[string]bool // by hash
	methods    []string        // the SET LOCAL of the access method of each statement after the rows, or ""
}

// Restores reports whether the schema is one of PostgreSQL.
func (db *DB) Restores(d source.Dialect) bool { return d == source.PostgreSQL }

// Restore runs the statements before the rows in one transaction, or several if there are many. It records there that
// it has, in a schema of its own, culvert_restore.
func (db *DB) Restore(
	ctx context.Context, load string, s *source.Schema, f sink.Filling,
) (_ sink.Restoration, failed error) {
	if !db.Restores(s.Dialect) {
		return nil, fmt.Errorf("postgres: the schema is one of %s", s.Dialect)
	}
	for _, one := range s.Statements {
		if !pgdump.Allowed(one.SQL, one.After) {
			return nil, fmt.Errorf("postgres: the schema has a statement that makes nothing: %s", sink.Shorten(one.SQL))
		}
	}
	r := &restoration{
		filling: f, db: db, load: load, statements: s.Statements, methods: methodsOf(s.Statements),
	}
	isFirst := db.guard == nil
	if err := db.keepOthersOut(ctx, f); err != nil {
		return nil, err
	}
	defer func() {
		db.session.rollback() // which is nothing after a commit
		if failed != nil && isFirst {
			db.release()
		}
	}()
	for {
		if err := db.begin(ctx, f); err != nil {
			return nil, err
		}
		goesOn, err := r.find(ctx)
		if err != nil || goesOn {
			return r, err
		}
		ended, err := r.before(ctx)
		if err == nil {
			err = db.session.commit(ctx, db.config)
		}
		if err != nil || ended {
			return r, err
		}
	}
}

// restoreLock is the number of the advisory lock that a restoration holds until it ends. A transaction holds it, on a
// connection that does nothing else, so the lock also works behind a connection pooler.
const restoreLock = "1129664079"

// keepOthersOut waits until no other restoration works in the database, and keeps others out until release. If no
// connection is left for that, only the tables are locked.
func (db *DB) keepOthersOut(ctx context.Context, f sink.Filling) error {
	if db.guard != nil {
		return nil
	}
	s, err := db.openGuard(ctx, f)
	if s == nil {
		return err
	}
	err = s.exec(ctx, "SELECT pg_catalog.pg_advisory_xact_lock("+restoreLock+")")
	if refused, is := errors.AsType[*pgconn.PgError](err); is && refused.Code == codeLockNotAvailable {
		err = fmt.Errorf("postgres: database %q: %w", db.config.Database, sink.ErrRestoring)
	} else {
		err = s.failed(ctx, "waiting for other loads", err)
	}
	if err != nil {
		s.close()
		return err
	}
	db.guard = s
	return nil
}

// slowest is how long a server that does not keep its clients in a queue may take to begin a transaction.
const slowest = 10 * time.Second

// openGuard begins a transaction on another connection, while the connection of the rows has one too. A pooler may have
// no other connection to the server. Then a guard would keep the rows waiting to the end, so there is none.
func (db *DB) openGuard(ctx context.Context, f sink.Filling) (*session, error) {
	if err := db.begin(ctx, f); err != nil {
		return nil, err
	}
	defer func() { db.session.rollback() }()
	s, err := connect(ctx, db.config)
	if err != nil {
		return nil, ctx.Err()
	}
	limit := f.Timeout()
	if !db.session.isPooled() {
		limit = max(limit, slowest)
	}
	waiting, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	// What waits longer is in the queue of a pooler, which drops a client that leaves, and would not answer a request
	// to cancel.
	leaves := context.AfterFunc(waiting, func() { _ = s.conn.Conn().Close() })
	err = s.begin(ctx, f)
	if inTime := leaves(); err != nil || !inTime {
		s.close()
		return nil, ctx.Err()
	}
	return s, nil
}

// release lets others in.
func (db *DB) release() {
	if db.guard != nil {
		db.guard.close()
		db.guard = nil
	}
}

// find reports whether all statements before the rows were run, and reads what was done.
func (r *restoration) find(ctx context.Context) (bool, error) {
	s := r.db.session
	r.done = map[string]bool{}
	// Of two that begin at the same time, one waits here for the other.
	if err := s.exec(ctx, "SELECT pg_catalog.pg_advisory_xact_lock("+ledgerLock+")"); err != nil {
		return false, s.failed(ctx, "waiting for other loads", err)
	}
	if exists, err := s.knows(ctx, restoring+".statements"); err != nil || !exists {
		return false, err
	}
	result := s.params(ctx, "SELECT load, hash FROM "+restoring+".statements")
	if result.Err != nil {
		return false, s.failed(ctx, "reading "+restoring+".statements", result.Err)
	}
	for _, row := range result.Rows {
		if string(row[0]) != r.load {
			return false, fmt.Errorf("postgres: %w: %s", sink.ErrOtherRestore, row[0])
		}
		r.done[string(row[1])] = true
		if count, is := strings.CutPrefix(string(row[1]), madeBefore); is {
			made, err := strconv.Atoi(count)
			if err != nil {
				return false, errAnswer
			}
			r.made = max(r.made, made)
		}
	}
	return r.done[begun], nil
}

// Ledger returns a ledger in the schema of the restoration.
func (r *restoration) Ledger() *sink.Ledger {
	return &sink.Ledger{Table: restoring + ".ledger", Load: r.load}
}

// name matches a name in SQL, and qualified one that may have a schema.
const (
	name      = `(?:"(?:[^"]|"")*"|[^\s".(]+)`
	qualified = `(` + name + `(?:\.` + name + `)?)`
)

var (
	// ofTable matches the statements that only concern one table, and whose order matters only within it.
	ofTable = lazyregexp.New(`^(?:CREATE (?:UNIQUE )?INDEX ` + name + ` ON (?:ONLY )?` + qualified + `\s|` +
		`ALTER TABLE (?:ONLY )?` + qualified + `\s+(?:ADD CONSTRAINT ` + name + ` (?:PRIMARY KEY|UNIQUE|EXCLUDE)\b|` +
		`CLUSTER ON |REPLICA IDENTITY ))`)

	isComment = lazyregexp.New(`^COMMENT ON `)
	isSetval  = lazyregexp.New(`^SELECT pg_catalog\.setval\(`)

	// isSetting matches the statements that set what those after them depend on, and isMethod those of them that matter
	// after the rows: materialized views get the access method that was set last.
	isSetting = lazyregexp.New(`^SET `)
	isMethod  = lazyregexp.New(`^SET default_table_access_method = `)

	// isLast matches the statements that are run when nothing else is left: an event trigger may forbid all others.
	isLast = lazyregexp.New(`^(?:CREATE|ALTER|COMMENT ON|SECURITY LABEL(?: FOR \S+)? ON) EVENT TRIGGER `)
)

// methodsOf returns the statement that sets the access method of each statement after the rows, for its transaction.
func methodsOf(statements []source.Statement) []string {
	methods := make([]string, len(statements))
	last := ""
	for place, one := range statements {
		if one.After && isMethod.MatchString(one.SQL) {
			last = "SET LOCAL" + strings.TrimPrefix(one.SQL, "SET")
		}
		methods[place] = last
	}
	return methods
}

// steps returns the places of the statements that are to be run after the rows: one step after the other, in each of
// which groups can be run at the same time. Nothing depends on a comment, so all are at the end.
func (r *restoration) steps() (steps [][][]int) {
	var comments []int
	groups := map[string]int{} // of the last step, by table; nil if it has one group
	for place, one := range r.statements {
		switch match := ofTable.FindStringSubmatch(one.SQL); {
		case !one.After || r.done[hashOf(one.SQL)] || isLast.MatchString(one.SQL) || isSetting.MatchString(one.SQL):
		case isComment.MatchString(one.SQL):
			comments = append(comments, place)
		case match == nil && (groups != nil || len(steps) == 0):
			steps, groups = append(steps, [][]int{{place}}), nil
		case match == nil:
			last := steps[len(steps)-1]
			last[0] = append(last[0], place)
		default:
			if groups == nil || len(steps) == 0 {
				steps, groups = append(steps, nil), map[string]int{}
			}
			last := &steps[len(steps)-1]
			table := match[1] + match[2]
			group, known := groups[table]
			if !known {
				group = len(*last)
				groups[table], *last = group, append(*last, nil)
			}
			(*last)[group] = append((*last)[group], place)
		}
	}
	if len(comments) > 0 {
		steps = append(steps, [][]int{comments})
	}
	return steps
}

// Filled reports whether the rows were there before.
func (r *restoration) Filled() bool { return r.done[filled] }

// Abandon does nothing, since the tables have been made.
func (r *restoration) Abandon(context.Context) error { return nil }

// Close lets other loads in.
func (r *restoration) Close() error {
	r.db.release()
	return nil
}

// Finish runs each statement in a transaction of its own, or with a few others that take no time, in which it is
// recorded. Indexes and keys of several tables are made at the same time.
func (r *restoration) Finish(ctx context.Context, n int) (err error) {
	if err := r.db.begin(ctx, r.filling); err != nil { // to look whether the session still stands
		return err
	}
	if !r.Filled() {
		// Another process may load the same.
		if err := r.db.session.params(ctx, recordSQL+" ON CONFLICT DO NOTHING", r.load, filled).Err; err != nil {
			return r.db.session.failed(ctx, "recording that the rows are there", err)
		}
		if err := r.db.session.commit(ctx, r.db.config); err != nil {
			return err
		}
	}
	if err := r.measure(ctx); err != nil {
		return err
	}
	sessions := []*session{r.db.session}
	defer func() {
		for _, s := range sessions[1:] {
			s.close()
		}
	}()
	var failed []sink.StatementError
	for _, groups := range r.steps() {
		for len(sessions) < min(n, len(groups)) {
			s, err := connect(ctx, r.db.config)
			if err != nil {
				break // with fewer, it only takes longer
			}
			s.redact, s.timeout = r.filling.Redact, r.filling.Timeout()
			sessions = append(sessions, s)
		}
		some, err := r.step(ctx, sessions, groups)
		if err != nil {
			return err
		}
		failed = append(failed, some...)
	}
	if len(failed) > 0 {
		return &sink.StatementsError{Failed: failed}
	}
	return r.forget(ctx)
}

// measure finds the small tables.
func (r *restoration) measure(ctx context.Context) error {
	if err := r.db.begin(ctx, r.filling); err != nil {
		return err
	}
	defer r.db.session.rollback()
	found, err := r.db.session.query(ctx, 1, smallSQL)
	if err != nil {
		return r.db.session.failed(ctx, "looking for small tables", err)
	}
	r.small = firstOf(found)
	return nil
}

// forget makes the event triggers, and drops the schema of the restoration in the same transaction. They do not fire
// for each other.
func (r *restoration) forget(ctx context.Context) error {
	if err := r.db.begin(ctx, r.filling); err != nil {
		return err
	}
	s := r.db.session
	defer s.rollback()
	if err := s.exec(ctx, pgdump.Settings+"DROP SCHEMA "+restoring+" CASCADE"); err != nil {
		return s.failed(ctx, "dropping the schema "+restoring, err)
	}
	var failed []sink.StatementError
	for place, one := range r.statements {
		if !one.After || !isLast.MatchString(one.SQL) {
			continue
		}
		if err := s.exec(ctx, "SAVEPOINT event_trigger"); err != nil {
			return s.failed(ctx, "making the event triggers", err)
		}
		err := s.params(ctx, one.SQL).Err
		if err == nil {
			continue
		}
		failed = append(failed, r.statementError(ctx, s, place, err))
		if err := s.exec(ctx, "ROLLBACK TO event_trigger"); err != nil {
			return s.failed(ctx, "making the event triggers", err)
		}
	}
	if len(failed) > 0 {
		return &sink.StatementsError{Failed: failed}
	}
	return s.commit(ctx, r.db.config)
}
