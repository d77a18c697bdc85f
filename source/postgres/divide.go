package postgres

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"culvert/source"
)

// tableRows are the rows of a table, which several connections can read.
type tableRows struct {
	csvRows
	db *DB
}

var _ source.Divider = tableRows{}

// Divide opens up to n-1 more connections, which read the table together with the first, in ranges of its pages and in
// one snapshot. They stay for the tables that follow, until the [DB] is closed. A small table is not divided.
func (r tableRows) Divide(n int) ([]source.Rows, error) {
	family, err := r.divisible(n)
	if err != nil {
		return nil, err
	}
	wanted := int(newRanges(family, n).readers) - 1
	if wanted == 0 {
		return []source.Rows{r}, nil
	}
	helpers, err := r.db.help(r.ctx, wanted)
	if err != nil {
		return nil, err
	}
	r.ranges = newRanges(family, 1+len(helpers))
	all := []source.Rows{r}
	for _, s := range helpers {
		part := newRows(r.outer, s, r.name, r.columns, r.sql, r.fields)
		part.relation, part.ranges = r.relation, r.ranges
		r.parts = append(r.parts, part)
		all = append(all, csvRows{part})
	}
	return all, nil
}

// Ranges counts the ranges that n readers would take.
func (r tableRows) Ranges(n int) (int, error) {
	family, err := r.divisible(n)
	if err != nil {
		return 0, err
	}
	if ranges := newRanges(family, n); ranges.readers > 1 {
		count := 0
		for _, more := ranges.take(); more; _, more = ranges.take() {
			count++
		}
		return count, nil
	}
	return 1, nil
}

// divisible gives the size of the family, if there are no reasons against its division among n readers that the first
// connection knows.
func (r tableRows) divisible(n int) (familySize, error) {
	switch {
	case r.err != nil:
		return familySize{}, r.err
	case r.running || r.ranges != nil:
		return familySize{}, errors.New("postgres: Divide of rows that have been read, or divided")
	case r.relation.limit > 0:
		return familySize{}, &source.IndivisibleError{Reason: "a limit counts the rows of all readers"}
	}
	family, err := r.session.familySize(r.ctx, r.relation)
	switch {
	case err != nil:
		return familySize{}, err
	case family.indivisible != "":
		return familySize{}, &source.IndivisibleError{Reason: family.indivisible}
	case newRanges(family, n).readers > 1 && family.version < firstWithRanges:
		return familySize{}, &source.IndivisibleError{Reason: "the server is older than PostgreSQL 14"}
	}
	return family, nil
}

// firstWithRanges is the first version of PostgreSQL that reads a range of pages without reading all others.
const firstWithRanges = 140000

// familySize is how many pages there are in a table and its children, by the size of their files now, which hold all
// rows that the transaction can see.
type familySize struct {
	largest, total int64
	indivisible    string // the reason, if it is so
	version        int64  // of the server
}

// familySQL has one row. The access method 2 is heap, the only one of which it is known what its ctids mean. Several
// sessions would see a foreign table in as many snapshots of its server.
const familySQL = `
WITH RECURSIVE family(oid) AS (
	SELECT $1::oid UNION SELECT i.inhrelid FROM pg_catalog.pg_inherits i JOIN family f ON f.oid = i.inhparent),
members AS (
	SELECT coalesce(pg_catalog.pg_relation_size(c.oid), 0) / pg_catalog.current_setting('block_size')::int8 AS pages,
		CASE WHEN c.relkind = 'v' THEN 'a view has no pages of its own'
			WHEN c.relkind = 'f' AND c.oid = $1::oid THEN 'a foreign table has no pages here'
			WHEN c.relkind = 'f' THEN 'one of its children is a foreign table'
			WHEN c.relam NOT IN (0, 2) THEN 'its access method is not heap' END AS indivisible
	FROM family f JOIN pg_catalog.pg_class c ON c.oid = f.oid)
SELECT coalesce(pg_catalog.max(pages), 0), coalesce(pg_catalog.sum(pages), 0),
	coalesce(pg_catalog.max(indivisible), ''), pg_catalog.current_setting('server_version_num')
FROM members`

func (s *session) familySize(ctx context.Context, r *relation) (familySize, error) {
	found, err := s.query(ctx, 4, familySQL, r.oid)
	if err == nil && len(found) != 1 {
		err = errAnswer
	}
	if err != nil {
		return familySize{}, s.failed(ctx, r.String(), err)
	}
	f := familySize{indivisible: string(found[0][2])}
	for i, to := range map[int]*int64{0: &f.largest, 1: &f.total, 3: &f.version} {
		if *to, err = strconv.ParseInt(string(found[0][i]), 10, 64); err != nil {
			return familySize{}, s.failed(ctx, r.String(), errAnswer)
		}
	}
	return f, nil
}

// patience is how long one more connection may take. A pooler that has none left lets it wait for minutes. Only tests
// change it.
var patience = 10 * time.Second

// lockTimeout is how long each of several sessions waits for a lock. A change of the table that came between the locks
// of two of them waits for the first, and the second for it: the server cannot see that the first waits for the second
// here, and without an end they would wait for ever. Only tests change it.
var lockTimeout = 30 * time.Second

func lockTimeoutSQL() string {
	return fmt.Sprintf("SET LOCAL lock_timeout = %d;\n", lockTimeout.Milliseconds())
}

// help gives up to n more sessions with the view of the first, and at least one.
func (db *DB) help(ctx context.Context, n int) ([]*session, error) {
	if err := db.exportSnapshot(ctx); err != nil {
		return nil, err
	}
	db.helpers = slices.DeleteFunc(db.helpers, func(s *session) bool {
		lost := s.recover(ctx) != nil || s.conn.IsClosed()
		if lost {
			s.close()
		}
		return lost
	})
	missing := max(0, n-len(db.helpers))
	opened, failures := make([]*session, missing), make([]error, missing)
	patient, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	var opening sync.WaitGroup
	for i := range missing {
		opening.Go(func() { opened[i], failures[i] = db.openHelper(patient) })
	}
	opening.Wait()
	for _, s := range opened {
		if s != nil {
			db.helpers = append(db.helpers, s)
		}
	}
	switch {
	case ctx.Err() != nil:
		return nil, fmt.Errorf("postgres: connecting: %w", ctx.Err())
	case len(db.helpers) == 0:
		return nil, indivisible(failures[0])
	}
	return db.helpers[:min(n, len(db.helpers))], nil
}

// openHelper opens one more session with the snapshot of the first. It must be one of the same server, and all that the
// text of values depends on must be the same, too.
func (db *DB) openHelper(ctx context.Context) (*session, error) {
	s, err := connect(ctx, db.config, db.snapshot)
	if err == nil && s.view != db.session.view {
		s.close()
		return nil, errOtherView
	}
	return s, err
}

var errOtherView = errors.New("postgres: another connection came to another server, or has other settings")

// indivisible says why there is no second connection.
func indivisible(err error) error {
	reason := "the server gives no second connection"
	if refused, ok := errors.AsType[*pgconn.PgError](err); ok && slices.Contains(codesOfSnapshots, refused.Code) ||
		errors.Is(err, errOtherView) {
		reason = "a second connection does not come to the same server with the same settings, " +
			"as behind a connection pooler"
	}
	return &source.IndivisibleError{Reason: reason, Err: err}
}

// codesOfSnapshots are those with which a server refuses the snapshot of another one (snapmgr.c in the sources of
// PostgreSQL; which of them depends on the version).
var codesOfSnapshots = []string{codeInvalidParameterValue, codeUndefinedObject, codeObjectNotInState, codeNotSupported}

// exportSnapshot has the server name the view of the first session.
func (db *DB) exportSnapshot(ctx context.Context) error {
	if db.snapshot != "" {
		return nil
	}
	const doing = "exporting the snapshot"
	// The server exports none from within a savepoint.
	results, err := db.session.conn.Exec(ctx, lockTimeoutSQL()+`RELEASE SAVEPOINT culvert;
SELECT pg_catalog.pg_export_snapshot(); SAVEPOINT culvert`).ReadAll()
	if err != nil {
		return db.session.failed(ctx, doing, err)
	}
	if len(results) != 4 || len(results[2].Rows) != 1 || !haveColumns(results[2].Rows, 1) {
		return db.session.failed(ctx, doing, errAnswer)
	}
	name := string(results[2].Rows[0][0])
	if !isSnapshot(name) {
		return db.session.failed(ctx, doing, errAnswer)
	}
	db.snapshot = name
	return nil
}

// isSnapshot reports whether a text can be the name of a snapshot, which becomes part of a statement.
func isSnapshot(name string) bool {
	return name != "" && strings.Trim(name, "0123456789ABCDEFabcdef-") == ""
}
