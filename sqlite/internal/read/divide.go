package read

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync/atomic"

	"culvert/source"
)

// tableRows are the rows of a table, which several connections can share.
type tableRows struct{ *rows }

var _ source.Divider = tableRows{}

// division is what readers know that share a table.
type division struct {
	rows    []*rows // of all readers; the first one has divided them
	reading atomic.Int64
}

// leastShared is the number of rowids from which on several connections read a table. Only tests change it.
var leastShared uint64 = 1000

// Divide has up to n connections read the table: those that have begun with the transaction, one for each processor.
// One reads what has no rowid, what an index finds, and small tables and files.
func (r tableRows) Divide(n int) (all []source.Rows, err error) {
	defer r.db.catch(&err)
	others, shared, err := r.divisible(n)
	if err != nil {
		return nil, err
	}
	if len(others) == 0 {
		return []source.Rows{r}, nil
	}
	r.division = &division{rows: []*rows{r.rows}}
	r.division.reading.Store(int64(1 + len(others)))
	r.scan.ranges, r.scan.own = shared, &shared.spans[0]
	all = []source.Rows{r}
	for i, other := range others {
		other.conn.SetInterrupt(r.ctx)
		part := &rows{db: other, ctx: r.ctx, columns: r.columns, told: newTold(r.columns), division: r.division}
		one := *r.scan
		one.db, one.told, one.own, one.small = other, part.told, &shared.spans[1+i], true
		part.scan = &one
		r.division.rows = append(r.division.rows, part)
		all = append(all, part)
	}
	return all, nil
}

// Ranges returns the number of connections that would share the table.
func (r tableRows) Ranges(n int) (_ int, err error) {
	defer r.db.catch(&err)
	others, _, err := r.divisible(n)
	if err != nil {
		return 0, err
	}
	return 1 + len(others), nil
}

// divisible returns the connections that can read the table with the first one, and what they share. There are none if
// more readers would not be useful, and the error says why they cannot read it.
func (r tableRows) divisible(n int) (others []*DB, shared *ranges, err error) {
	switch {
	case r.err != nil:
		return nil, nil, r.err
	case r.read > 0 || r.division != nil || r.scan != nil && (r.scan.stmt != nil || r.scan.done):
		return nil, nil, errors.New("sqlite: Divide of rows that have already been read or divided")
	case n < 2:
		return nil, nil, nil
	case r.db.alone != nil:
		return nil, nil, r.db.alone
	}
	if others = r.db.ready(n - 1); len(others) == 0 {
		return nil, nil, nil
	}
	reason := ""
	switch {
	case r.scan == nil:
		reason = "it has no rowid"
	case r.scan.chosen.Limit > 0:
		reason = "a limit counts the rows of all readers"
	default:
		// Nothing of the rows has been read, so the connection is free.
		r.db.open = nil
		shared, reason, err = r.scan.divisible(r.ctx, r.name, 1+len(others))
		r.db.open = r.rows
	}
	if reason != "" {
		return nil, nil, &source.IndivisibleError{Reason: reason}
	}
	if err != nil || shared == nil {
		return nil, nil, err
	}
	return others, shared, nil
}

// ready returns up to n other connections, without those that have failed.
func (db *DB) ready(n int) (others []*DB) {
	for _, other := range db.others {
		if len(others) < n && other.spent == nil && !other.conn.GetAutocommit() {
			others = append(others, other)
		}
	}
	return others
}

// divisible returns the rowids of a table for a number of readers, or the reason why they cannot share it. It returns
// neither if it is small.
func (s *scan) divisible(ctx context.Context, table string, readers int) (_ *ranges, reason string, err error) {
	rowid, err := s.db.rowid(ctx, table)
	if err != nil || rowid == "" {
		return nil, "it has no rowid", err
	}
	if plan, err := s.plan(ctx); err != nil || plan != "SCAN main."+table {
		return nil, "an index finds its rows", err
	}
	var ends [2]int64
	for i, end := range []string{"min", "max"} {
		found, err := s.db.texts(ctx, "SELECT "+end+"("+rowid+") FROM "+s.from)
		if err != nil || found[0] == "" { // without rows
			return nil, "", err
		}
		if ends[i], err = strconv.ParseInt(found[0], 10, 64); err != nil {
			return nil, "", s.db.fail(ctx, err)
		}
	}
	if uint64(ends[1])-uint64(ends[0]) < leastShared {
		return nil, "", nil
	}
	shared := newRanges(s.from, rowid, ends[0], ends[1], readers)
	ranged := *s
	ranged.ranges = shared
	const inOrder = " USING INTEGER PRIMARY KEY (rowid>? AND rowid<?)"
	if plan, err := ranged.plan(ctx); err != nil || plan != "SEARCH main."+table+inOrder {
		return nil, "SQLite would not read it in the order of its rowid", err
	}
	return shared, "", nil
}

// plan returns how SQLite would go through the table.
func (s *scan) plan(ctx context.Context) (string, error) {
	lines, err := s.db.textRows(ctx, "EXPLAIN QUERY PLAN "+s.sql())
	if err != nil || len(lines) == 0 {
		return "", err
	}
	return lines[0][3], nil
}

// firstAfter returns the least rowid of a row that is larger than one, up to another one.
func (db *DB) firstAfter(ctx context.Context, r *ranges, after, last int64) (rowid int64, found bool, err error) {
	stmt, _, err := db.conn.Prepare(fmt.Sprintf(
		"SELECT %s FROM %s NOT INDEXED WHERE %[1]s > ?1 AND %[1]s <= ?2 ORDER BY %[1]s LIMIT 1", r.rowid, r.table))
	if err != nil {
		return 0, false, db.fail(ctx, err)
	}
	defer finish(stmt)
	if err := errors.Join(stmt.BindInt64(1, after), stmt.BindInt64(2, last)); err != nil {
		return 0, false, db.fail(ctx, err)
	}
	if stmt.Step() {
		return stmt.ColumnInt64(0), true, nil
	}
	if err := stmt.Err(); err != nil {
		return 0, false, db.fail(ctx, err)
	}
	return 0, false, nil
}
