package export_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"culvert/export"
	"culvert/source"
)

// directory is the [export.Files] of a directory on a disk. A file that is not complete has another name. To survive a
// crash of the system, its name needs an fsync of the directory besides.
type directory string

func (d directory) Create(name string) (export.File, error) {
	path := filepath.Join(string(d), name)
	file, err := os.Create(path + ".part")
	if err != nil {
		return nil, err
	}
	return &directoryFile{file, path}, nil
}

type directoryFile struct {
	*os.File
	path string
}

func (f *directoryFile) Commit() error {
	if err := errors.Join(f.Sync(), f.Close()); err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	return os.Rename(f.Name(), f.path)
}

func (f *directoryFile) Discard() error { return errors.Join(f.Close(), os.Remove(f.Name())) }

// Files may be those of a directory.
func ExampleFiles() {
	withShop(func(src source.Source) (err error) {
		path, err := os.MkdirTemp("", "backup")
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, os.RemoveAll(path)) }()
		plan := export.Plan{Unencrypted: true}
		tables := []string{"orders", "customers"}
		if _, err := plan.Tables(context.Background(), directory(path), src, tables); err != nil {
			return err
		}
		written, err := os.ReadDir(path)
		for _, entry := range written {
			fmt.Println(entry.Name())
		}
		return err
	})
	// Output:
	// customers.csv.zst
	// manifest.json
	// orders.csv.zst
}
