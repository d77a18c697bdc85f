package export_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/ncruces/go-sqlite3"

	"culvert/export"
	"culvert/source"
	"culvert/source/sqlite"
)

// memory keeps files that are complete. On a disk each would be written under another name, and get its own in Commit,
// after an fsync.
type memory struct {
	mu    sync.Mutex // files are committed at the same time
	files map[string][]byte
}

func (m *memory) Create(name string) (export.File, error) { return &memoryFile{in: m, name: name}, nil }

type memoryFile struct {
	bytes.Buffer
	in   *memory
	name string
}

func (f *memoryFile) Commit() error {
	f.in.mu.Lock()
	defer f.in.mu.Unlock()
	f.in.files[f.name] = f.Bytes()
	return nil
}

func (f *memoryFile) Discard() error { return nil }

// Each table becomes a file, and the manifest says what is in them.
func ExamplePlan_Tables() {
	withShop(func(src source.Source) error {
		files := &memory{files: map[string][]byte{}}
		plan := export.Plan{Compression: export.None, Unencrypted: true}
		stats, err := plan.Tables(context.Background(), files, src, []string{"orders", "customers"})
		if err != nil {
			return err
		}
		for _, table := range stats {
			fmt.Println(table.Name, "is in", table.File, "with", table.Rows, "rows")
		}
		manifest, err := export.ReadManifest(bytes.NewReader(files.files[export.ManifestName]))
		if err != nil {
			return err
		}
		orders := manifest.Tables[0]
		fmt.Printf("%s: %d bytes, SHA-256 %.8s…\n", orders.File, orders.FileBytes, orders.SHA256)
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
	// Output: [{id INT} {title TEXT}] 1
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
	withShop(func(src source.Source) error {
		progress := new(export.Progress)
		fmt.Println(progress.Done())
		files := &memory{files: map[string][]byte{}}
		plan := export.Plan{Unencrypted: true, Progress: progress}
		_, err := plan.Tables(context.Background(), files, src, []string{"orders", "customers"})
		table, _ := progress.Table()
		fmt.Println(table.Number, "of", table.Of, progress.Rows.Load())
		return err
	})
	// Output:
	// -1
	// 2 of 2 3
}

// A manifest of another version is not read.
func ExampleReadManifest() {
	_, err := export.ReadManifest(strings.NewReader(`{"version": 9}`))
	fmt.Println(err)
	// Output: export: not a valid manifest: it has version 9, and only version 1 is known
}

// The names of files differ, also where letter case does not count.
func ExampleFileNames() {
	fmt.Println(export.FileNames([]string{"orders", "Orders", "a/b"}, ".csv.zst.age"))
	// Output: [orders.csv.zst.age Orders-2.csv.zst.age a_b.csv.zst.age]
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
		src, err := sqlite.Open(path)
		if err != nil {
			return err
		}
		return errors.Join(use(src), src.Close())
	}()
	if err != nil {
		fmt.Println(err)
	}
}
