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
//
// A range is from one place to another. A place is a page, or a line of one: the item of a row in its page, which leads
// to large values that are kept elsewhere. The last place of a page is also that of any lines behind it.
//
// The last range ends where the largest table ended when its size was taken. What has been added behind that cannot be
// seen by a transaction that began before, for which reason a scan of the whole table ends there too (initscan in
// heapam.c in the sources of PostgreSQL). A last range without an end would have one reader alone look through all
// pages that a busy table has got meanwhile.
type ranges struct {
	mu      sync.Mutex
	next    int64 // place
	places  int64 // in the largest table of the family
	perPage int64
	read    int64 // those of ranges that have been read
	least   int64
	readers int64
	reading int64 // readers that have not come to an end
	room    *room // for their large rows
}

// newRanges makes the ranges of a family for so many readers.
func newRanges(f familySize, readers int) *ranges {
	return &ranges{
		places: f.places(), perPage: f.perPage(), least: f.leastRange(),
		readers: int64(readers), reading: int64(readers), room: newRoom(),
	}
}

// take gives the condition that the rows of the next range meet. The reader tells how many places there were in the
// range that it has read, and is told those of the next one. The operators are those of the system, whatever the search
// path.
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
	return rangeOf(r.tid(from), r.tid(r.next)), *places > 0
}

// tid is the first row that a place may have.
func (r *ranges) tid(place int64) string {
	if line := place % r.perPage; line > 0 {
		return tid(place/r.perPage, line+1)
	}
	return tidOfPage(place / r.perPage)
}

// leave notes that a reader has come to an end, and reports whether it is the last one.
func (r *ranges) leave() (last bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.reading--
	return r.reading == 0
}

// inUse reports whether a reader has not come to an end.
func (r *ranges) inUse() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.reading > 0
}

// done is the part of the places that have been read.
func (r *ranges) done() float64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return float64(r.read) / float64(r.places)
}

// emptyRange is the condition of a range without pages.
var emptyRange = rangeOf(tidOfPage(0), tidOfPage(0))

func rangeOf(from, to string) string {
	return "ctid OPERATOR(pg_catalog.>=) " + from + " AND ctid OPERATOR(pg_catalog.<) " + to
}

// tidOfPage is the place before the first row of a page.
func tidOfPage(page int64) string { return tid(page, 0) }

func tid(page, line int64) string {
	return "'(" + strconv.FormatInt(page, 10) + "," + strconv.FormatInt(line, 10) + ")'::pg_catalog.tid"
}
