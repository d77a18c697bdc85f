package sqldb_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"strings"

	_ "github.com/ncruces/go-sqlite3/driver"
	_ "github.com/ncruces/go-sqlite3/vfs/memdb"

	"culvert/source"
	"culvert/sqldb"
)

// SQLite has no information_schema to find the names of tables in.
var config = sqldb.Config{Tables: "SELECT name FROM sqlite_schema WHERE type IN ('table', 'view')"}

func Example() {
	withTodos(func(ctx context.Context, db *sql.DB) error {
		rows, err := config.New(db).Table(ctx, "todos")
		if err != nil {
			return err
		}
		return errors.Join(printRows(rows), rows.Close())
	})
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

// Queries need nothing to be configured.
func ExampleNew() {
	withTodos(func(ctx context.Context, db *sql.DB) error {
		rows, err := sqldb.New(db).Query(ctx, "SELECT title FROM todos WHERE done")
		if err != nil {
			return err
		}
		return errors.Join(printRows(rows), rows.Close())
	})
	// Output:
	// title TEXT
	// text "learn"
}

// A database may quote names in its own way.
func ExampleConfig_New() {
	withTodos(func(ctx context.Context, db *sql.DB) error {
		backticks := config
		backticks.Quote = func(name string) string { return "`" + strings.ReplaceAll(name, "`", "``") + "`" }
		rows, err := backticks.New(db).Table(ctx, "todos")
		if err != nil {
			return err
		}
		fmt.Println(len(rows.Columns()), "columns")
		return rows.Close()
	})
	// Output: 3 columns
}

// The driver lib/pq delivers the values of enums as []byte, in columns without a type.
func ExampleConfig_Convert() {
	withTodos(func(ctx context.Context, db *sql.DB) error {
		enums := sqldb.Config{Convert: func(column *sql.ColumnType, value any) (any, error) {
			if label, ok := value.([]byte); ok && column.DatabaseTypeName() == "" {
				return string(label), nil
			}
			return value, nil
		}}
		rows, err := enums.New(db).Query(ctx, "SELECT CAST('done' AS BLOB) AS state")
		if err != nil {
			return err
		}
		return errors.Join(printRows(rows), rows.Close())
	})
	// Output:
	// state
	// text "done"
}

// An unknown table comes with the names there are.
func ExampleDB_Table() {
	withTodos(func(ctx context.Context, db *sql.DB) error {
		_, err := config.New(db).Table(ctx, "todo")
		if unknown, ok := errors.AsType[*source.UnknownError](err); ok {
			fmt.Println(unknown)
			fmt.Println("there is:", unknown.Known)
			return nil
		}
		return err
	})
	// Output:
	// source: table "todo" does not exist
	// there is: [todos]
}

// Of a table, some columns and rows can be had.
func ExampleDB_Select() {
	withTodos(func(ctx context.Context, db *sql.DB) error {
		rows, err := config.New(db).Select(ctx, "todos", source.Selection{
			Columns: []string{"title"},
			Where:   "done",
		})
		if err != nil {
			return err
		}
		return errors.Join(printRows(rows), rows.Close())
	})
	// Output:
	// title TEXT
	// text "learn"
}

// What gives *sql.Rows can be read: here a query with an argument.
func ExampleRows() {
	withTodos(func(ctx context.Context, db *sql.DB) error {
		rows, err := sqldb.Rows(ctx, func(ctx context.Context) (*sql.Rows, error) {
			return db.QueryContext(ctx, "SELECT id FROM todos WHERE title = ?", "learn")
		})
		if err != nil {
			return err
		}
		return errors.Join(printRows(rows), rows.Close())
	})
	// Output:
	// id INTEGER
	// number "1"
}

// In a transaction, the rows of several queries fit together.
func ExampleDB_Query() {
	withTodos(func(ctx context.Context, db *sql.DB) error {
		tx, err := db.BeginTx(ctx, nil)
		if err != nil {
			return err
		}
		src := sqldb.New(tx)
		for _, query := range []string{"SELECT id FROM todos WHERE done", "SELECT id FROM todos WHERE NOT done"} {
			rows, err := src.Query(ctx, query)
			if err == nil {
				err = errors.Join(printRows(rows), rows.Close())
			}
			if err != nil {
				return errors.Join(err, tx.Rollback())
			}
		}
		return errors.Join(src.Close(), tx.Rollback())
	})
	// Output:
	// id INTEGER
	// number "1"
	// id INTEGER
	// number "2"
}

// withTodos calls f with a database of one table.
func withTodos(f func(context.Context, *sql.DB) error) {
	ctx := context.Background()
	db, err := sql.Open("sqlite3", "file:/example.db?vfs=memdb")
	if err == nil {
		_, err = db.ExecContext(ctx, "CREATE TABLE todos (id INTEGER, title TEXT, done BOOLEAN);"+
			" INSERT INTO todos VALUES (1, 'learn', TRUE), (2, NULL, FALSE)")
		if err == nil {
			err = f(ctx, db)
		}
		err = errors.Join(err, db.Close())
	}
	if err != nil {
		fmt.Println(err)
	}
}

func printRows(rows source.Rows) error {
	for _, column := range rows.Columns() {
		fmt.Println(strings.TrimSpace(column.Name + " " + column.Type))
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
