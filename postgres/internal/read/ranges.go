package read

import (
	"sync"
	"sync/atomic"

	"culvert/postgres/internal/budget"
	"culvert/postgres/internal/sqltext"
)

// rangePages is the least number of pages in a range, 2 MiB in pages of 8 KiB. Reading them takes a hundred times as
// long as planning and starting another statement. Only tests change it.
var rangePages int64 = 256

// rangesLeft is the number of ranges of the size of the next one that remain for each reader, until ranges have their
// least size. So readers end at about the same time.
const rangesLeft = 8

// ranges divides the pages of a table among the readers that share it. Each takes another range when it has read one.
// Ranges begin large and get smaller.
//
// A statement on the table reads the range of pages in each table of the family, as the server does in one statement:
// with the rights on the parent, and columns that may have other positions in a child.
//
// A range is from one place to another. A place is a page, or a line of a page: the item of a row, which may refer to
// large values elsewhere. The last place of a page includes all further lines.
//
// The last range ends where the largest table ended when its size was read. The transaction cannot see rows that were
// added after that; for the same reason, a scan of the whole table ends there (initscan in heapam.c). Without an end,
// one reader alone would scan all pages that a busy table has gained since.
type ranges struct {
	mu      sync.Mutex
	next    int64 // place
	places  int64 // in the largest table of the family
	perPage int64
	read    int64 // places in ranges that have been read
	least   int64
	readers int64
	reading atomic.Int64 // readers that have not ended
	room    *budget.Room // for their large rows
}

// newRanges returns the ranges of a family for the given number of readers.
func newRanges(f familySize, readers int) *ranges {
	r := &ranges{
		places: f.places(), perPage: f.perPage(), least: f.leastRange(),
		readers: int64(readers), room: budget.NewRoom(),
	}
	r.reading.Store(int64(readers))
	return r
}

// take returns the condition of the next range. The reader passes the number of places in the range that it has read,
// and take sets it to the number in the next one. The operators are the system's, whatever the search path.
func (r *ranges) take(places *int64) (condition string, ok bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.read += *places
	from := r.next
	size := max(r.least, (r.places-from)/(rangesLeft*r.readers))
	if size > r.perPage {
		size -= size % r.perPage // whole pages
	}
	*places = min(r.places-from, size)
	r.next += *places
	return sqltext.Between(sqltext.Place(from, r.perPage), sqltext.Place(r.next, r.perPage)), *places > 0
}

// leave records that a reader has ended, and reports whether it is the last one.
func (r *ranges) leave() (last bool) { return r.reading.Add(-1) == 0 }

// inUse reports whether a reader has not ended.
func (r *ranges) inUse() bool { return r.reading.Load() > 0 }

// done returns the share of places that have been read.
func (r *ranges) done() float64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return float64(r.read) / float64(r.places)
}
