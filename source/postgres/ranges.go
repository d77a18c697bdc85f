package postgres

import (
	"strconv"
	"sync"
)

// rangePages is the least number of pages in a range, 2 MiB in those of 8 KiB: reading them takes a hundred times as
// long as to plan and to start one more statement. Only tests change it.
var rangePages int64 = 256

// rangesLeft is how many ranges of the size of the next one each reader would find, until they are at their least. So
// a range is never so large that the others have long ended when it does.
const rangesLeft = 8

// ranges hands out the pages of a table to the readers that share it, each of which takes another range when it has
// read one. They begin large and get smaller.
//
// A statement that names the table and a range reads those pages of each table of the family. So the family is read as
// the server would in one statement: with the rights on the parent, and columns that may lie elsewhere in a child.
type ranges struct {
	mu      sync.Mutex
	next    int64 // page
	pages   int64 // of the largest table of the family
	least   int64
	readers int64
	reading int64 // readers that have not come to their end
}

// newRanges makes the ranges of a family, for as many readers as have something to do, up to n.
func newRanges(f familySize, n int) *ranges {
	readers := max(1, min(int64(n), f.total/rangePages))
	return &ranges{
		pages:   f.largest,
		least:   max(1, f.largest*rangePages/max(1, f.total)),
		readers: readers,
		reading: readers,
	}
}

// take gives the condition that the rows of the next range meet. The last one is open ended. The operators are those of
// the system, whatever the search path.
func (r *ranges) take() (condition string, ok bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.next >= r.pages {
		return "", false
	}
	from := r.next
	r.next += max(r.least, (r.pages-from)/(rangesLeft*r.readers))
	condition = "ctid OPERATOR(pg_catalog.>=) " + tid(from)
	if r.next < r.pages {
		condition += " AND ctid OPERATOR(pg_catalog.<) " + tid(r.next)
	}
	return condition, true
}

// finish notes that a reader has come to its end, and reports whether it is the last one.
func (r *ranges) finish() (last bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.reading--
	return r.reading == 0
}

// tid is the place before the first row of a page.
func tid(page int64) string { return "'(" + strconv.FormatInt(page, 10) + ",0)'::pg_catalog.tid" }
