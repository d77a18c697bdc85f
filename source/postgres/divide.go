package postgres

import (
	"errors"
	"sync/atomic"

	"culvert/source"
)

// tableRows are the rows of a table, which several connections can read.
type tableRows struct {
	csvRows
	db      *DB
	divided atomic.Pointer[ranges] // nil as long as they are not; for Done, which may be called at any time
}

var (
	_ source.Divider = (*tableRows)(nil)
	_ source.Meter   = (*tableRows)(nil)
)

// Divide opens up to n-1 more connections, which read the table together with the first, in ranges of its pages and in
// one snapshot. They stay for the tables that follow, until the [DB] is closed. A small table is not divided.
func (r *tableRows) Divide(n int) ([]source.Rows, error) {
	family, err := r.divisible(n)
	if err != nil {
		return nil, err
	}
	wanted := family.useful(n)
	if wanted == 1 {
		return []source.Rows{r}, nil
	}
	readers := family.readers(n)
	helpers, err := r.db.help(r.ctx, readers-1, r.relation, r.rangeSQL(emptyRange)+" LIMIT 0")
	if len(helpers) == 0 {
		return nil, err
	}
	if err == nil && int64(readers) < wanted {
		err = &source.IndivisibleError{Reason: fewLocks}
	}
	r.ranges = newRanges(family, 1+len(helpers))
	r.divided.Store(r.ranges)
	all := []source.Rows{r}
	for _, s := range helpers {
		part := newRows(r.outer, s, r.name, r.columns, r.sql, r.fields)
		part.relation, part.ranges = r.relation, r.ranges
		r.parts = append(r.parts, part)
		all = append(all, csvRows{part})
	}
	return all, err
}

// Ranges counts the ranges that n readers would take.
func (r *tableRows) Ranges(n int) (int, error) {
	family, err := r.divisible(n)
	if err != nil {
		return 0, err
	}
	return len(family.ranges(n)), nil
}

// Done is known once the rows are divided: the share of the pages whose range has been read.
func (r *tableRows) Done() float64 {
	if ranges := r.divided.Load(); ranges != nil {
		return ranges.done()
	}
	return -1
}

// divisible gives the size of the family, if there are no reasons against its division among n readers that the first
// connection knows.
func (r *tableRows) divisible(n int) (familySize, error) {
	switch {
	case r.err != nil:
		return familySize{}, r.err
	case r.running || r.ranges != nil:
		return familySize{}, errors.New("postgres: Divide of rows that have been read, or divided")
	case r.relation.Limit > 0:
		return familySize{}, &source.IndivisibleError{Reason: "a limit counts the rows of all readers"}
	}
	family, err := r.session.familySize(r.ctx, r.relation)
	if err != nil {
		return familySize{}, err
	}
	family.lockable = (r.db.mostLocks() - r.db.kept + r.db.keptOf[r.relation.oid]) / max(1, family.locks)
	reason := family.indivisible
	switch {
	case reason != "" || !family.worthwhile(n):
	case family.version < firstWithRanges:
		reason = "the server is older than PostgreSQL 14"
	case family.lockable <= 1:
		reason = fewLocks
	default:
		return r.examine(family, n)
	}
	if reason != "" {
		return familySize{}, &source.IndivisibleError{Reason: reason}
	}
	return family, nil
}

// fewLocks is why a family is read by one connection, or by fewer than would be of use.
const fewLocks = "all its tables and indexes would take too many of the locks that the server has " +
	"(max_locks_per_transaction)"

// examine asks what else bears on the ranges of a family that is worth dividing.
func (r *tableRows) examine(f familySize, n int) (familySize, error) {
	var err error
	if f.hasFewPages(n) {
		f.lines, err = r.session.lines(r.ctx, r.relation)
	}
	if err == nil && r.relation.Where != "" && f.useful(n) > 1 {
		err = r.examineCondition(f.ranges(n))
	}
	return f, err
}

// firstWithRanges is the first version of PostgreSQL that reads a range of pages without reading all others.
const firstWithRanges = 140000
