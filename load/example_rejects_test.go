package load_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/ncruces/go-sqlite3"

	"culvert/format"
	"culvert/load"
	"culvert/place"
	"culvert/place/dir"
	"culvert/sqlite"
)

// Rows that the database refuses go to a file, and the others are loaded.
func ExampleRejects() {
	if err := rejectOrders(); err != nil {
		fmt.Println(err)
	}
	// Output:
	// 1 row is loaded
	// rejected_row,rejected_column,rejected_reason,id,total
	// 2,"total","sqlite3: constraint failed: NOT NULL constraint failed: orders.total",2,
}

func rejectOrders() (err error) {
	at, err := os.MkdirTemp("", "rejects")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(at)) }()
	db, err := sqlite.CreateSink(filepath.Join(at, "shop.db"))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	if err := makeOrders(filepath.Join(at, "shop.db")); err != nil {
		return err
	}
	to, err := dir.Open(at)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, to.Close()) }()
	plan := load.Plan{Rejects: &load.Rejects{
		Create: func(ctx context.Context, name, _ string) (place.File, error) {
			return to.Create(ctx, "rejected-"+name)
		},
		Remove: func(ctx context.Context, name, _ string) error {
			if err := to.Remove(ctx, "rejected-"+name); !errors.Is(err, fs.ErrNotExist) {
				return err
			}
			return nil
		},
	}}
	text := strings.NewReader("id,total\n1,10\n2,\n")
	stats, err := plan.Text(context.Background(), db, text, "orders.csv", format.CSV{}, "orders")
	if err != nil {
		return err
	}
	rejected, err := os.ReadFile(filepath.Join(at, "rejected-orders.csv"))
	fmt.Printf("%d row is loaded\n%s", stats.Rows, rejected)
	return err
}

func makeOrders(path string) (err error) {
	conn, err := sqlite3.Open(path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, conn.Close()) }()
	return conn.Exec("CREATE TABLE orders (id INTEGER PRIMARY KEY, total INTEGER NOT NULL)")
}
