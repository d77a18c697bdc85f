package read

import (
	"context"
	"errors"
	"io"

	"github.com/ncruces/go-sqlite3"

	"culvert/internal/sqlsource"
	"culvert/source"
	"culvert/sqlite/internal/valuetext"
)

// rows are the rows of a table, which a scan reads, or those of another statement, which is one row ahead: on the first
// row that Next returns.
type rows struct {
	db      *DB
	ctx     context.Context
	scan    *scan         // nil for another statement
	stmt    *sqlite3.Stmt // nil for a table
	columns []source.Column
	name    string // of the table or view; "" for a query
	table   string // the table that is read without a condition; "" for other statements
	limit   int64  // 0 if there is none
	exact   int64  // the number of rows, if it is known before they are read; otherwise 0
	read    int64
	ahead   bool // the statement is on a row
	ended   bool
	err     error

	division *division // nil unless several readers share the rows

	told []told // by column, if the types of a table are known; otherwise nil
}

// start begins to run a statement. The first step takes the locks and fixes the state of the database; only then are
// the columns certain.
func (db *DB) start(ctx context.Context, stmt *sqlite3.Stmt) (*rows, error) {
	r := &rows{db: db, ctx: ctx, stmt: stmt, ahead: stmt.Step()}
	if err := stmt.Err(); err != nil {
		return nil, db.fail(ctx, err)
	}
	r.columns = columnsOf(stmt)
	db.open = r
	return r, nil
}

// columnsOf returns the columns of a statement.
func columnsOf(stmt *sqlite3.Stmt) (columns []source.Column) {
	for i := range stmt.ColumnCount() {
		declared := stmt.ColumnDeclType(i)
		columns = append(columns, source.Column{
			Name: stmt.ColumnName(i), Type: declared, Logical: sqlsource.Logical(source.SQLite, declared),
		})
	}
	return columns
}

func (r *rows) Columns() []source.Column { return r.columns }

func (r *rows) PrintedBy() source.Dialect { return source.SQLite }

func (r *rows) Next(b *source.Batch) (err error) {
	b.Reset(len(r.columns))
	if r.err != nil {
		return r.err
	}
	defer func() {
		if err != nil {
			b.Reset(len(r.columns))
			r.end(err)
		}
	}()
	defer r.db.catch(&err)
	if err := r.ctx.Err(); err != nil {
		return r.db.fail(r.ctx, err)
	}
	if r.scan != nil {
		err = r.scan.fill(r.ctx, b)
	} else {
		err = r.step(b)
	}
	if err != nil {
		return err
	}
	if b.Rows() > 0 {
		r.read += int64(b.Rows())
		return nil
	}
	if r.exact > 0 && r.read != r.exact {
		return &source.CountError{Received: r.read, Confirmed: r.exact}
	}
	return io.EOF
}

// step is Next for what is no table. An error is returned after the rows before it, since the statement keeps it.
func (r *rows) step(b *source.Batch) error {
	for r.ahead && !b.Full() {
		if err := valuetext.Append(b, r.stmt, len(r.columns)); err != nil {
			return r.db.fail(r.ctx, err)
		}
		b.EndRow()
		r.ahead = r.stmt.Step()
	}
	look(r.told, b)
	if err := r.stmt.Err(); err != nil && b.Rows() == 0 {
		return r.db.fail(r.ctx, err)
	}
	return nil
}

// end keeps the error with which the rows end. When all readers of a table have ended, the source can read others.
func (r *rows) end(err error) {
	if r.ended {
		return
	}
	r.err, r.ended = err, true
	if r.scan != nil {
		r.scan.close()
	}
	finish(r.stmt)
	first := r
	if r.division != nil {
		first = r.division.rows[0]
		if r.division.reading.Add(-1) > 0 {
			return
		}
	}
	if first.db.open == first {
		first.db.open = nil
	}
}

// Close closes also the rows of the readers with which this one has divided them.
func (r *rows) Close() error {
	closed := errors.New("sqlite: the rows are closed")
	r.end(closed)
	if r.division != nil && r.division.rows[0] == r {
		for _, part := range r.division.rows[1:] {
			part.end(closed)
		}
	}
	return nil
}

// finish closes a statement. The driver's Close only repeats the error of the last step, and panics if that was a lack
// of memory.
func finish(stmt *sqlite3.Stmt) {
	defer func() {
		if p := recover(); p != nil {
			if _, ok := p.(error); !ok {
				panic(p)
			}
		}
	}()
	_ = stmt.Close()
}
