package load_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/ncruces/go-sqlite3"

	"culvert/load"
	"culvert/sqlite"
)

// A table of SQLite goes into another database, and no file is written.
func ExamplePlan_Copy() {
	err := copyShop()
	if err != nil {
		fmt.Println(err)
	}
	// Output:
	// 2 rows
	// ["1,water\n" "2,stone\n"]
}

func copyShop() (err error) {
	directory, err := os.MkdirTemp("", "shop")
	if err != nil {
		return err
	}
	defer func() {
		if removeErr := os.RemoveAll(directory); err == nil {
			err = removeErr
		}
	}()
	path := filepath.Join(directory, "shop.db")
	shop, err := sqlite3.Open(path)
	if err != nil {
		return err
	}
	err = shop.Exec(`CREATE TABLE items (id INT, title TEXT); INSERT INTO items VALUES (1, 'water'), (2, 'stone')`)
	if closeErr := shop.Close(); err != nil || closeErr != nil {
		return fmt.Errorf("%w, %w", err, closeErr)
	}
	src, err := sqlite.OpenSource(path)
	if err != nil {
		return err
	}
	db, rows := newDatabase()
	stats, err := new(load.Plan).Copy(context.Background(), db, src, "items", "archive")
	if err != nil {
		return err
	}
	fmt.Println(stats.Rows, "rows")
	fmt.Printf("%q\n", rows.sorted("archive"))
	return src.Close()
}
