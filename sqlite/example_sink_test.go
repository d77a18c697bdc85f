package sqlite_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/ncruces/go-sqlite3"

	"culvert/sink"
	"culvert/source"
	"culvert/sqlite"
)

// A table is filled, all rows or none.
func ExampleSink() {
	if err := fill(); err != nil {
		fmt.Println(err)
	}
	// Output:
	// 2 rows in todos
}

func fill() (err error) {
	dir, err := os.MkdirTemp("", "")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	path := filepath.Join(dir, "todos.db")
	conn, err := sqlite3.Open(path)
	if err != nil {
		return err
	}
	if err := errors.Join(conn.Exec("CREATE TABLE todos (id INTEGER, title TEXT)"), conn.Close()); err != nil {
		return err
	}

	db, err := sqlite.OpenSink(path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	table, err := db.Table(context.Background(), "todos", sink.Filling{})
	if err != nil {
		return err
	}
	var batch source.Batch
	batch.Reset(len(table.Columns()))
	for id, title := range []string{"water", "stone"} {
		batch.AppendInt(int64(id))
		batch.Append(source.Text, []byte(title))
		batch.EndRow()
	}
	loader := table.Loaders()[0]
	if err := loader.Load(&batch); err != nil {
		return errors.Join(err, table.Discard())
	}
	rows, err := loader.Close()
	if err != nil {
		return errors.Join(err, table.Discard())
	}
	if err := table.Commit(); err != nil {
		return err
	}
	fmt.Println(rows, "rows in todos")
	return nil
}
