package read

import (
	"context"
	"crypto/rand"
	"errors"
	"math"
	"strings"

	"github.com/ncruces/go-sqlite3"

	"culvert/internal/sqlsource"
	"culvert/source"
	"culvert/sqlite/internal/valuetext"
)

// scan reads rows of a table. Its statement passes the values of each row to a function of SQL, which adds them to the
// batch. That takes half of the time that it takes to ask for each value. Of a whole table, the function is the
// condition, so that SQLite goes from row to row until the batch is full.
type scan struct {
	db      *DB
	columns []source.Column
	from    string // the table, as SQL
	chosen  source.Selection
	inRange string // a condition, or ""
	told    []told

	stmt  *sqlite3.Stmt // nil before the first row
	batch *source.Batch // that is being filled
	ends  bool          // the statement has returned the last row of its range
	done  bool

	ranges *ranges // that several readers share; nil if this one reads all rows
	own    *span   // what it has of them
	at     int64   // the first rowid of them that it has not taken
	small  bool    // it leaves large values to another reader
}

// smallValue is the largest value that more than one reader may read.
const smallValue = 256 << 10

// createTaker makes the function that takes rows. Its name is known to no statement but those that are made here.
func (db *DB) createTaker() error {
	db.taker = "culvert_" + rand.Text()
	return db.conn.CreateFunction(db.taker, -1, sqlite3.DIRECTONLY, db.take)
}

// take adds a row to the batch. It returns true if the batch is full or the range has ended, and otherwise NULL, which
// is false.
func (db *DB) take(ctx sqlite3.Context, row ...sqlite3.Value) {
	s := db.scanning
	if s.ranges != nil {
		rowid := row[0].Int64()
		if !s.ranges.reach(s.own, rowid) {
			s.ends = true
			ctx.ResultBool(true)
			return
		}
		s.at = rowid + 1 // the largest rowid is followed by no row
		row = row[1:]
	}
	for i, value := range row {
		kind, text, err := valuetext.AppendValue(s.batch, value)
		if err != nil {
			ctx.ResultError(err)
			return
		}
		if s.told[i].watches[kind] {
			s.told[i].note(kind, text)
		}
	}
	s.batch.EndRow()
	if s.batch.Full() {
		ctx.ResultBool(true)
	}
}

// fits reports whether the function can have so many columns, and the rowid.
func (s *scan) fits() bool {
	return len(s.columns) < s.db.conn.Limit(sqlite3.LIMIT_FUNCTION_ARG, -1)
}

// sql returns the statement, which has the parameters ?1 and ?2 for the first and the last rowid if readers share the
// table.
func (s *scan) sql() string {
	var values []string
	for _, column := range s.columns {
		values = append(values, sqlite3.QuoteIdentifier(column.Name))
	}
	from, inRange := s.from, s.inRange
	if s.ranges != nil {
		values = append([]string{s.ranges.rowid}, values...)
		from += " NOT INDEXED"
		inRange = s.ranges.rowid + " BETWEEN ?1 AND ?2"
	}
	take := s.db.taker + "(" + strings.Join(values, ", ") + ")"
	whole := s.chosen.Where == "" && s.chosen.Limit == 0
	switch {
	case whole && inRange == "":
		return "SELECT 0 FROM " + from + " WHERE " + take
	case whole && s.ranges != nil: // which is the range of the search, as Divide has seen
		return "SELECT 0 FROM " + from + " WHERE " + inRange + " AND " + take
	case whole:
		return "SELECT " + take + " FROM " + from + " WHERE " + inRange
	}
	sql := sqlsource.Select(take, from, s.chosen)
	if inRange != "" {
		sql = restrict(sql, s.chosen, inRange)
	}
	return sql
}

// restrict adds a condition to the statement of a selection without a limit.
func restrict(sql string, s source.Selection, condition string) string {
	if s.Where == "" {
		return sql + " WHERE " + condition
	}
	return sql + " AND " + condition
}

// fill adds rows to a batch until it is full or the rows end.
func (s *scan) fill(ctx context.Context, b *source.Batch) error {
	s.batch, s.db.scanning = b, s
	defer func() { s.batch, s.db.scanning = nil, nil }()
	for !s.done && !b.Full() {
		if s.stmt == nil || s.ends {
			if err := s.begin(ctx); err != nil {
				return err
			}
			continue
		}
		if s.stmt.Step() {
			continue
		}
		err := s.stmt.Err()
		if s.small && errors.Is(err, sqlite3.TOOBIG) {
			err = s.leave()
		} else if err == nil {
			s.ends = true
		}
		if err != nil {
			return s.db.fail(ctx, err)
		}
	}
	return nil
}

// leave leaves the rest of the range, which begins with a large value, to the reader of large values, or becomes it.
func (s *scan) leave() error {
	_ = s.stmt.Reset() // which repeats the error
	b, holds := s.ranges.leave(s.own, s.at)
	if s.ends = !holds; s.ends {
		return nil
	}
	s.small = false
	s.db.conn.Limit(sqlite3.LIMIT_LENGTH, mostLength)
	return s.bind(b)
}

// mostLength is more than SQLite allows, which is then the limit.
const mostLength = math.MaxInt32

// begin begins to read the next range, or all rows.
func (s *scan) begin(ctx context.Context) (err error) {
	switch {
	case s.stmt == nil:
		if s.stmt, _, err = s.db.conn.Prepare(s.sql()); err != nil {
			return s.db.fail(ctx, err)
		}
	case s.ranges == nil:
		s.done = true
		return nil
	default:
		if err := s.stmt.Reset(); err != nil {
			return s.db.fail(ctx, err)
		}
	}
	s.ends = false
	if s.ranges == nil {
		return nil
	}
	if s.small { // not before the schema is read
		s.db.conn.Limit(sqlite3.LIMIT_LENGTH, smallValue)
	}
	b, found, err := s.ranges.next(ctx, s.own, s.batch.Lending(), func(after, last int64) (int64, bool, error) {
		return s.db.firstAfter(ctx, s.ranges, after, last)
	})
	if s.done = !found; s.done || err != nil {
		return err
	}
	if err := s.bind(b); err != nil {
		return s.db.fail(ctx, err)
	}
	return nil
}

// bind sets the range of the statement.
func (s *scan) bind(b bounds) error {
	s.at = b.from
	return errors.Join(s.stmt.BindInt64(1, b.from), s.stmt.BindInt64(2, b.last))
}

// close ends the statement.
func (s *scan) close() {
	finish(s.stmt)
	s.stmt, s.done = nil, true
	if s.ranges != nil {
		s.ranges.end(s.own)
	}
}
