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

// rows are the rows of a statement. The statement is one row ahead: on the first row that Next returns.
type rows struct {
	db      *DB
	ctx     context.Context
	stmt    *sqlite3.Stmt
	columns []source.Column
	table   string // the table that is read without a condition; "" for other statements
	limit   int64  // 0 if there is none
	exact   int64  // the number of rows, if it is known before they are read; otherwise 0
	read    int64
	ahead   bool // the statement is on a row
	err     error

	told []told // by column, if the types of a table are known; otherwise nil
}

// start begins to run a statement. The first step takes the locks and fixes the state of the database; only then are
// the columns certain.
func (db *DB) start(ctx context.Context, stmt *sqlite3.Stmt) (*rows, error) {
	r := &rows{db: db, ctx: ctx, stmt: stmt, ahead: stmt.Step()}
	if err := stmt.Err(); err != nil {
		return nil, db.fail(ctx, err)
	}
	for i := range stmt.ColumnCount() {
		declared := stmt.ColumnDeclType(i)
		r.columns = append(r.columns, source.Column{
			Name: stmt.ColumnName(i), Type: declared, Logical: sqlsource.Logical(source.SQLite, declared),
		})
	}
	db.open = r
	return r, nil
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
			r.err = err
			b.Reset(len(r.columns))
		}
	}()
	defer r.db.catch(&err)
	if err := r.ctx.Err(); err != nil {
		return r.db.fail(r.ctx, err)
	}
	for r.ahead && !b.Full() {
		if err := valuetext.Append(b, r.stmt, len(r.columns)); err != nil {
			return r.db.fail(r.ctx, err)
		}
		b.EndRow()
		r.read++
		r.ahead = r.stmt.Step()
	}
	look(r.told, b)
	if b.Rows() > 0 {
		return nil // the statement keeps an error of the last step for the next call
	}
	if err := r.stmt.Err(); err != nil {
		return r.db.fail(r.ctx, err)
	}
	if r.exact > 0 && r.read != r.exact {
		return &source.CountError{Received: r.read, Confirmed: r.exact}
	}
	return io.EOF
}

func (r *rows) Close() error {
	if r.stmt == nil {
		return nil
	}
	if r.err == nil {
		r.err = errors.New("sqlite: the rows are closed")
	}
	finish(r.stmt)
	r.stmt = nil
	r.db.open = nil
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
