package sqldb

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"net"

	"culvert/source"
)

type rows struct {
	ctx     context.Context
	rows    *sql.Rows
	types   []*sql.ColumnType
	columns []source.Column
	values  []value
	dest    []any // pointers to values, for Scan
	err     error
	closed  bool
}

// Rows runs a query and returns its rows, with the zero [Config].
func Rows(ctx context.Context, query func(context.Context) (*sql.Rows, error)) (source.Rows, error) {
	return Config{}.Rows(ctx, query)
}

// Rows runs a query and returns its rows. The query may have arguments, be a prepared statement, or come from a query
// builder.
//
//	rows, err := sqldb.Rows(ctx, func(ctx context.Context) (*sql.Rows, error) {
//		return db.QueryContext(ctx, "SELECT * FROM orders WHERE shop = $1", shop)
//	})
//
// The context must govern the query. Closing the returned rows closes the rows of the query. If Rows fails, it closes
// them itself.
func (c Config) Rows(ctx context.Context, query func(context.Context) (*sql.Rows, error)) (source.Rows, error) {
	rows, err := run(ctx, query)
	if err != nil {
		return nil, err
	}
	return withColumns(c.converted(rows))
}

// converted applies Convert to the values. Rows that this package reads for itself go without.
func (c Config) converted(rows *rows) *rows {
	if c.Convert != nil {
		for i, t := range rows.types {
			rows.values[i].convert = func(src any) (any, error) { return c.Convert(t, src) }
		}
	}
	return rows
}

// withColumns refuses the rows of a statement without columns.
func withColumns(rows *rows) (source.Rows, error) {
	if len(rows.columns) == 0 {
		return nil, errors.Join(errors.New("sqldb: the statement returns no rows"), rows.Close())
	}
	return rows, nil
}

func run(ctx context.Context, query func(context.Context) (*sql.Rows, error)) (*rows, error) {
	if err := ctx.Err(); err != nil {
		return nil, fail(ctx, err)
	}
	result, err := query(ctx)
	if err == nil && result == nil {
		err = errors.New("the query returned neither rows nor an error")
	}
	if err == nil {
		var rows *rows
		if rows, err = newRows(ctx, result); err == nil {
			return rows, nil
		}
	}
	err = fail(ctx, err)
	if result != nil { // wrappers of database/sql may return both
		err = errors.Join(err, result.Close())
	}
	return nil, err
}

func newRows(ctx context.Context, result *sql.Rows) (*rows, error) {
	types, err := result.ColumnTypes()
	if err != nil {
		return nil, err
	}
	r := &rows{ctx: ctx, rows: result, types: types, values: make([]value, len(types))}
	for i, t := range types {
		r.columns = append(r.columns, source.Column{
			Name: t.Name(), Type: t.DatabaseTypeName(), Logical: logicalOf(t),
		})
		r.values[i].columnType = typeOf(t.DatabaseTypeName())
		if _, scale, ok := t.DecimalSize(); ok && scale <= maxScale {
			r.values[i].scale = int(scale)
		}
		r.dest = append(r.dest, &r.values[i])
	}
	return r, nil
}

func (r *rows) Columns() []source.Column { return r.columns }

func (r *rows) Next(b *source.Batch) error {
	b.Reset(len(r.columns))
	if r.err == nil {
		r.err = r.fill(b)
	}
	if r.err != nil {
		b.Reset(len(r.columns))
	}
	return r.err
}

func (r *rows) fill(b *source.Batch) error {
	// database/sql notices the end of a context with a delay.
	if err := r.ctx.Err(); err != nil {
		return fail(r.ctx, err)
	}
	for i := range r.values {
		r.values[i].batch = b
	}
	for !b.Full() && r.rows.Next() {
		if err := r.rows.Scan(r.dest...); err != nil {
			return fail(r.ctx, err)
		}
		b.EndRow()
	}
	switch {
	case b.Rows() > 0:
		return nil // sql.Rows keeps an error for the next call
	case r.rows.Err() != nil:
		return fail(r.ctx, r.rows.Err())
	case r.rows.NextResultSet():
		return errors.New("sqldb: the query has more than one result")
	}
	if err := r.rows.Err(); err != nil { // of the next result
		return fail(r.ctx, err)
	}
	return io.EOF
}

func (r *rows) Close() error {
	if r.closed {
		return nil
	}
	r.closed = true
	err := r.rows.Close()
	switch r.err {
	case nil:
		r.err = errors.New("sqldb: the rows are closed")
	case io.EOF:
	default:
		return nil // drivers repeat the error
	}
	if err != nil && r.ctx.Err() == nil {
		return fail(r.ctx, err)
	}
	return nil
}

// fail classifies an error of database/sql.
func fail(ctx context.Context, err error) error {
	_, network := errors.AsType[*net.OpError](err)
	_, name := errors.AsType[*net.DNSError](err)
	switch {
	case ctx.Err() != nil:
		return fmt.Errorf("sqldb: %w", ctx.Err())
	case network, name,
		errors.Is(err, driver.ErrBadConn), errors.Is(err, sql.ErrConnDone), errors.Is(err, io.ErrUnexpectedEOF):
		return fmt.Errorf("%w: %w", source.ErrUnavailable, err)
	}
	return fmt.Errorf("sqldb: %w", err)
}
