package sqlite_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/ncruces/go-sqlite3"

	"culvert/source"
	"culvert/sqlite"
)

func ExampleSource() {
	withTodos(printTodos)
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

// A file that is not there is not made.
func ExampleOpenSource() {
	withTodos(func(path string) error {
		db, err := sqlite.OpenSource(path)
		if err == nil {
			err = db.Close()
		}
		fmt.Println("there:", err)
		_, err = sqlite.OpenSource(path + ".old")
		fmt.Println("not there:", errors.Is(err, source.ErrUnavailable))
		return nil
	})
	// Output:
	// there: <nil>
	// not there: true
}

// An unknown table comes with the names there are.
func ExampleSource_Table() {
	withTodos(func(path string) error {
		db, err := sqlite.OpenSource(path)
		if err != nil {
			return err
		}
		_, err = db.Table(context.Background(), "todo")
		fmt.Println(err)
		if unknown, ok := errors.AsType[*source.UnknownError](err); ok {
			fmt.Println("there is:", unknown.Known)
		}
		return db.Close()
	})
	// Output:
	// source: table "todo" does not exist
	// there is: [todos]
}

func ExampleSource_Select() {
	withTodos(func(path string) error {
		db, err := sqlite.OpenSource(path)
		if err != nil {
			return err
		}
		rows, err := db.Select(context.Background(), "todos", source.Selection{
			Columns: []string{"title", "id"},
			Where:   "title IS NOT NULL",
			Limit:   10,
		})
		if err != nil {
			return errors.Join(err, db.Close())
		}
		return errors.Join(printRows(rows), rows.Close(), db.Close())
	})
	// Output:
	// title TEXT
	// id INTEGER
	// text "learn"
	// number "1"
}

func ExampleSource_Tables() {
	withTodos(func(path string) error {
		db, err := sqlite.OpenSource(path)
		if err != nil {
			return err
		}
		names, err := db.Tables(context.Background(), "")
		for _, name := range names {
			rows, tableErr := db.Table(context.Background(), name)
			if tableErr != nil {
				return errors.Join(tableErr, db.Close())
			}
			if size, sizeErr := rows.(source.Sized).Size(); sizeErr == nil {
				fmt.Println(name, "has about", size.Rows, "rows")
			}
			err = errors.Join(err, rows.Close())
		}
		return errors.Join(err, db.Close())
	})
	// Output: todos has about 2 rows
}

func ExampleSource_Describe() {
	withTodos(func(path string) error {
		db, err := sqlite.OpenSource(path)
		if err != nil {
			return err
		}
		description, err := db.Describe(context.Background())
		system, _, _ := strings.Cut(description.System, ".")
		fmt.Println(system, filepath.Base(description.Database))
		return errors.Join(err, db.Close())
	})
	// Output: SQLite 3 todos.db
}

func ExampleSource_Query() {
	withTodos(func(path string) error {
		db, err := sqlite.OpenSource(path)
		if err != nil {
			return err
		}
		rows, err := db.Query(context.Background(), "SELECT count(*) AS n, upper(max(title)) AS last FROM todos")
		if err != nil {
			return errors.Join(err, db.Close())
		}
		return errors.Join(printRows(rows), rows.Close(), db.Close())
	})
	// Output:
	// n
	// last
	// number "2"
	// text "LEARN"
}

func ExampleSource_Close() {
	withTodos(func(path string) error {
		db, err := sqlite.OpenSource(path)
		if err != nil {
			return err
		}
		fmt.Println(db.Close())
		_, err = db.Table(context.Background(), "todos")
		fmt.Println("afterwards:", errors.Is(err, source.ErrUnavailable))
		return nil
	})
	// Output:
	// <nil>
	// afterwards: true
}

func printTodos(path string) error {
	db, err := sqlite.OpenSource(path)
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

// withTodos calls f with the path of a database, which it removes afterwards.
func withTodos(f func(path string) error) {
	dir, err := os.MkdirTemp("", "example")
	if err == nil {
		path := filepath.Join(dir, "todos.db")
		err = makeTodos(path)
		if err == nil {
			err = f(path)
		}
		err = errors.Join(err, os.RemoveAll(dir))
	}
	if err != nil {
		fmt.Println(err)
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
