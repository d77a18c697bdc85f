package read

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"culvert/internal/sqlsource"
	"culvert/postgres/internal/sqltext"
	"culvert/postgres/internal/wire"
	"culvert/source"
)

// Parts cuts a table by the pages of its rows, as [source.Divider] does: by the size of its files and of its
// children's, including large values that are stored outside the rows. All children are read in the same range of
// pages. If a single page refers to more than a part should have, the pages are cut by the lines of their rows.
//
// If the server does not read ranges of pages (before PostgreSQL 14, other access methods than heap, no right to read
// ctid), the table is cut by its primary key, if that has only types and orders of the system. To that end, the server
// walks along the key once; so it does not for a view or a foreign table, which are one part.
//
// One part is also what has a limit, a condition that the planner expects to read in less work than all pages, and a
// condition that may have another result in another session, or on another day.
func (db *DB) Parts(ctx context.Context, table string, s source.Selection, size int64) ([]source.Part, error) {
	if _, err := sqlsource.NumberOfParts("postgres", 0, size); err != nil {
		return nil, err
	}
	snapshot, err := db.Share(ctx)
	if err != nil {
		return nil, err
	}
	r, err := db.look(ctx, table, s)
	if err != nil {
		return nil, err
	}
	defer r.end(errClosed) // nothing is read
	cuts, err := r.cut(size)
	if err != nil {
		return nil, err
	}
	part := source.Part{
		Table: table, Object: r.relation.object(), Selection: s, Columns: r.columns, Snapshot: snapshot,
		Whole: cuts.whole,
	}
	parts := make([]source.Part, len(cuts.places)+1)
	for i := range parts {
		part.Range = cuts.rangeAt(i)
		part.Bytes, part.Rows = cuts.bytes/int64(len(parts)), cuts.rows
		parts[i] = part
	}
	parts[len(parts)-1].Rows = cuts.lastRows
	return parts, nil
}

// object identifies a table and its content.
func (r *relation) object() string {
	if r.own {
		return r.oid + "/" + r.file + ownRows
	}
	return r.oid + "/" + r.file
}

// ownRows ends the identifier of a table that is read without the rows of its children.
const ownRows = "/own"

// cuts are where the rows of a table are cut.
type cuts struct {
	by       string
	places   []string // between the parts
	first    string   // where the first part begins; "" if it is open
	last     string
	bytes    int64 // of the table
	rows     int64 // of each part except the last; 0 if not known
	lastRows int64
	whole    string
}

func (c *cuts) rangeAt(i int) source.Range {
	r := source.Range{By: c.by, From: c.first, To: c.last}
	if i > 0 {
		r.From = c.places[i-1]
	}
	if i < len(c.places) {
		r.To = c.places[i]
	}
	return r
}

// cut decides where the rows are cut.
func (r *rows) cut(size int64) (cuts, error) {
	if r.relation.Limit > 0 {
		return cuts{whole: "a limit counts the rows of all parts"}, nil
	}
	family, err := r.session.familySize(r.ctx, r.relation)
	if err != nil {
		return cuts{}, err
	}
	bytes := family.weight() * family.pageSize
	switch family.indivisible {
	case notHeap:
	case "":
		if bytes <= size {
			return cuts{bytes: bytes}, nil
		}
	default:
		return cuts{whole: family.indivisible, bytes: bytes}, nil
	}
	reason := family.indivisible
	if reason == "" && family.version < firstWithRanges {
		reason = tooOld
	}
	if reason == "" {
		if reason, err = r.refusesRanges(); err != nil {
			return cuts{}, err
		}
	}
	if reason != "" {
		return r.cutByKey(family, size, reason)
	}
	return r.cutByPages(family, size)
}

// refusesRanges returns the reason why the server does not read a range of pages.
func (r *rows) refusesRanges() (reason string, err error) {
	_, err = r.session.probe(r.ctx, func(batch *pgconn.Batch) {
		batch.ExecParams(r.rangeSQL(sqltext.NoPages)+" LIMIT 0", nil, nil, nil, nil)
	})
	if wire.IsRefusal(r.ctx, err) {
		return refusedTable(err).Reason, nil
	}
	return "", r.session.failed(r.ctx, r.name, err)
}

// cutByPages cuts a family by its pages.
func (r *rows) cutByPages(f familySize, size int64) (cuts, error) {
	n, err := sqlsource.NumberOfParts("postgres", f.weight()*f.pageSize, size)
	if err != nil {
		return cuts{}, err
	}
	if n > f.largest && f.toast > f.total {
		if f.lines, err = r.session.lines(r.ctx, r.relation); err != nil {
			return cuts{}, err
		}
	}
	members, err := r.session.members(r.ctx, r.relation)
	if err != nil {
		return cuts{}, err
	}
	perPage := f.perPage()
	c := cuts{
		by: sqltext.Pages, first: sqltext.Place(0, perPage), last: sqltext.Place(f.places(), perPage),
		bytes: f.weight() * f.pageSize,
	}
	var places []int64
	for _, at := range cutFamily(members, n) {
		p := min(int64(at*float64(perPage)), f.places()-1)
		if p > 0 && (len(places) == 0 || p > places[len(places)-1]) {
			places = append(places, p)
		}
	}
	if len(places) == 0 {
		return cuts{bytes: c.bytes}, nil
	}
	c.places = make([]string, len(places))
	for i, p := range places {
		c.places[i] = sqltext.Place(p, perPage)
	}
	if reason, err := r.refusesCondition(c); reason != "" || err != nil {
		return cuts{whole: reason, bytes: c.bytes}, err
	}
	return c, nil
}

const tooOld = "the server is older than PostgreSQL 14"

// refusesCondition returns the reason why the rows that meet the condition should be one part.
func (r *rows) refusesCondition(c cuts) (reason string, err error) {
	if r.relation.Where == "" {
		return "", nil
	}
	n := len(c.places) + 1
	if c.by != sqltext.Pages {
		n = 0 // an index finds each range, so their costs do not matter
	}
	err = r.examineCondition(n, func(i int) string {
		condition, _ := sqltext.Condition(c.rangeAt(i)) // made here, so it is one
		return condition
	}, r.session.days()...)
	if indivisible, ok := errors.AsType[*source.IndivisibleError](err); ok {
		return indivisible.Reason, nil
	}
	return "", err
}

// member is a table of a family.
type member struct {
	pages, weight int64 // the weight includes TOAST
}

// members returns the tables of a family that have pages, the smallest first.
func (s *session) members(ctx context.Context, r *relation) ([]member, error) {
	found, err := s.query(ctx, 2, r.with()+familyMembers+`
SELECT pages, pages + toast FROM members WHERE pages > 0 ORDER BY pages`, r.oid)
	members := make([]member, len(found))
	for i, row := range found {
		if err == nil {
			err = scanInts([][][]byte{row}, &members[i].pages, &members[i].weight)
		}
	}
	return members, s.failed(ctx, r.String(), err)
}

// cutFamily returns the n-1 pages, and fractions of pages, at which to cut a family so that each of n parts has the
// same weight. A part has the same pages of all members; the members come in the order of their sizes, so fewer of them
// reach each next page.
func cutFamily(members []member, n int64) []float64 {
	density, total := 0.0, 0.0 // density is the weight of the pages of all members that reach a page
	for _, m := range members {
		density += float64(m.weight) / float64(m.pages)
		total += float64(m.weight)
	}
	var places []float64
	start, weight := 0.0, 0.0 // the page from which on this is the density, and the weight before it
	for _, m := range members {
		end := float64(m.pages)
		for next := int64(len(places)) + 1; next < n; next++ {
			at := start + (total*float64(next)/float64(n)-weight)/density
			if !(at < end) {
				break
			}
			places = append(places, max(at, start))
		}
		weight += (end - start) * density
		density -= float64(m.weight) / float64(m.pages)
		start = end
	}
	return places
}

// days are what a condition may have made of 'today' and the like. In another session, it may be another day.
func (s *session) days() []string {
	today, err := time.Parse(time.DateOnly, s.day)
	if err != nil {
		return []string{s.day} // a year of five digits
	}
	return []string{
		today.AddDate(0, 0, -1).Format(time.DateOnly), s.day, today.AddDate(0, 0, 1).Format(time.DateOnly),
	}
}
