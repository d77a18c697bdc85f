package sqldb_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"

	_ "github.com/ncruces/go-sqlite3/driver"
	_ "github.com/ncruces/go-sqlite3/vfs/memdb"

	"culvert/source"
	"culvert/source/sqldb"
)

func Example() {
	db, err := sql.Open("sqlite3", "file:/example.db?vfs=memdb")
	if err == nil {
		err = errors.Join(printTodos(context.Background(), db), db.Close())
	}
	if err != nil {
		fmt.Println(err)
	}
	// Output:
	// id INTEGER
	// title TEXT
	// done BOOLEAN
	// number "1"
	// text "learn"
	// bool "t"
	// number "2"
	// null ""
	// bool "f"
}

func printTodos(ctx context.Context, db *sql.DB) error {
	_, err := db.ExecContext(ctx, "CREATE TABLE todos (id INTEGER, title TEXT, done BOOLEAN);"+
		" INSERT INTO todos VALUES (1, 'learn', TRUE), (2, NULL, FALSE)")
	if err != nil {
		return err
	}

	// SQLite has no information_schema to find the names of tables in.
	src := sqldb.Config{Tables: "SELECT name FROM sqlite_schema WHERE type IN ('table', 'view')"}.New(db)
	rows, err := src.Table(ctx, "todos")
	if err != nil {
		return err
	}
	return errors.Join(printRows(rows), rows.Close())
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
