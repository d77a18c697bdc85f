package database

import (
	"context"
	"errors"
	"io"

	"culvert/cmd/culvert/internal/command"
	"culvert/source"
)

// Evaluate returns the value of an expression, in a session of its own that changes nothing. The expression is there
// twice, since the one value is for many rows: one that has another value each time, such as a random one, is refused.
func (d Database) Evaluate(ctx context.Context, expression string) (source.Kind, []byte, error) {
	var batch source.Batch
	err := d.ask(ctx, "SELECT ("+expression+"\n) AS first, ("+expression+"\n) AS second", &batch)
	if err != nil {
		return source.Null, nil, err
	}
	if batch.Rows() != 1 || batch.Columns() != 2 {
		return source.Null, nil, errors.New("it is no expression with one value")
	}
	kind, value := batch.AnyValue(0, 0)
	if again, other := batch.AnyValue(0, 1); again != kind || string(other) != string(value) {
		return source.Null, nil, command.WithHint(errors.New("the expression has another value each time, and it is "+
			"evaluated once for all rows"),
			"make it the DEFAULT of the column, and load the others by --columns")
	}
	return kind, value, nil
}

// ask reads the first rows that a statement returns, in a session of its own.
func (d Database) ask(ctx context.Context, sql string, batch *source.Batch) (err error) {
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
	batch.Reset(len(rows.Columns()))
	if err := rows.Next(batch); err != nil && err != io.EOF {
		return d.Explain(err)
	}
	return nil
}
