package read

import (
	"cmp"
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"strconv"
	"time"

	"culvert/internal/grace"
	"culvert/internal/sqlsource"
	"culvert/mysql/internal/catalog"
	"culvert/mysql/internal/wire"
	"culvert/source"
)

var errClosed = errors.New("mysql: the rows are closed")

// patience is how long the server may take to answer after the context of the rows has ended. If it answers in time,
// the connection is kept for other tables. Otherwise the driver closes it.
const patience = 2 * time.Second

// rows are the rows of a statement.
type rows struct {
	session *session
	ctx     context.Context
	name    string // of the table or query, for errors
	counted bool   // the server can count them
	exact   int64  // their number, if it is known before they are read; otherwise 0
	sql     string // the statement
	own     bool   // it is of this package, so it ends no transaction; the server checks it when it is run
	asText  bool   // it is not prepared: see isText
	query   string // the statement of a query, whose doubtful texts are checked at its end

	statement driver.Stmt
	result    driver.Rows
	running   context.Context    // of the statement that runs, and of what follows; nil before that
	cancel    context.CancelFunc // of running, or nil
	columns   []source.Column
	known     []sqlsource.Column // the same, of a table
	table     table              // which it is
	checks    bool               // a last value of each row says which of the texts does not survive
	asBytes   []string           // the columns as SQL, with the bytes of those that may not survive
	doubtful  []bool             // the columns of a query that have a text with a mark
	decoders  []catalog.Decoder
	values    []driver.Value
	scratch   []byte
	received  int64
	err       error // what Next returns from now on
}

var _ source.Rows = (*rows)(nil)

// prepare has the server check the statement. The statement of a table runs when the first rows are read, so the
// connection is free until then.
func (r *rows) prepare() (err error) {
	if !r.own {
		if err := r.session.guardSnapshot(r.ctx); err != nil {
			return r.session.Explain(r.ctx, r.name, err)
		}
	}
	if r.statement, err = r.session.Prepare(r.ctx, r.sql, 0); err != nil {
		return r.fail(err)
	}
	return nil
}

// fail ends the rows with an explained error.
func (r *rows) fail(err error) error {
	err = r.session.Explain(r.ctx, r.name, err)
	r.end(err)
	return err
}

// execute runs the statement. The result describes the columns, unless they are already known.
func (r *rows) execute() (err error) {
	if r.own && !r.asText {
		if err := r.prepare(); err != nil {
			return err
		}
	}
	if r.running == nil {
		r.running, r.cancel = grace.Context(r.ctx, patience)
	}
	if r.asText {
		sql := r.sql
		if r.session.IsMariaDB {
			sql += "; " + countSQL
		}
		r.result, err = r.session.Text(r.running, sql)
	} else {
		err = wire.Guarded(func() error {
			r.result, err = r.statement.(driver.StmtQueryContext).QueryContext(r.running, nil)
			return err
		})
	}
	if err != nil {
		return r.fail(err)
	}
	names := r.result.Columns()
	types := r.result.(driver.RowsColumnTypeDatabaseTypeName)
	if len(names) == 0 {
		r.session.Close() // the statement may have changed it
		err = fmt.Errorf("mysql: %s: the statement returns no rows", r.name)
		r.end(err)
		return err
	}
	if r.columns == nil {
		for i, name := range names {
			r.columns = append(r.columns, described(name, r.result, i))
		}
		r.decoders = make([]catalog.Decoder, len(names))
		r.doubtful = make([]bool, len(names))
	}
	expected := len(r.columns)
	if r.checks {
		expected++
	}
	if len(names) != expected {
		return r.fail(wire.ErrAnswer)
	}
	for i := range r.columns {
		r.decoders[i] = catalog.DecoderOf(types.ColumnTypeDatabaseTypeName(i), r.decoders[i] == catalog.JSON)
	}
	r.values = make([]driver.Value, len(names))
	return nil
}

// described returns a column of a query. The driver does not tell how many characters a text has, nor whether a decimal
// number has a sign, and so not how many digits.
func described(name string, result driver.Rows, i int) source.Column {
	c := source.Column{Name: name, Type: result.(driver.RowsColumnTypeDatabaseTypeName).ColumnTypeDatabaseTypeName(i)}
	c.Logical = sqlsource.Logical(source.MySQL, c.Type)
	switch c.Logical.Class {
	case source.TimeClass, source.TimestampClass, source.InstantClass:
		const most = 6
		_, digits, ok := result.(driver.RowsColumnTypePrecisionScale).ColumnTypePrecisionScale(i)
		if c.Logical.Precision = most; ok && digits < most {
			c.Logical.Precision = int(digits)
		}
	default: // the name tells all
	}
	return c
}

// describe sets the columns of a table.
func (r *rows) describe(columns []sqlsource.Column) {
	r.decoders = make([]catalog.Decoder, len(columns))
	for i, c := range columns {
		r.columns = append(r.columns, c.Column)
		if c.JSON {
			r.decoders[i] = catalog.JSON
		}
	}
}

func (r *rows) Columns() []source.Column { return r.columns }

func (r *rows) PrintedBy() source.Dialect { return source.MySQL }

func (r *rows) Next(b *source.Batch) error {
	b.Reset(len(r.columns))
	if err := r.add(b); err == nil || err == io.EOF && b.Rows() > 0 {
		return nil
	}
	b.Reset(len(r.columns))
	return r.err
}

// add adds rows to the batch until it is full. It returns io.EOF after the last, once the rows are confirmed.
func (r *rows) add(b *source.Batch) error {
	if r.err != nil {
		return r.err
	}
	err := r.ctx.Err()
	if err == nil && r.result == nil {
		if err := r.execute(); err != nil {
			return err
		}
	}
	if err == nil {
		err = r.fill(b)
	}
	if err == nil {
		return nil
	}
	return r.finish(err)
}

// fill adds rows to the batch. It returns io.EOF after the last.
func (r *rows) fill(b *source.Batch) error {
	for !b.Full() {
		if err := r.next(); err != nil {
			return err
		}
		if r.checks {
			if err := r.checkRow(); err != nil {
				return err
			}
		}
		if err := r.checkHalves(); err != nil {
			return err
		}
		r.noteMarks()
		for i, value := range r.values[:len(r.columns)] {
			if err := r.decoders[i].Append(b, value, &r.scratch); err != nil {
				return err
			}
		}
		b.EndRow()
		r.received++
	}
	return nil
}

// next reads the values of the next row. For a truncated row, the driver returns io.EOF, but it has already set the
// first value. A row that ends just before a last date or time is read as NULL there. This is not detected: no server
// sends such a row, and a malicious one has easier ways to lie.
func (r *rows) next() error {
	r.values[0] = r
	err := wire.Guarded(func() error { return r.result.Next(r.values) })
	if err == io.EOF && r.values[0] != driver.Value(r) {
		return wire.ErrUnreadable
	}
	return err
}

// finish ends the rows with an error, which is io.EOF if they are complete.
func (r *rows) finish(err error) error {
	if err == io.EOF {
		err = r.confirm()
	}
	switch {
	case err == io.EOF:
	case r.result != nil && errors.Is(err, r.ctx.Err()) && r.running.Err() == nil: // the connection can be kept
		err = fmt.Errorf("mysql: %s: %w", r.after(err), err)
	default:
		err = r.session.Explain(r.ctx, r.after(err), err)
	}
	r.end(err)
	return r.err
}

// after returns how many rows were received, for errors, unless the error says it.
func (r *rows) after(err error) string {
	if _, known := errors.AsType[*source.TextError](err); known || r.received == 0 {
		return r.name
	}
	return fmt.Sprintf("%s, after %d rows", r.name, r.received)
}

// confirm returns io.EOF if the server has no more rows, has counted as many as were received, and is still in the same
// transaction.
func (r *rows) confirm() (err error) {
	var counted [][]string
	if r.asText && r.session.IsMariaDB {
		if counted, err = wire.NextResult(r.result, 2); err != nil {
			return err
		}
	}
	if r.result.(driver.RowsNextResultSet).HasNextResultSet() {
		r.session.Kill() // otherwise the driver would receive them all
		return errors.New("the statement has more than one result")
	}
	if err := r.release(); err != nil {
		return err
	}
	if r.exact > 0 && r.received != r.exact {
		return &source.CountError{Received: r.received, Confirmed: r.exact}
	}
	if err := r.checkResult(counted); err != nil {
		return err
	}
	if err := r.checkDoubtful(); err != nil {
		return err
	}
	if !r.own {
		if err := r.session.keepSnapshot(r.running); err != nil {
			return err
		}
	}
	return io.EOF
}

// countSQL asks for the number of rows of the statement before, and for that of its warnings. Since it has no tables,
// it leaves both as they are.
const countSQL = "SELECT FOUND_ROWS(), @@warning_count"

// checkResult asks the server for the number of rows, unless it has come with them, and for warnings.
//
// MySQL warns of FOUND_ROWS itself, in place of the warnings that there were. To show these first leaves the number of
// rows as it is.
func (r *rows) checkResult(counted [][]string) (err error) {
	if !r.session.IsMariaDB {
		if err := r.session.Warned(r.running); err != nil {
			return err
		}
	}
	if counted == nil {
		if counted, err = r.session.Query(r.running, 2, countSQL); err != nil {
			return err
		}
	}
	if len(counted) != 1 {
		return wire.ErrAnswer
	}
	confirmed, err := strconv.ParseInt(counted[0][0], 10, 64)
	switch {
	case err != nil:
		return wire.ErrAnswer
	case counted[0][1] != "0" && r.session.IsMariaDB:
		if err := r.session.Warned(r.running); err != nil {
			return err
		}
	}
	if r.counted && confirmed != r.received {
		return &source.CountError{Received: r.received, Confirmed: confirmed}
	}
	return nil
}

// release frees the connection after the last row.
func (r *rows) release() error {
	var err error
	if r.result != nil {
		err = wire.Guarded(r.result.Close)
	}
	if r.statement != nil {
		err = errors.Join(err, wire.Guarded(r.statement.Close))
	}
	r.result, r.statement = nil, nil
	return err
}

func (r *rows) unread() bool { return r.err == nil }

// Close ends the statement on the server, if it still runs.
func (r *rows) Close() error {
	r.end(errClosed)
	return nil
}

// end sets the error that Next returns from now on. It leaves the connection as it was before the statement, or closed.
func (r *rows) end(err error) {
	if r.err != nil {
		return
	}
	r.err = err
	if r.cancel != nil {
		defer r.cancel()
	}
	if r.result != nil && wire.Refused(err) == nil && !r.session.Gone {
		r.interrupt() // otherwise the driver would receive all remaining rows
		return
	}
	// The statement has ended, or its connection is closed, so these errors are already known.
	_ = r.release()
	if err != io.EOF && !r.session.Gone && !r.own {
		_ = r.session.keepSnapshot(cmp.Or(r.running, r.ctx))
	}
}
