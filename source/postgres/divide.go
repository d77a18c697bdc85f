package postgres

import (
	"context"
	"errors"
	"strconv"
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
	wanted := family.readers(n)
	if wanted == 1 {
		return []source.Rows{r}, nil
	}
	helpers, err := r.db.help(r.ctx, wanted-1, r.name, r.rangeSQL(emptyRange)+" LIMIT 0")
	if err != nil {
		return nil, err
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
	return all, nil
}

// Ranges counts the ranges that n readers would take.
func (r *tableRows) Ranges(n int) (int, error) {
	family, err := r.divisible(n)
	if err != nil {
		return 0, err
	}
	readers := family.readers(n)
	if readers == 1 {
		return 1, nil
	}
	count, pages := 0, int64(0)
	ranges := newRanges(family, readers)
	for _, more := ranges.take(&pages); more; _, more = ranges.take(&pages) {
		count++
	}
	return count, nil
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
	case r.relation.limit > 0:
		return familySize{}, &source.IndivisibleError{Reason: "a limit counts the rows of all readers"}
	}
	family, err := r.session.familySize(r.ctx, r.relation)
	if err != nil {
		return familySize{}, err
	}
	reason := family.indivisible
	switch {
	case reason != "" || family.useful(n) <= 1:
	case family.version < firstWithRanges:
		reason = "the server is older than PostgreSQL 14"
	case family.lockable() <= 1:
		reason = "its partitions and their indexes would take too many of the locks that the server has " +
			"(max_locks_per_transaction)"
	}
	if reason != "" {
		return familySize{}, &source.IndivisibleError{Reason: reason}
	}
	return family, nil
}

// firstWithRanges is the first version of PostgreSQL that reads a range of pages without reading all others.
const firstWithRanges = 140000

// familySize is how large a table is together with its children.
type familySize struct {
	largest, total int64  // pages, by the size of the files now, which hold all rows that the transaction can see
	locks          int64  // that a statement takes which names the table: on all tables and their indexes
	lockTable      int64  // how many different ones the server has room for
	indivisible    string // the reason, if it is so
	version        int64  // of the server
}

// familySQL has one row. The access method 2 is heap, the only one of which it is known what its ctids mean. Several
// sessions would see a foreign table in as many snapshots of its server. Where snapshots expire, as up to PostgreSQL 16
// they can, a session that has taken over an old one does not notice: it goes by when it took it over
// (SetTransactionSnapshot in snapmgr.c in the sources).
const familySQL = withFamily + `,
members AS (
	SELECT coalesce(pg_catalog.pg_relation_size(c.oid), 0) / pg_catalog.current_setting('block_size')::int8 AS pages,
		1 + (SELECT pg_catalog.count(*) FROM pg_catalog.pg_index i WHERE i.indrelid = c.oid) AS locks,
		CASE WHEN c.relkind = 'v' THEN 'a view has no pages of its own'
			WHEN c.relkind = 'f' AND c.oid = $1::oid THEN 'a foreign table has no pages here'
			WHEN c.relkind = 'f' THEN 'one of its children is a foreign table'
			WHEN c.relkind <> 'p' AND c.relam NOT IN (0, 2) THEN 'its access method is not heap' END AS indivisible
	FROM family f, LATERAL (SELECT * FROM pg_catalog.pg_class r WHERE r.oid = f.oid OFFSET 0) AS c)
SELECT coalesce(pg_catalog.max(pages), 0), coalesce(pg_catalog.sum(pages), 0),
	coalesce(pg_catalog.sum(locks), 0), pg_catalog.current_setting('max_locks_per_transaction')::int8
		* (pg_catalog.current_setting('max_connections')::int8
		+ pg_catalog.current_setting('max_prepared_transactions')::int8),
	pg_catalog.current_setting('server_version_num'),
	CASE WHEN pg_catalog.current_setting('old_snapshot_threshold', true) <> '-1'
		THEN 'the server lets snapshots expire (old_snapshot_threshold)'
		ELSE coalesce(pg_catalog.max(indivisible), '') END
FROM members`

func (s *session) familySize(ctx context.Context, r *relation) (familySize, error) {
	found, err := s.query(ctx, 6, familySQL, r.oid)
	if err == nil && len(found) != 1 {
		err = errAnswer
	}
	if err != nil {
		return familySize{}, s.failed(ctx, r.String(), err)
	}
	f := familySize{indivisible: string(found[0][5])}
	for i, to := range []*int64{&f.largest, &f.total, &f.locks, &f.lockTable, &f.version} {
		if *to, err = strconv.ParseInt(string(found[0][i]), 10, 64); err != nil {
			return familySize{}, s.failed(ctx, r.String(), errAnswer)
		}
	}
	return f, nil
}

// readers is how many of n shall read the family.
func (f familySize) readers(n int) int { return int(max(1, min(f.useful(n), f.lockable()))) }

// useful is how many of n readers would have something to do. A range takes its pages of all tables at once, so that
// there may be few of them in a large family of small tables.
func (f familySize) useful(n int) int64 {
	return min(int64(n), f.total/rangePages, f.largest/f.leastRange())
}

// lockable is how many readers the server has locks for. Each of them takes those of the whole family, which may be
// thousands. The server has room for twice as many holders as there are different locks (lock.c in its sources), and
// others need some too.
func (f familySize) lockable() int64 { return f.lockTable / 2 / max(1, f.locks) }

// leastRange is the least number of pages in a range: those that are rangePages in all tables together.
func (f familySize) leastRange() int64 { return max(1, f.largest*rangePages/max(1, f.total)) }
