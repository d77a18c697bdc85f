package mysql

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"strconv"

	"culvert/source"
)

// rows are the rows of a statement that runs.
type rows struct {
	session *session
	ctx     context.Context
	name    string // of the table or query, for errors
	counted bool   // the server can tell how many there are

	statement driver.Stmt
	result    driver.Rows
	columns   []source.Column
	decoders  []decoder
	values    []driver.Value
	scratch   []byte
	received  int64
	err       error // what Next returns from now on
}

var _ source.Rows = (*rows)(nil)

// start runs the statement.
func (r *rows) start(sql string, columns []column) (err error) {
	if r.session.gone {
		return fmt.Errorf("mysql: %s: %w: the connection was given up before", r.name, source.ErrUnavailable)
	}
	r.statement, r.result, err = r.session.prepared(r.ctx, sql)
	if err != nil {
		return r.session.failed(r.ctx, r.name, err)
	}
	names := r.result.Columns()
	types := r.result.(driver.RowsColumnTypeDatabaseTypeName)
	for i, name := range names {
		typeName := types.ColumnTypeDatabaseTypeName(i)
		c := column{Column: source.Column{Name: name, Type: typeName}}
		if len(columns) == len(names) {
			c = columns[i]
		}
		r.columns = append(r.columns, c.Column)
		r.decoders = append(r.decoders, decoderOf(typeName, c.isJSON))
	}
	r.values = make([]driver.Value, len(names))
	switch {
	case len(names) == 0:
		// It may have ended the transaction, and what is read without it does not fit to what was read.
		r.session.close()
		err = fmt.Errorf("mysql: %s: the statement gives no rows", r.name)
		r.end(err)
		return err
	case columns != nil && len(columns) != len(names):
		err = errAnswer
	default:
		return nil
	}
	err = r.session.failed(r.ctx, r.name, err)
	r.end(err)
	return err
}

func (r *rows) Columns() []source.Column { return r.columns }

func (r *rows) Next(b *source.Batch) error {
	b.Reset(len(r.columns))
	if r.err != nil {
		return r.err
	}
	err := r.ctx.Err()
	if err == nil {
		err = r.fill(b)
	}
	if err == nil {
		return nil
	}
	if err = r.finish(err); err == io.EOF && b.Rows() > 0 {
		return nil
	}
	b.Reset(len(r.columns))
	return err
}

// fill adds rows to the batch. It returns io.EOF after the last.
func (r *rows) fill(b *source.Batch) error {
	for !b.Full() {
		if err := r.next(); err != nil {
			return err
		}
		for i, value := range r.values {
			if err := r.append(b, r.decoders[i], value); err != nil {
				return err
			}
		}
		b.EndRow()
		r.received++
	}
	return nil
}

var errUnreadable = errors.New("the server sent a row that cannot be read")

// next reads the values of the next row. The driver trusts the server to send as many bytes as it says: if there are
// fewer, it panics, or takes the end of the row for that of all rows, but not without having set the first value.
func (r *rows) next() (err error) {
	defer func() {
		if recover() != nil || err == io.EOF && r.values[0] != driver.Value(r) {
			r.session.close()
			err = errUnreadable
		}
	}()
	r.values[0] = r
	return r.result.Next(r.values)
}

// finish makes the rows spent by what has ended them, which is io.EOF if they are complete.
func (r *rows) finish(err error) error {
	if err == io.EOF {
		err = r.confirm()
	}
	if err != io.EOF {
		err = r.session.failed(r.ctx, r.after(), err)
	}
	r.end(err)
	return r.err
}

// after says how far the rows had come, for errors.
func (r *rows) after() string {
	if r.received == 0 {
		return r.name
	}
	return fmt.Sprintf("%s, after %d rows", r.name, r.received)
}

// confirm returns io.EOF if the server says that there are no more rows, and has counted as many.
func (r *rows) confirm() error {
	if r.result.(driver.RowsNextResultSet).HasNextResultSet() {
		return errors.New("the statement has more than one result")
	}
	if err := r.release(); err != nil || !r.counted {
		if err != nil {
			return err
		}
		return io.EOF
	}
	found, err := r.session.query(r.ctx, "SELECT FOUND_ROWS()")
	if err != nil {
		return err
	}
	if len(found) != 1 {
		return errAnswer
	}
	confirmed, err := strconv.ParseInt(found[0][0], 10, 64)
	switch {
	case err != nil:
		return errAnswer
	case confirmed != r.received:
		return &source.CountError{Received: r.received, Confirmed: confirmed}
	}
	return io.EOF
}

// release frees the connection after the last row.
func (r *rows) release() error {
	if r.result == nil {
		return nil
	}
	err := errors.Join(r.result.Close(), r.statement.Close())
	r.result, r.statement = nil, nil
	return err
}

// Close ends the statement on the server, if it still runs.
func (r *rows) Close() error {
	r.end(errClosed)
	return nil
}

// end makes the rows spent, with the error that Next will return from now on.
func (r *rows) end(err error) {
	if r.err != nil {
		return
	}
	r.err = err
	if r.result == nil {
		return
	}
	if err == errClosed && !r.session.gone {
		r.session.interrupt(r.statement, r.result) // without it, the driver would receive all rows that are left
		if !r.session.gone {
			r.result, r.statement = nil, nil
			return
		}
	}
	// The statement has failed, or its connection is gone: what these could say is known.
	_ = r.release()
}
