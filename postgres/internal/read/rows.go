package read

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/jackc/pgx/v5/pgconn"

	"culvert/postgres/internal/copybinary"
	"culvert/postgres/internal/valuetext"
	"culvert/source"
)

// rows are the rows of a table or query, whose statement runs when the first rows are read, or the rows of the ranges
// that one of several readers takes.
type rows struct {
	session  *session
	outer    context.Context // of the caller
	ctx      context.Context
	cancel   context.CancelFunc
	name     string    // of the table or query, for errors
	relation *relation // nil for a query
	columns  []source.Column
	sql      string
	known    *known   // what was known of the table before; nil if it was looked up for these rows
	release  bool     // the locks of rows before these must be released first
	same     [][]byte // the answer of the server to the question whether the table is the known one

	fields    []pgconn.FieldDescription // when the statement was prepared
	encodings []valuetext.Encoding
	formats   []int16  // of the encodings
	text      []byte   // for printers
	lent      [][]byte // the values of the last row, if they are lent

	ranged bool    // the statement reads a range
	exact  int64   // the number of rows, if it is known before they are read; otherwise 0
	ranges *ranges // nil if the rows were not divided
	places int64   // in the range that is read
	left   bool    // this reader has ended
	parts  []*rows // the other readers; only in the rows that were divided

	result   *pgconn.ResultReader
	running  bool // the connection belongs to these rows
	begun    bool // a statement has run
	received int64
	before   int64 // received by earlier statements
	err      error // what Next returns from now on
}

// csvRows are rows that COPY can print.
type csvRows struct{ *rows }

var (
	_ source.Rows         = (*rows)(nil)
	_ source.CSVWriter    = csvRows{}
	_ source.BinaryWriter = csvRows{}
)

// The forms in which COPY prints rows.
const (
	csvForm    = "csv"
	binaryForm = "binary"
)

var errClosed = errors.New("postgres: the rows are closed")

func newRows(
	ctx context.Context, s *session, name string, columns []source.Column, sql string, fields []pgconn.FieldDescription,
) *rows {
	r := &rows{
		session: s, outer: ctx, name: name, columns: columns, sql: sql,
		fields: fields, encodings: make([]valuetext.Encoding, len(fields)), formats: make([]int16, len(fields)),
	}
	// The rows end their statement as the caller does: by the context.
	r.ctx, r.cancel = context.WithCancel(ctx)
	for i, field := range fields {
		r.encodings[i] = valuetext.Of(field.DataTypeOID)
		r.formats[i] = r.encodings[i].Format
	}
	return r
}

func (r *rows) Columns() []source.Column { return r.columns }

func (r *rows) PrintedBy() source.Dialect { return source.PostgreSQL }

func (r *rows) Next(b *source.Batch) error {
	b.Reset(len(r.columns))
	if r.err != nil {
		return r.err
	}
	err := r.ctx.Err()
	if err == nil && !r.running {
		err = r.start()
	}
	for err == nil && !b.Full() {
		if err = r.fill(b); err == io.EOF && r.ranges != nil {
			err = r.start()
		}
	}
	if err == nil {
		if !b.HasLent() {
			// One goroutine may read all parts in turn if rows are copied, so no part may keep the others waiting.
			r.session.budget.Release()
		}
		return nil
	}
	if err = r.finish(err); err == io.EOF && b.Rows() > 0 {
		return nil
	}
	b.Reset(len(r.columns))
	return err
}

// finish ends the rows with an error, which is io.EOF if the server has confirmed them all. The last of several readers
// checks the table for all, since their locks hold until the transaction ends.
func (r *rows) finish(err error) error {
	switch {
	case err != io.EOF:
		err = r.session.failedAfter(r.ctx, r.name, r.received, err)
	case r.exact > 0 && r.received != r.exact:
		err = r.session.failed(r.ctx, r.name, &source.CountError{Received: r.received, Confirmed: r.exact})
	case r.known != nil && r.leave():
		err = cmp.Or(r.checkKnown(), err)
	case r.relation != nil && r.leave():
		err = cmp.Or(r.session.checkUnchanged(r.ctx, r.relation), err)
	}
	r.end(err)
	return r.err
}

// leave records that this reader has ended, and reports whether all readers have. Only the reader calls it.
func (r *rows) leave() (last bool) {
	if r.left || r.ranges == nil {
		return !r.left
	}
	r.left = true
	return r.ranges.leave()
}

// unread reports whether a reader may still read rows.
func (r *rows) unread() bool {
	if r.ranges != nil {
		return r.ranges.inUse()
	}
	return r.err == nil
}

// start runs the statement, or the statement of the next range. It returns io.EOF if there is none.
func (r *rows) start() error {
	sql, err := r.nextSQL()
	if err == nil {
		err = r.releaseBefore()
	}
	if err == nil && r.namesObjects() {
		err = r.session.conn.Exec(r.ctx, objectNamesSQL).Close()
	}
	if err != nil {
		return err
	}
	r.session.budget.Begin()
	r.result = r.session.conn.ExecParams(r.ctx, sql, nil, nil, nil, r.formats)
	fields := r.result.FieldDescriptions()
	if fields == nil {
		return nil // it has failed; reading returns the error
	}
	sameType := func(a, b pgconn.FieldDescription) bool { return a.DataTypeOID == b.DataTypeOID }
	if !slices.EqualFunc(fields, r.fields, sameType) {
		return errors.New("the columns have changed")
	}
	return nil
}

// nextSQL returns the statement of the next rows.
func (r *rows) nextSQL() (string, error) {
	r.running, r.begun, r.before = true, true, r.received
	if r.ranges == nil {
		return r.sql, nil
	}
	r.session.budget.Enter(r.ctx, r.ranges.room)
	condition, ok := r.ranges.take(&r.places)
	if !ok {
		return "", io.EOF
	}
	return r.rangeSQL(condition), nil
}

// rangeSQL returns the statement of the rows of a range.
func (r *rows) rangeSQL(condition string) string {
	if r.relation.Where != "" {
		return r.sql + " AND " + condition
	}
	return r.sql + " WHERE " + condition
}

// fill adds rows to the batch. It returns io.EOF after the last row, if the server confirms the count.
func (r *rows) fill(b *source.Batch) error {
	// Otherwise the last values would keep the memory of the whole row.
	clear(r.lent)
	r.lent = nil
	for !b.Full() {
		if row, ok := r.session.budget.Row(); ok {
			if err := r.add(b, row); err != nil {
				return err
			}
			continue
		}
		if !r.result.NextRow() {
			tag, err := r.result.Close()
			if err != nil {
				return err
			}
			r.result = nil
			return confirm(tag, r.received-r.before)
		}
		values := r.result.Values()
		if len(values) != len(r.encodings) {
			return fmt.Errorf("the server sent a row of %d values instead of %d", len(values), len(r.encodings))
		}
		lend := b.Lending() && isLarge(values)
		if lend {
			r.lent = values
		}
		for i, value := range values {
			encoding := &r.encodings[i]
			switch {
			case lend:
				if err := r.lend(b, i, value); err != nil {
					return err
				}
			case value == nil:
				b.AppendNull()
			case encoding.Print == nil:
				b.Append(encoding.Kind, value)
			default:
				var ok bool
				if r.text, ok = encoding.Print(r.text[:0], value); !ok {
					return r.wrongLength(i, value)
				}
				b.Append(encoding.Kind, r.text)
			}
		}
		b.EndRow()
		r.received++
	}
	return nil
}

// confirm compares the number of rows with the command tag, and returns io.EOF if they agree.
func confirm(tag pgconn.CommandTag, received int64) error {
	if slices.Contains([]string{"SHOW", "EXPLAIN", "CALL"}, tag.String()) {
		return io.EOF // these tags have no number
	}
	if confirmed := tag.RowsAffected(); confirmed != received {
		return &source.CountError{Received: received, Confirmed: confirmed}
	}
	return io.EOF
}

func (r csvRows) WriteCSV(w io.Writer) (int64, error) {
	return r.writeRows(&rowWriter{w: w, rows: r.rows, form: csvForm})
}

// HasBinary is false for text that may have no encoding.
func (r csvRows) HasBinary() bool {
	return len(r.columns) > 0 && copybinary.KeepsAll(r.columns) &&
		r.session.conn.ParameterStatus("server_encoding") != "SQL_ASCII"
}

func (r csvRows) WriteBinary(w io.Writer) (int64, error) {
	return r.writeRows(&rowWriter{w: w, rows: r.rows, form: binaryForm})
}

func (r csvRows) writeRows(out *rowWriter) (int64, error) {
	if r.running || r.err == io.EOF {
		return 0, errors.New("postgres: the rows have already been read")
	}
	if r.err != nil {
		return 0, r.err
	}
	sql, err := r.nextSQL()
	for err == nil {
		err = r.copyTo(out, sql)
		if err == io.EOF && r.ranges != nil {
			sql, err = r.nextSQL()
		}
	}
	if out.err != nil {
		r.end(out.err)
		return r.received, r.err
	}
	if err := r.finish(err); err != io.EOF {
		return r.received, err
	}
	return r.received, nil
}

// copyTo has the server print the rows of a statement. It returns io.EOF if the server confirms the count.
func (r csvRows) copyTo(out *rowWriter, sql string) error {
	out.binary = copybinary.Rows{}
	sql = r.copySQL(sql) + " TO STDOUT (FORMAT " + out.form + ")"
	if r.namesObjects() {
		sql = objectNamesSQL + ";\n" + sql
	}
	if r.known != nil {
		return r.copyKnown(out, sql)
	}
	tag, err := r.session.conn.CopyTo(r.ctx, out, sql)
	switch {
	case out.err != nil:
		return out.err
	case err != nil:
		return err
	}
	return confirm(tag, r.received-r.before)
}

// copySQL returns the begin of the statement that prints the rows of another one. COPY reads a plain table by itself.
func (r csvRows) copySQL(sql string) string {
	t := r.relation
	switch {
	case t == nil || !t.plain || !t.IsZero() || r.ranged || r.ranges != nil:
		return copySQL(withoutEnd(sql))
	case t.list == "":
		return "COPY " + t.sqlName()
	}
	return "COPY " + t.sqlName() + " (" + t.list + ")"
}

// objectNamesSQL has the server print names of objects, as of regclass, with their schemas, as pg_dump does: so they
// mean the same whatever the search path is where they are loaded. The user's path is back when the locks of these rows
// are released.
const objectNamesSQL = "SET LOCAL search_path = pg_catalog, pg_temp"

// namesObjects reports whether values may be names of objects. Only types whose binary form is kept certainly have
// none: arrays, domains and composite types may hold some. A view, and a condition of the user, may need the user's
// search path.
func (r *rows) namesObjects() bool {
	return r.relation != nil && r.relation.kind != "v" && r.relation.Where == "" && !copybinary.KeepsAll(r.columns)
}

// rowWriter receives the rows of a COPY. The server sends each row in a CopyData message of its own.
type rowWriter struct {
	w      io.Writer
	rows   *rows
	form   string
	binary copybinary.Rows // of the statement that runs
	err    error
}

// Write never returns an error, which would close the connection. Instead, it has the server end the statement, and
// drops the rows that are still on the way.
func (w *rowWriter) Write(p []byte) (int, error) {
	if w.err != nil {
		return len(p), nil
	}
	row, err := p, error(nil)
	if w.form == binaryForm {
		if row, err = w.binary.Row(p); row == nil && err == nil {
			return len(p), nil
		}
	}
	if err == nil {
		var n int
		if n, err = w.w.Write(row); err == nil && n < len(row) {
			err = io.ErrShortWrite
		}
	}
	if err != nil {
		w.err = err
		w.rows.cancel()
		return len(p), nil
	}
	w.rows.received++
	return len(p), nil
}

// Close ends the statements that still run on the server, including those of the other readers.
func (r *rows) Close() error {
	for _, part := range r.parts {
		part.cancel() // all at once, since a server may be slow
	}
	r.end(errClosed)
	for _, part := range r.parts {
		part.end(errClosed)
	}
	return nil
}

// end sets the error that Next returns from now on.
func (r *rows) end(err error) {
	if r.err == nil {
		r.err = err
		r.leave()
	}
	r.stop()
}

// stop frees the connection. It cancels a statement that still runs; if the server does not react within grace, the
// connection is closed.
func (r *rows) stop() {
	r.cancel()
	if r.result != nil {
		_, _ = r.result.Close() // dropped rows need no confirmation
		r.result = nil
	}
	r.session.budget.Leave()
	r.running = false
}
