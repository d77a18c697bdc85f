package read

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"culvert/internal/grace"
	"culvert/internal/lazyregexp"
	"culvert/source"
)

// tableRows are the rows of a table, or of a part of it, which several connections can share.
type tableRows struct {
	*rows
	db      *DB
	table   table
	divided atomic.Pointer[division] // nil until they are; for Done, which may be called at any time
}

var (
	_ source.Divider = (*tableRows)(nil)
	_ source.Meter   = (*tableRows)(nil)
)

// Divide has up to n-1 connections that were opened together with this one share the table, in ranges of its primary
// key. A small table is not divided, nor one whose condition may have another result in another statement.
func (r *tableRows) Divide(n int) ([]source.Rows, error) {
	ranges, err := r.divisible(n)
	switch {
	case err != nil:
		return nil, err
	case ranges == nil:
		return []source.Rows{r}, nil
	}
	helpers, fewer := r.db.help(r.ctx, r.table, ranges.useful(n)-1)
	if err := r.ctx.Err(); err != nil || len(helpers) == 0 {
		r.db.group.put(helpers...)
		if err == nil && fewer == nil { // it was opened with one connection
			return []source.Rows{r}, nil
		}
		return nil, orFewer(err, fewer)
	}
	d, err := r.share(ranges, helpers)
	if err != nil {
		r.db.group.put(helpers...)
		return nil, err
	}
	all := []source.Rows{r}
	for _, other := range d.readers[1:] {
		all = append(all, other)
	}
	return all, orFewer(nil, fewer)
}

// orFewer returns the error, or else why there are fewer connections.
func orFewer(err error, fewer *source.IndivisibleError) error {
	if err == nil && fewer != nil {
		return fewer
	}
	return err
}

// Ranges returns about how many ranges n readers would take.
func (r *tableRows) Ranges(n int) (int, error) {
	ranges, err := r.divisible(n)
	switch {
	case err != nil:
		return 0, err
	case ranges == nil:
		return 1, nil
	case r.db.group.moment.Connections > 1:
		return ranges.count(n), nil
	}
	return 1, orFewer(nil, r.db.group.fewer)
}

// Done returns the share of rows in ranges that have been read. It is known once the rows are divided.
func (r *tableRows) Done() float64 {
	if d := r.divided.Load(); d != nil {
		return d.ranges.done()
	}
	return -1
}

// divisible returns the ranges of the table, none if it is too small, or an error if n readers cannot share it.
func (r *tableRows) divisible(n int) (*ranges, error) {
	switch {
	case r.err != nil:
		return nil, r.err
	case r.result != nil || r.received > 0 || r.divided.Load() != nil:
		return nil, errors.New("mysql: Divide of rows that have already been read or divided")
	case n < 2 || !r.table.Base:
		return nil, nil
	}
	s := r.db.session
	size, err := s.size(r.ctx, r.table)
	if err != nil || size.Bytes < 2*rangeBytes {
		return nil, s.Explain(r.ctx, r.name, err)
	}
	reason := ""
	switch {
	case r.table.Limit > 0:
		reason = "a limit counts the rows of all readers"
	case !isPlain(r.table.Where):
		reason = "the condition is more than comparisons of columns with values, whose result may differ"
	}
	var k key
	if reason == "" {
		if k, err = s.primaryKey(r.ctx, r.table); err == nil && len(k) == 0 {
			reason = "it has no primary key, or one of a type that is not cut"
		}
	}
	if reason == "" && err == nil {
		var outside bool
		if outside, err = s.isOutside(r.ctx, r.table); outside {
			reason = "its storage engine has no snapshots"
		}
	}
	if err != nil {
		return nil, s.Explain(r.ctx, r.name, err)
	}
	if reason != "" {
		return nil, &source.IndivisibleError{Reason: reason}
	}
	return s.newRanges(r.ctx, r.table, k)
}

// isOutside reports whether no snapshot holds the rows of a base table.
func (s *session) isOutside(ctx context.Context, t table) (bool, error) {
	if f := s.known(t.Table); f != nil {
		return f.outside, nil
	}
	return s.newReading(ctx).table(t.Database, t.Name)
}

var (
	inQuotes = lazyregexp.New("'[^']*'|`[^`]*`")
	called   = lazyregexp.New(`(\w+)\s*\(`)

	// varying is what begins a comment, a text or a name in another way, assigns, or reads a variable; and the words
	// that call a function without a parenthesis, read other rows, or compare by more than the values.
	varying = lazyregexp.New("(?i)[@#\"\\\\;?:'`]|--|/\\*|" +
		`\b(?:CURRENT_\w+|LOCALTIME\w*|UTC_\w+|SYSDATE|SELECT|VALUES?|TABLE|WITH|NEXT|PREVIOUS|MATCH|CASE)\b`)

	// beforeParenthesis are the words that may be before one.
	beforeParenthesis = []string{"AND", "OR", "XOR", "NOT", "IN", "BETWEEN", "LIKE"}
)

// isPlain reports whether a condition compares columns with values, and calls nothing: then each row meets it or not,
// whichever statement asks. If in doubt, it does not.
func isPlain(where string) bool {
	bare := inQuotes.ReplaceAllString(where, " x ")
	if varying.MatchString(bare) {
		return false
	}
	for _, match := range called.FindAllStringSubmatch(bare, -1) {
		if !slices.Contains(beforeParenthesis, strings.ToUpper(match[1])) {
			return false
		}
	}
	return true
}

// help returns up to n other sessions that can read the table, and why there are fewer.
func (db *DB) help(ctx context.Context, t table, n int) (helpers []*session, fewer *source.IndivisibleError) {
	db.group.started.Wait()
	taken, fewer := db.group.take(n)
	errs := make([]error, len(taken))
	var looking sync.WaitGroup
	for i, s := range taken {
		looking.Go(func() {
			_, err := s.Query(ctx, 1, "SELECT 1 FROM "+t.SQL()+" LIMIT 0")
			errs[i] = s.Explain(ctx, t.String(), err)
		})
	}
	looking.Wait()
	for i, s := range taken {
		if errs[i] == nil {
			helpers = append(helpers, s)
			continue
		}
		db.group.put(s)
		reason := "another connection cannot read it: " + errs[i].Error()
		if errors.Is(errs[i], source.ErrLocked) {
			reason = "someone else has locked it, or waits to change it"
		}
		fewer = &source.IndivisibleError{Reason: reason, Err: errs[i]}
	}
	return helpers, fewer
}

// division is a table that several connections read.
type division struct {
	db       *DB
	ranges   *ranges
	template *rows // of a range, without its session and condition
	readers  []*reader
	reading  atomic.Int64 // readers that have not ended

	running context.Context // of all statements
	cancel  context.CancelFunc
}

// share has the session of the rows and others read the ranges of the table.
func (r *tableRows) share(ranges *ranges, helpers []*session) (*division, error) {
	err := r.release()
	if err == nil && !r.own {
		err = r.session.keepSnapshot(r.ctx)
	}
	if err != nil {
		return nil, r.fail(err)
	}
	d := &division{db: r.db, ranges: ranges, template: r.rows}
	d.running, d.cancel = grace.Context(r.ctx, patience)
	ranges.readers = float64(1 + len(helpers))
	d.reading.Store(int64(1 + len(helpers)))
	for _, s := range append([]*session{r.session}, helpers...) {
		d.readers = append(d.readers, &reader{division: d, session: s})
	}
	r.divided.Store(d)
	r.db.open = d
	return d, nil
}

func (d *division) unread() bool { return d.reading.Load() > 0 }

// end ends all readers.
func (d *division) end(err error) {
	for _, r := range d.readers {
		r.end(err)
	}
}

// rangeRows returns the rows of a range, for a session. The statement ends no transaction: its condition is plain.
func (d *division) rangeRows(s *session, condition string) *rows {
	of := d.template
	one := &rows{
		session: s, ctx: d.running, running: d.running, name: of.name, counted: true, own: true, sql: of.sql,
		columns: of.columns, known: of.known, table: of.table, checks: of.checks, asBytes: of.asBytes,
		decoders: slices.Clone(of.decoders),
	}
	switch {
	case condition == "":
	case d.ranges.table.Where == "":
		one.sql += " FORCE INDEX (PRIMARY) WHERE " + condition
	default:
		one.sql += " AND (" + condition + ")"
	}
	return one
}

// reader is one of several connections that read a table. It takes a range after the other.
type reader struct {
	division *division
	session  *session
	rows     *rows // of the range that it reads, or nil
	weight   float64
	err      error // what Next returns from now on
}

var _ source.Rows = (*reader)(nil)

func (r *reader) Columns() []source.Column { return r.division.template.columns }

func (r *reader) PrintedBy() source.Dialect { return source.MySQL }

func (r *reader) Next(b *source.Batch) error {
	b.Reset(len(r.Columns()))
	for r.err == nil && !b.Full() {
		err := r.division.template.ctx.Err()
		if err == nil {
			err = r.add(b)
		}
		if ended := r.division.template.ctx.Err(); ended != nil && err != io.EOF {
			err = fmt.Errorf("mysql: %s: %w", r.division.template.name, ended)
		}
		if err != nil {
			r.end(err)
		}
	}
	if r.err == nil || r.err == io.EOF && b.Rows() > 0 {
		return nil
	}
	b.Reset(len(r.Columns()))
	return r.err
}

// add adds rows of a range, the next one if there is none. It returns io.EOF after the last range.
func (r *reader) add(b *source.Batch) error {
	d := r.division
	if r.rows == nil {
		condition, weight, err := d.ranges.take(d.running, r.session)
		if err == io.EOF {
			return err
		}
		if err != nil {
			return r.session.Explain(d.running, d.template.name, err)
		}
		r.rows, r.weight = d.rangeRows(r.session, condition), weight
	}
	err := r.rows.add(b)
	if err == io.EOF {
		d.ranges.finished(r.weight)
		r.rows, err = nil, nil
	}
	if lost, is := errors.AsType[*source.TextError](err); is {
		lost.Row = 0 // rows come in no order
	}
	return err
}

// Close ends the statement on the server, if it still runs.
func (r *reader) Close() error {
	r.end(errClosed)
	return nil
}

// end sets the error that Next returns, and leaves the connection to others.
func (r *reader) end(err error) {
	if r.err != nil {
		return
	}
	r.err = err
	if r.rows != nil {
		r.rows.end(err)
	}
	if r.session != r.division.db.session {
		r.division.db.group.put(r.session)
	}
	if r.division.reading.Add(-1) == 0 {
		r.division.cancel()
	}
}

// Next implements [source.Rows].
func (r *tableRows) Next(b *source.Batch) error {
	if d := r.divided.Load(); d != nil {
		return d.readers[0].Next(b)
	}
	return r.rows.Next(b)
}

// Close ends all statements that still run on the server.
func (r *tableRows) Close() error {
	if d := r.divided.Load(); d != nil {
		d.end(errClosed)
		return nil
	}
	return r.rows.Close()
}
