package read

import (
	"errors"
	"sync/atomic"

	"culvert/postgres/internal/sqltext"
	"culvert/source"
)

// tableRows are the rows of a table, which several connections can share.
type tableRows struct {
	csvRows
	db      *DB
	divided atomic.Pointer[ranges] // nil until they are; for Done, which may be called at any time
}

var (
	_ source.Divider = (*tableRows)(nil)
	_ source.Meter   = (*tableRows)(nil)
)

// Divide opens up to n-1 further connections, which share the table with the first, in ranges of pages and in the same
// snapshot. They stay open for later tables, until the [DB] is closed. A small table is not divided.
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
	helpers, err := r.db.help(r.ctx, readers-1, r.relation, r.rangeSQL(sqltext.NoPages)+" LIMIT 0")
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

// Ranges returns the number of ranges that n readers would take.
func (r *tableRows) Ranges(n int) (int, error) {
	family, err := r.divisible(n)
	if err != nil {
		return 0, err
	}
	return len(family.ranges(n)), nil
}

// Done returns the share of pages in ranges that have been read. It is known once the rows are divided.
func (r *tableRows) Done() float64 {
	if ranges := r.divided.Load(); ranges != nil {
		return ranges.done()
	}
	return -1
}

// divisible returns the size of the family, or an error if the first connection knows that n readers cannot share it.
func (r *tableRows) divisible(n int) (familySize, error) {
	switch {
	case r.err != nil:
		return familySize{}, r.err
	case r.running || r.ranges != nil:
		return familySize{}, errors.New("postgres: Divide of rows that have already been read or divided")
	case r.relation.Limit > 0:
		return familySize{}, &source.IndivisibleError{Reason: "a limit counts the rows of all readers"}
	}
	if r.known != nil {
		return *r.relation.family, nil // too small to be divided
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
		reason = tooOld
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

// fewLocks is the reason why a family has one reader, or fewer readers than would be useful.
const fewLocks = "all its tables and indexes would take too many of the locks that the server has " +
	"(max_locks_per_transaction)"

// examine checks a family that is worth dividing for what else affects its ranges.
func (r *tableRows) examine(f familySize, n int) (familySize, error) {
	var err error
	if f.hasFewPages(n) {
		f.lines, err = r.session.lines(r.ctx, r.relation)
	}
	if err == nil && r.relation.Where != "" && f.useful(n) > 1 {
		ranges := f.ranges(n)
		err = r.examineCondition(len(ranges), func(i int) string { return ranges[i] })
	}
	return f, err
}

// firstWithRanges is the first version of PostgreSQL that reads a range of pages without reading the others.
const firstWithRanges = 140000
