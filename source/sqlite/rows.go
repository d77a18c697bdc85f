package sqlite

import (
	"bytes"
	"context"
	"errors"
	"io"
	"math"
	"slices"
	"strconv"

	"github.com/ncruces/go-sqlite3"

	"culvert/source"
)

// rows are the rows of a statement. The statement is one row ahead: on the first row that Next returns.
type rows struct {
	db      *DB
	ctx     context.Context
	stmt    *sqlite3.Stmt
	columns []source.Column
	table   string // the table that is read without a condition; "" for other statements
	limit   int64  // 0 if there is none
	ahead   bool   // the statement is on a row
	err     error
	number  [32]byte // scratch of appendReal
}

// start begins to run a statement. The first step takes the locks and fixes the state of the database; only then are
// the columns certain.
func (db *DB) start(ctx context.Context, stmt *sqlite3.Stmt) (*rows, error) {
	r := &rows{db: db, ctx: ctx, stmt: stmt, ahead: stmt.Step()}
	if err := stmt.Err(); err != nil {
		return nil, db.fail(ctx, err)
	}
	for i := range stmt.ColumnCount() {
		r.columns = append(r.columns, source.Column{Name: stmt.ColumnName(i), Type: stmt.ColumnDeclType(i)})
	}
	db.open = r
	return r, nil
}

func (r *rows) Columns() []source.Column { return r.columns }

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
		if err := r.appendRow(b); err != nil {
			return r.db.fail(r.ctx, err)
		}
		b.EndRow()
		r.ahead = r.stmt.Step()
	}
	if b.Rows() > 0 {
		return nil // the statement keeps an error of the last step for the next call
	}
	if err := r.stmt.Err(); err != nil {
		return r.db.fail(r.ctx, err)
	}
	return io.EOF
}

// appendRow appends the current row of the statement. Values are copied, since the driver reuses their memory.
func (r *rows) appendRow(b *source.Batch) error {
	for i := range r.columns {
		switch r.stmt.ColumnType(i) {
		case sqlite3.INTEGER:
			b.AppendInt(r.stmt.ColumnInt64(i))
		case sqlite3.FLOAT:
			r.appendReal(b, r.stmt.ColumnFloat(i))
		case sqlite3.TEXT:
			text := r.stmt.ColumnRawText(i)
			if text == nil && r.stmt.Err() != nil {
				return r.stmt.Err()
			}
			b.Append(source.Text, text)
		case sqlite3.BLOB:
			blob := r.stmt.ColumnRawBlob(i) // also nil for an empty blob
			if blob == nil && r.stmt.Err() != nil {
				return r.stmt.Err()
			}
			b.Append(source.Bytes, blob)
		default:
			b.AppendNull()
		}
	}
	return nil
}

// appendReal appends a REAL as SQLite prints it, always with a period, which distinguishes it from an INTEGER, and with
// an exponent below 1e-4 and from 1e17. Unlike in older releases, it has enough digits to read back the same value.
// SQLite reads no name for infinity; like its .dump, appendReal writes a number that is too large.
func (r *rows) appendReal(b *source.Batch, v float64) {
	abs := math.Abs(v)
	if math.IsInf(abs, 1) {
		text := append(r.number[:0], "-9.0e+999"...)
		if v > 0 {
			text = text[1:]
		}
		b.Append(source.Number, text)
		return
	}
	verb := byte('f')
	if abs != 0 && abs < 1e-4 || abs >= 1e17 {
		verb = 'e'
	}
	text := strconv.AppendFloat(r.number[:0], v, verb, -1, 64)
	if bytes.IndexByte(text, '.') < 0 {
		end := bytes.IndexByte(text, 'e')
		if end < 0 {
			end = len(text)
		}
		text = slices.Insert(text, end, '.', '0')
	}
	b.Append(source.Number, text)
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
