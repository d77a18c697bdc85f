package sqldb_test

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"io"
	"testing"

	"culvert/source"
	"culvert/sqldb"
)

var errSecondResult = errors.New("the second result has failed")

// twoResults is a driver whose statements give one row, and fail before their second result, as a procedure can.
type twoResults struct{ driver.Conn }

func (twoResults) Connect(context.Context) (driver.Conn, error) { return twoResults{}, nil }
func (twoResults) Driver() driver.Driver                        { return nil }
func (twoResults) Close() error                                 { return nil }

func (twoResults) QueryContext(context.Context, string, []driver.NamedValue) (driver.Rows, error) {
	return &firstResult{}, nil
}

type firstResult struct{ read bool }

func (*firstResult) Columns() []string      { return []string{"n"} }
func (*firstResult) Close() error           { return nil }
func (*firstResult) HasNextResultSet() bool { return true }
func (*firstResult) NextResultSet() error   { return errSecondResult }
func (r *firstResult) Next(dest []driver.Value) error {
	if r.read {
		return io.EOF
	}
	r.read, dest[0] = true, int64(1)
	return nil
}

func TestSecondResultFails(t *testing.T) {
	db := sql.OpenDB(twoResults{})
	rows, err := sqldb.Rows(t.Context(), func(ctx context.Context) (*sql.Rows, error) {
		return db.QueryContext(ctx, "CALL p()")
	})
	if err != nil {
		t.Fatal(err)
	}
	var b source.Batch
	if err := rows.Next(&b); err != nil || b.Rows() != 1 {
		t.Fatal(b.Rows(), err)
	}
	if err := rows.Next(&b); !errors.Is(err, errSecondResult) {
		t.Errorf("after the rows: %v, want %v", err, errSecondResult)
	}
	if err := errors.Join(rows.Close(), db.Close()); err != nil {
		t.Error(err)
	}
}
