package export_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"culvert/export"
	"culvert/manifest"
	"culvert/place"
	"culvert/place/dir"
)

// counted counts how many files are committed together, and calls begin with the name of each file that is begun.
type counted struct {
	place.Place
	begin  func(name string)
	groups []int
}

func (c *counted) Create(ctx context.Context, name string) (place.File, error) {
	return c.count(c.Place.Create(ctx, name))(name)
}

func (c *counted) Replace(ctx context.Context, name string) (place.File, error) {
	return c.count(c.Place.Replace(ctx, name))(name)
}

func (c *counted) count(f place.File, err error) func(string) (place.File, error) {
	return func(name string) (place.File, error) {
		c.begin(name)
		return countedFile{f, c}, err
	}
}

type countedFile struct {
	place.File
	of *counted
}

func (f countedFile) Commit() error {
	f.of.groups = append(f.of.groups, 1)
	return f.File.Commit()
}

func (f countedFile) CommitAll(files []place.File) []error {
	f.of.groups = append(f.of.groups, len(files))
	inner := make([]place.File, len(files))
	for i, one := range files {
		inner[i] = one.(countedFile).File
	}
	return inner[0].(place.Grouped).CommitAll(inner)
}

func newCounted(t *testing.T) (_ *counted, path string) {
	t.Helper()
	path = t.TempDir()
	to, err := dir.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := to.Close(); err != nil {
			t.Error(err)
		}
	})
	return &counted{Place: to, begin: func(string) {}}, path
}

func manyTables(rows int) (src schema, names []string) {
	src = schema{}
	for i := range 100 {
		names = append(names, fmt.Sprint("t", i))
		src[names[i]] = &generated{rows: rows}
	}
	return src, names
}

// TestTablesCommittedTogether has small files share their commits, of which none is left when the manifest begins, and
// large ones, which do not wait for others.
func TestTablesCommittedTogether(t *testing.T) {
	for name, test := range map[string]struct{ rows, least, most int }{
		"Small": {10, 2, 5}, "Large": {15_000, 6, 100},
	} {
		t.Run(name, func(t *testing.T) {
			files, path := newCounted(t)
			src, names := manyTables(test.rows)
			files.begin = func(name string) {
				if name != manifest.Name {
					return
				}
				if found, err := filepath.Glob(filepath.Join(path, "t*.csv")); err != nil || len(found) != len(names) {
					t.Errorf("%d files are complete when the manifest begins, error %v", len(found), err)
				}
			}
			plan := export.Plan{Unencrypted: true, Compression: export.None, Jobs: 1}
			all, err := plan.Tables(t.Context(), files, src, names)
			if err != nil || len(all) != len(names) {
				t.Fatalf("%d tables, error %v", len(all), err)
			}
			if n := len(files.groups) - 1; n < test.least || n > test.most { // without the manifest
				t.Errorf("%d tables of %d bytes were committed as %d", len(names), all[0].Out, files.groups)
			}
		})
	}
}

// TestTablesStopWhileFilesWait ends an export whose last files wait for others. Those that are said to be complete are
// there, and nothing is left of the others.
func TestTablesStopWhileFilesWait(t *testing.T) {
	files, path := newCounted(t)
	src, names := manyTables(10)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	files.begin = func(name string) {
		if name == "t50.csv" {
			cancel()
		}
	}
	plan := export.Plan{Unencrypted: true, Compression: export.None, Jobs: 1}
	all, err := plan.Tables(ctx, files, src, names)
	if !errors.Is(err, context.Canceled) || len(all) == 0 {
		t.Errorf("%d tables, error %v", len(all), err)
	}
	said := map[string]bool{}
	for _, one := range all {
		said[one.File] = true
	}
	entries, err := os.ReadDir(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range entries {
		if name := entry.Name(); strings.HasSuffix(name, ".part") {
			t.Errorf("%s is left", name)
		}
		delete(said, entry.Name())
	}
	if len(said) > 0 {
		t.Errorf("%v are said to be complete, and are not there", said)
	}
}
