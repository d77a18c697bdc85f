package gormdb_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"gorm.io/gorm"

	"culvert/export"
	"culvert/gormdb"
	"culvert/source"
)

type Todo struct {
	ID        uint
	Title     string
	Done      bool
	DeletedAt gorm.DeletedAt
}

// The rows of a query go to a file; here they go, neither compressed nor encrypted, to the standard output.
func Example() {
	withTodos(func(db *gorm.DB) error {
		plan := export.Plan{Compression: export.None, Unencrypted: true}
		todos := db.Model(&Todo{}).Where("done = ?", true).Select("id", "title").Order("id")
		stats, err := plan.Rows(context.Background(), os.Stdout, gormdb.Query(todos))
		fmt.Println(stats.Rows, "rows")
		return err
	})
	// Output:
	// id,title
	// 1,Call Zoë
	// 4,"Pay ""the landlord"""
	// 2 rows
}

// Rows can also be read one by one, as bytes.
func ExampleQuery() {
	withTodos(func(db *gorm.DB) error {
		todos := db.Raw("SELECT id, title FROM todos WHERE id > ? ORDER BY id", 1)
		rows, err := gormdb.Query(todos)(context.Background())
		if err != nil {
			return err
		}
		return errors.Join(printRows(rows), rows.Close())
	})
	// Output:
	// number "2", null ""
	// number "3", text ""
	// number "4", text "Pay \"the landlord\""
}

// Queries in one transaction fit together.
func ExampleQuery_transaction() {
	withTodos(func(db *gorm.DB) error {
		plan := export.Plan{Compression: export.None, Unencrypted: true}
		return db.Transaction(func(tx *gorm.DB) error {
			done := tx.Model(&Todo{}).Where("done").Select("COUNT(*) AS done")
			all := tx.Model(&Todo{}).Unscoped().Select("COUNT(*) AS all_todos")
			_, err := plan.Rows(context.Background(), os.Stdout, gormdb.Query(done))
			if err == nil {
				_, err = plan.Rows(context.Background(), os.Stdout, gormdb.Query(all))
			}
			return err
		})
	})
	// Output:
	// done
	// 2
	// all_todos
	// 4
}

// withTodos calls f with a database of one table.
func withTodos(f func(*gorm.DB) error) {
	db, err := openSQLite(":memory:", &gorm.Config{})
	if err == nil {
		err = db.Exec("CREATE TABLE todos (id INTEGER, title TEXT, done BOOLEAN, deleted_at DATETIME);" +
			" INSERT INTO todos VALUES (1, 'Call Zoë', TRUE, NULL), (2, NULL, FALSE, NULL)," +
			" (3, '', TRUE, '2026-01-02 03:04:05'), (4, 'Pay \"the landlord\"', TRUE, NULL)").Error
		if err == nil {
			err = f(db)
		}
		pool, poolErr := db.DB()
		if poolErr == nil {
			poolErr = pool.Close()
		}
		err = errors.Join(err, poolErr)
	}
	if err != nil {
		fmt.Println(err)
	}
}

func printRows(rows source.Rows) error {
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
				if column > 0 {
					fmt.Print(", ")
				}
				fmt.Printf("%v %q", kind, value)
			}
			fmt.Println()
		}
	}
}
