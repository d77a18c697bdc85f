package fill

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"

	"culvert/internal/lazyregexp"
	"culvert/sink"
	"culvert/source"
	"culvert/sqlite/internal/dbfile"
)

var _ sink.Restorer = (*DB)(nil)

// restoring is the table in which a restoration keeps what it has done, beside its ledger: a row for each
// statement, by its hash, one for the load, and one that says that all rows are there. Both are dropped at the end.
const (
	restoring       = dbfile.Restoring
	restoringLedger = dbfile.RestoringLedger

	ofLoad = ""
	ofRows = "rows"

	forgetSQL        = "DROP TABLE IF EXISTS main." + restoringLedger + "; DROP TABLE main." + restoring
	makeRestoringSQL = "CREATE TABLE main." + restoring + " (statement TEXT PRIMARY KEY, load TEXT NOT NULL)"
)

// makes matches the statements that a schema has. Those of FTS5 build an index, and make a setting.
var makes = lazyregexp.New(`^(?:CREATE VIEW |CREATE TRIGGER |CREATE VIRTUAL TABLE |` +
	`PRAGMA (?:user_version|application_id) = -?[0-9]+$|` +
	`INSERT INTO main\."(?:[^"]|"")+" \("(?:[^"]|"")+"\) VALUES \('rebuild'\)$|` +
	`INSERT INTO main\."(?:[^"]|"")+" \("(?:[^"]|"")+", rank\) VALUES \('[a-z_-]+', (?:-?[0-9]+|'(?:[^']|'')*')\)$)`)

// restoration is a database that is made again.
type restoration struct {
	filling    sink.Filling // of which Redact and LockTimeout count
	db         *DB
	ctx        context.Context
	load       string
	statements []source.Statement
	done       map[string]bool // by their hashes
	isNew      bool            // began with this process
}

// Restores reports whether the schema is one of SQLite.
func (db *DB) Restores(d source.Dialect) bool { return d == source.SQLite }

// Restore runs the statements before the rows in one transaction.
func (db *DB) Restore(
	ctx context.Context, load string, s *source.Schema, f sink.Filling,
) (_ sink.Restoration, err error) {
	defer db.catch(&err)
	if !db.Restores(s.Dialect) {
		return nil, fmt.Errorf("sqlite: the schema is one of %s", s.Dialect)
	}
	for _, one := range s.Statements {
		if !makes.MatchString(one.SQL) {
			return nil, fmt.Errorf("sqlite: this makes nothing that a schema of SQLite has: %s", sink.Shorten(one.SQL))
		}
	}
	if err := db.ready(ctx, f); err != nil {
		return nil, err
	}
	if err := db.mayWrite(ctx); err != nil {
		return nil, err
	}
	r := &restoration{filling: f, db: db, load: load, statements: s.Statements}
	err = r.transaction(ctx, func() error {
		isNew, err := r.find()
		if r.isNew = isNew; err == nil && isNew {
			if err = db.exec(ctx, makeRestoringSQL); err == nil {
				err = r.record(ofLoad)
			}
		}
		if err != nil {
			return err
		}
		failed, err := r.run(false)
		if err == nil && len(failed) > 0 {
			err = &sink.StatementsError{Before: true, Failed: failed}
		}
		return err
	})
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
func (r *restoration) Filled() bool { return r.done[hash(ofRows)] }

// Abandon drops what Restore and the ledger have made, unless statements were run or rows are recorded.
func (r *restoration) Abandon(ctx context.Context) (err error) {
	defer r.db.catch(&err)
	if !r.isNew || len(r.done) > 1 { // the load itself is one
		return nil
	}
	if err := r.db.ready(ctx, r.filling); err != nil {
		return err
	}
	return r.transaction(ctx, func() error {
		recorded, err := r.db.textRows(ctx, tablesSQL+" AND name = '"+restoringLedger+"'")
		if err == nil && len(recorded) > 0 {
			recorded, err = r.db.textRows(ctx, "SELECT 1 FROM main."+restoringLedger+" WHERE row_count > 0 LIMIT 1")
		}
		if err != nil || len(recorded) > 0 {
			return err
		}
		return r.db.exec(ctx, forgetSQL)
	})
}

// Close does nothing: loads of the same database wait for each other in each transaction.
func (r *restoration) Close() error { return nil }

// Finish runs the statements after the rows in one transaction. What has succeeded is committed even if others fail.
func (r *restoration) Finish(ctx context.Context, _ int) (err error) {
	defer r.db.catch(&err)
	if err := r.db.ready(ctx, r.filling); err != nil {
		return err
	}
	var failed []sink.StatementError
	err = r.transaction(ctx, func() error {
		if _, err := r.find(); err != nil {
			return err
		}
		if failed, err = r.run(true); err != nil {
			return err
		}
		if len(failed) > 0 && !r.Filled() {
			return r.record(ofRows)
		}
		if len(failed) > 0 {
			return nil
		}
		return r.db.exec(ctx, forgetSQL)
	})
	if err == nil && len(failed) > 0 {
		err = &sink.StatementsError{Failed: failed}
	}
	return err
}

// transaction does something in a transaction, which keeps other writers out.
func (r *restoration) transaction(ctx context.Context, do func() error) error {
	r.ctx = ctx
	if err := r.db.exec(ctx, beginSQL); err != nil {
		return err
	}
	err := do()
	if err == nil {
		err = r.db.exec(ctx, commitSQL)
	}
	if err == nil || r.db.spent != nil || r.db.conn.GetAutocommit() {
		return err
	}
	r.db.conn.SetInterrupt(context.Background())
	return errors.Join(err, r.db.exec(context.Background(), "ROLLBACK"))
}

// find reads what was done, and reports whether no load has begun to make the database.
func (r *restoration) find() (isNew bool, err error) {
	r.done = map[string]bool{}
	tables, err := r.db.textRows(r.ctx, tablesSQL+" AND name = '"+restoring+"'")
	if err != nil || len(tables) == 0 {
		return true, err
	}
	found, err := r.db.textRows(r.ctx, "SELECT statement, load FROM main."+restoring)
	for _, row := range found {
		if row[1] != r.load {
			return false, fmt.Errorf("sqlite: %s: %w: %s; end it, or begin with another file",
				r.db.path, sink.ErrOtherRestore, row[1])
		}
		r.done[row[0]] = true
	}
	return false, err
}

func (r *restoration) record(statement string) error {
	_, err := r.db.textRows(r.ctx, "INSERT INTO main."+restoring+" VALUES (?, ?)", hash(statement), r.load)
	r.done[hash(statement)] = true
	return err
}

// hash is how a statement is recorded: the schema of a copy can have changed when it goes on.
func hash(statement string) string {
	sum := sha256.Sum256([]byte(statement))
	return hex.EncodeToString(sum[:16])
}

// run runs the statements before or after the rows that are not done.
func (r *restoration) run(after bool) (failed []sink.StatementError, err error) {
	for _, s := range r.statements {
		if s.After != after || r.done[hash(s.SQL)] {
			continue
		}
		if r.ctx.Err() != nil {
			return nil, r.db.fail(r.ctx, r.ctx.Err())
		}
		err := r.db.run(r.ctx, s.SQL)
		switch {
		case err == nil:
			if err := r.record(s.SQL); err != nil {
				return nil, err
			}
		case !ofRow(err) || r.ctx.Err() != nil || r.db.conn.GetAutocommit():
			return nil, err
		default:
			failed = append(failed, sink.StatementError{SQL: s.SQL, Err: err})
		}
	}
	return failed, nil
}
