package export_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/ncruces/go-sqlite3"

	"culvert/export"
	"culvert/place"
	"culvert/place/dir"
	"culvert/source"
	"culvert/sqlite"
)

// Each table becomes a file, and the manifest says what is in them.
func ExamplePlan_Tables() {
	withBackup(func(backup place.Place, src source.Source) error {
		plan := export.Plan{Compression: export.None, Unencrypted: true}
		stats, err := plan.Tables(context.Background(), backup, src, []string{"orders", "customers"})
		if err != nil {
			return err
		}
		for _, table := range stats {
			fmt.Println(table.Name, "is in", table.File, "with", table.Rows, "rows")
		}
		written, err := export.OpenDirectory(backup)
		if err != nil {
			return err
		}
		orders := written.Manifest.Tables[0]
		fmt.Printf("%s: %d bytes, SHA-256 %.8s…\n", orders.File(), orders.FileBytes, orders.Parts[0].SHA256)
		return nil
	})
	// Output:
	// orders is in orders.csv with 2 rows
	// customers is in customers.csv with 1 rows
	// orders.csv: 21 bytes, SHA-256 3151e62a…
}

// What is known before anything is read.
func ExamplePlan_Estimate() {
	withShop(func(src source.Source) error {
		plan := export.Plan{Jobs: 4}
		estimate, err := plan.Estimate(context.Background(), src, "orders")
		fmt.Println(estimate.Columns, estimate.Readers)
		return err
	})
	// Output: [{id INT int64 false} {title TEXT string false}] 1
}

// A part of a table.
func ExamplePlan_Table_selection() {
	withShop(func(src source.Source) error {
		plan := export.Plan{
			Compression: export.None, Unencrypted: true,
			Selection: source.Selection{Columns: []string{"title"}, Where: "id > 1"},
		}
		_, err := plan.Table(context.Background(), os.Stdout, src, "orders")
		return err
	})
	// Output:
	// title
	// two
}

// How far an export is can be asked at any time, also by other goroutines.
func ExampleProgress() {
	withBackup(func(backup place.Place, src source.Source) error {
		progress := new(export.Progress)
		fmt.Println(progress.Done())
		plan := export.Plan{Unencrypted: true, Progress: progress}
		_, err := plan.Tables(context.Background(), backup, src, []string{"orders", "customers"})
		table, _ := progress.Table()
		fmt.Println(table.Number, "of", table.Of, progress.Rows.Load())
		return err
	})
	// Output:
	// -1
	// 2 of 2 3
}

// withShop calls use with a database of two tables.
func withShop(use func(source.Source) error) {
	err := func() (err error) {
		dir, err := os.MkdirTemp("", "shop")
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
		path := filepath.Join(dir, "shop.db")
		conn, err := sqlite3.Open(path)
		if err != nil {
			return err
		}
		err = conn.Exec(`CREATE TABLE orders (id INT, title TEXT); INSERT INTO orders VALUES (1, 'one'), (2, 'two');
			CREATE TABLE customers (id INT); INSERT INTO customers VALUES (7)`)
		if err = errors.Join(err, conn.Close()); err != nil {
			return err
		}
		src, err := sqlite.OpenSource(path)
		if err != nil {
			return err
		}
		return errors.Join(use(src), src.Close())
	}()
	if err != nil {
		fmt.Println(err)
	}
}

// withBackup calls use with a directory for its tables, too.
func withBackup(use func(place.Place, source.Source) error) {
	withShop(func(src source.Source) (err error) {
		path, err := os.MkdirTemp("", "backup")
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, os.RemoveAll(path)) }()
		backup, err := dir.Open(path)
		if err != nil {
			return err
		}
		return errors.Join(use(backup, src), backup.Close())
	})
}
