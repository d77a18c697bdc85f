package read

import (
	"context"

	"culvert/postgres/internal/wire"
)

// familySize is the size of a table together with its children.
type familySize struct {
	largest, total int64  // pages; the current files hold all rows that the transaction can see
	toast          int64  // pages of values outside the rows (TOAST)
	locks          int64  // that a statement on the table takes: on all tables and their indexes
	indivisible    string // the reason why it cannot be divided, or ""
	version        int64  // of the server
	pageSize       int64  // in bytes

	lockable int64 // the number of readers that may each take these locks
	lines    int64 // the highest line of a row in any page, if pages are divided; otherwise 0
}

// notHeap is the reason that leaves ranges of the primary key; the others leave none.
const notHeap = "its access method is not heap"

// familyMembers continues [relation.with] by the sizes of the members of the family, in pages. The access method 2 is
// heap, the only one whose ctids are known. Several sessions would see a foreign table in different snapshots of its
// server. Up to PostgreSQL 16, snapshots can expire, and a session that has imported an old one does not notice, since
// it counts from the import (SetTransactionSnapshot in snapmgr.c).
const familyMembers = `,
members AS (
	SELECT coalesce(pg_catalog.pg_relation_size(c.oid), 0) / pg_catalog.current_setting('block_size')::int8 AS pages,
		coalesce(pg_catalog.pg_relation_size(c.reltoastrelid), 0)
			/ pg_catalog.current_setting('block_size')::int8 AS toast,
		1 + (SELECT pg_catalog.count(*) FROM pg_catalog.pg_index i WHERE i.indrelid = c.oid) AS locks,
		CASE WHEN c.relkind = 'v' THEN 'a view has no pages of its own'
			WHEN c.relkind = 'f' AND c.oid = $1::oid THEN 'a foreign table has no pages here'
			WHEN c.relkind = 'f' THEN 'one of its children is a foreign table'
			WHEN c.relkind <> 'p' AND c.relam NOT IN (0, 2) THEN '` + notHeap + `' END AS indivisible
	FROM family f, LATERAL (SELECT * FROM pg_catalog.pg_class r WHERE r.oid = f.oid OFFSET 0) AS c)
`

// familySQL returns one row.
const familySQL = familyMembers + `
SELECT coalesce(pg_catalog.max(pages), 0), coalesce(pg_catalog.sum(pages), 0), coalesce(pg_catalog.sum(toast), 0),
	coalesce(pg_catalog.sum(locks), 0), pg_catalog.current_setting('server_version_num'),
	pg_catalog.current_setting('block_size'),
	CASE WHEN pg_catalog.current_setting('old_snapshot_threshold', true) <> '-1'
		THEN 'the server lets snapshots expire (old_snapshot_threshold)'
		ELSE coalesce(pg_catalog.max(indivisible), '') END
FROM members`

func (s *session) familySize(ctx context.Context, r *relation) (familySize, error) {
	if r.family != nil {
		return *r.family, nil
	}
	var f familySize
	found, err := s.query(ctx, 7, r.with()+familySQL, r.oid)
	if err == nil && len(found) != 1 {
		err = errAnswer
	}
	if err == nil {
		f.indivisible = string(found[0][6])
		err = scanInts([][][]byte{found[0][:6]}, &f.largest, &f.total, &f.toast, &f.locks, &f.version, &f.pageSize)
	}
	if err != nil {
		return familySize{}, s.failed(ctx, r.String(), err)
	}
	return f, nil
}

// lines returns the highest line of a row in any page of a family. It is 0 if the server refuses, such as if the user
// may not read ctid.
func (s *session) lines(ctx context.Context, r *relation) (int64, error) {
	lines, err := s.probeInt(ctx, "SELECT coalesce(pg_catalog.max((ctid::text::point)[1]), 0)::int8 FROM "+r.from())
	if wire.IsRefusal(ctx, err) {
		return 0, nil
	}
	return lines, s.failed(ctx, r.String(), err)
}

// weight returns the number of pages of the family, including TOAST.
func (f familySize) weight() int64 { return f.total + f.toast }

// worthwhile reports whether there may be enough work for more than one of n readers.
func (f familySize) worthwhile(n int) bool {
	return f.useful(n) > 1 || n > 1 && f.hasFewPages(n) && f.weight() >= 2*rangePages
}

// useful returns the number of n readers, at least one, for which there is work. A range covers the same pages of all
// tables, so there may be few ranges in a large family of small tables.
func (f familySize) useful(n int) int64 {
	return max(1, min(int64(n), f.weight()/rangePages, f.places()/f.leastRange()))
}

// readers returns the number of n readers that may take the locks and have work.
func (f familySize) readers(n int) int { return int(min(f.useful(n), max(1, f.lockable))) }

// hasFewPages reports whether n readers should divide the pages themselves: there are few pages, and the values outside
// the rows of a single page are already more than the least range.
func (f familySize) hasFewPages(n int) bool {
	return f.toast > f.total && f.leastRange() == 1 && f.largest < rangesLeft*int64(n)
}

// perPage returns the number of places in a page: its lines, if pages are divided.
func (f familySize) perPage() int64 { return max(1, f.lines) }

// places returns the number of places in the largest table.
func (f familySize) places() int64 { return f.largest * f.perPage() }

// leastRange returns the least number of places in a range, which have rangePages in all tables together. Pages are
// divided only if a single one has more.
func (f familySize) leastRange() int64 {
	least := max(1, f.places()*rangePages/max(1, f.weight()))
	if least > f.perPage() {
		least -= least % f.perPage()
	}
	return least
}

// ranges returns the conditions of all ranges that n readers would take, in order.
func (f familySize) ranges(n int) []string {
	readers := f.readers(n)
	if readers == 1 {
		return []string{""}
	}
	var conditions []string
	places := int64(0)
	ranges := newRanges(f, readers)
	for condition, more := ranges.take(&places); more; condition, more = ranges.take(&places) {
		conditions = append(conditions, condition)
	}
	return conditions
}
