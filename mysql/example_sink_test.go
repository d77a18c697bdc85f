package mysql_test

import (
	"context"
	"errors"
	"fmt"

	"culvert/mysql"
	"culvert/sink"
	"culvert/source"
)

// The examples need a server, and are only compiled.

// A table is filled, all rows or none.
func ExampleSink() {
	ctx := context.Background()
	fill := func() (rows int64, err error) {
		db, err := mysql.OpenSink(ctx, "mysql://writer@db.example.com/shop")
		if err != nil {
			return 0, err
		}
		defer func() { err = errors.Join(err, db.Close()) }()
		table, err := db.Table(ctx, "orders", sink.Filling{Existing: sink.Append})
		if err != nil {
			return 0, err
		}
		defer func() { err = errors.Join(err, table.Discard()) }() // does nothing after Commit
		var batch source.Batch
		batch.Reset(len(table.Columns()))
		for id, title := range []string{"water", "stone"} {
			batch.AppendInt(int64(id))
			batch.Append(source.Text, []byte(title))
			batch.EndRow()
		}
		loader := table.Loaders()[0]
		if err := loader.Load(&batch); err != nil {
			return 0, err
		}
		if rows, err = loader.Close(); err != nil {
			return 0, err
		}
		return rows, table.Commit()
	}
	rows, err := fill()
	fmt.Println(rows, err)
}
