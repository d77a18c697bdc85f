package sqlite_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/ncruces/go-sqlite3"

	"culvert/source"
	"culvert/source/sqlite"
)

func Example() {
	dir, err := os.MkdirTemp("", "example")
	if err == nil {
		path := filepath.Join(dir, "todos.db")
		err = makeTodos(path)
		if err == nil {
			err = printTodos(path)
		}
	}
	if err != nil {
		fmt.Println(err)
	}
	if err := os.RemoveAll(dir); err != nil {
		fmt.Println(err)
	}
	// Output:
	// id INTEGER
	// title TEXT
	// price REAL
	// number "1"
	// text "learn"
	// number "2.0"
	// number "2"
	// null ""
	// bytes "\x00"
}

func printTodos(path string) error {
	db, err := sqlite.Open(path)
	if err != nil {
		return err
	}
	rows, err := db.Table(context.Background(), "todos")
	if err != nil {
		return errors.Join(err, db.Close())
	}
	return errors.Join(printRows(rows), rows.Close(), db.Close())
}

func printRows(rows source.Rows) error {
	for _, column := range rows.Columns() {
		fmt.Println(column.Name, column.Type)
	}
	var batch source.Batch
	for {
		err := rows.Next(&batch)
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		for row := range batch.Rows() {
			for column := range batch.Columns() {
				kind, value := batch.Value(row, column)
				fmt.Printf("%v %q\n", kind, value)
			}
		}
	}
}

// makeTodos makes a database, by means that are not part of this package.
func makeTodos(path string) error {
	conn, err := sqlite3.Open(path)
	if err != nil {
		return err
	}
	err = conn.Exec("CREATE TABLE todos (id INTEGER, title TEXT, price REAL);" +
		" INSERT INTO todos VALUES (1, 'learn', 2), (2, NULL, x'00')")
	return errors.Join(err, conn.Close())
}
