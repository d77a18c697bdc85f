package database

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"

	"culvert/cmd/culvert/internal/command"
	"culvert/source"
)

// Evaluate returns the value of an expression, in a session of its own that changes nothing. The one value is for many
// rows: an expression that may have another one for each is refused.
func (d Database) Evaluate(ctx context.Context, expression string) (source.Kind, []byte, error) {
	sql := "SELECT (" + expression + "\n)"
	if d.Engine != "postgres" {
		sql = manyRows + sql + " FROM culvert_rows"
	}
	var kind source.Kind
	var value []byte
	rows, differ := 0, false
	err := d.askAll(ctx, sql, func(batch *source.Batch) error {
		for row := range batch.Rows() {
			k, v := batch.AnyValue(row, 0)
			if rows == 0 {
				kind, value = k, bytes.Clone(v)
			}
			differ = differ || k != kind || !bytes.Equal(v, value)
			rows++
		}
		if batch.Columns() != 1 || d.Engine == "postgres" && rows > 1 {
			return errNoExpression
		}
		return nil
	})
	if err == nil && rows == 0 {
		err = errNoExpression
	}
	if err == nil && d.Engine == "postgres" {
		differ, err = d.isVolatile(ctx, expression)
	}
	if err == nil && differ {
		err = command.WithHint(errors.New("the expression has another value each time, and it is "+
			"evaluated once for all rows"),
			"make it the DEFAULT of the column, and load the others by --columns")
	}
	return kind, value, err
}

var errNoExpression = errors.New("it is no expression with one value")

// manyRows are a hundred rows. Systems that do not say whether an expression has another value for each row show it.
const manyRows = "WITH RECURSIVE culvert_rows (culvert_row) AS (SELECT 1 UNION ALL SELECT culvert_row + 1 " +
	"FROM culvert_rows WHERE culvert_row < 100) "

// isVolatile reports whether PostgreSQL would evaluate an expression for each row. Its planner says so: a condition
// without columns and volatile functions is not one of the rows that are read, but is checked once before.
func (d Database) isVolatile(ctx context.Context, expression string) (bool, error) {
	var plan []byte
	sql := "EXPLAIN (FORMAT JSON) SELECT FROM pg_catalog.generate_series(1, 2) AS culvert_rows (culvert_row)" +
		" WHERE (" + expression + "\n) IS NOT NULL"
	err := d.askAll(ctx, sql, func(batch *source.Batch) error {
		for row := range batch.Rows() {
			_, text := batch.AnyValue(row, 0)
			plan = append(plan, text...)
		}
		return nil
	})
	if err != nil {
		return false, err
	}
	var plans []struct {
		Plan struct{ Filter string }
	}
	if err := json.Unmarshal(plan, &plans); err != nil || len(plans) != 1 {
		return false, errors.New("the plan of the expression is not understood")
	}
	return plans[0].Plan.Filter != "", nil
}

// ask reads the first rows that a statement returns, in a session of its own.
func (d Database) ask(ctx context.Context, sql string, batch *source.Batch) error {
	return d.asking(ctx, sql, func(rows source.Rows) error {
		batch.Reset(len(rows.Columns()))
		if err := rows.Next(batch); err != io.EOF {
			return err
		}
		return nil
	})
}

// askAll passes on all rows that a statement returns, in a session of its own.
func (d Database) askAll(ctx context.Context, sql string, use func(*source.Batch) error) error {
	return d.asking(ctx, sql, func(rows source.Rows) error {
		var batch source.Batch
		batch.Reset(len(rows.Columns()))
		for {
			if err := rows.Next(&batch); err == io.EOF {
				return nil
			} else if err != nil {
				return err
			}
			if err := use(&batch); err != nil {
				return err
			}
		}
	})
}

func (d Database) asking(ctx context.Context, sql string, use func(source.Rows) error) (err error) {
	src, err := d.Open(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, src.Close()) }()
	rows, err := src.Query(ctx, sql)
	if err != nil {
		return d.Explain(err)
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	if err := use(rows); err != nil {
		return d.Explain(err)
	}
	return nil
}
