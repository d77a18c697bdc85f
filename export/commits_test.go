package export_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"culvert/export"
	"culvert/manifest"
	"culvert/place"
	"culvert/place/dir"
)

// counted counts how many files are committed together. It calls begin with the name of each file that is begun, and
// wrote, if it is not nil, with the bytes that a file has before it is given more.
type counted struct {
	place.Place
	begin  func(name string)
	wrote  func(name string, bytes int) error
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
		return &countedFile{File: f, of: c, name: name}, err
	}
}

type countedFile struct {
	place.File
	of    *counted
	name  string
	bytes int
}

func (f *countedFile) Write(p []byte) (int, error) {
	if f.of.wrote != nil {
		if err := f.of.wrote(f.name, f.bytes); err != nil {
			return 0, err
		}
	}
	n, err := f.File.Write(p)
	f.bytes += n
	return n, err
}

func (f *countedFile) Commit() error {
	f.of.groups = append(f.of.groups, 1)
	return f.File.Commit()
}

func (f *countedFile) CommitAll(files []place.File) []error {
	f.of.groups = append(f.of.groups, len(files))
	inner := make([]place.File, len(files))
	for i, one := range files {
		inner[i] = one.(*countedFile).File
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

// TestTablesCommittedTogether has small files share their commits, of which none is left when the manifest begins.
func TestTablesCommittedTogether(t *testing.T) {
	files, path := newCounted(t)
	src, names := manyTables(10)
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
	if n := len(files.groups) - 1; n < 2 || n > 5 { // without the manifest
		t.Errorf("%d tables of %d bytes were committed as %d", len(names), all[0].Out, files.groups)
	}
}

// TestTablesBesideLarge has a large file go on only when the small ones before it are there, and the next one begin
// only when the large one is there.
func TestTablesBesideLarge(t *testing.T) {
	const enough = 1 << 20
	files, path := newCounted(t)
	src := schema{"large": {rows: 20_000, text: wide}, "next": {rows: 10}}
	var small []string
	for i := range 10 {
		small = append(small, fmt.Sprint("t", i))
		src[small[i]] = &generated{rows: 10}
	}
	await := func(names ...string) error {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		for _, name := range names {
			for ctx.Err() == nil {
				if _, err := os.Stat(filepath.Join(path, name+".csv")); err == nil {
					break
				}
				runtime.Gosched()
			}
		}
		return ctx.Err()
	}
	files.wrote = func(name string, bytes int) error {
		if name == "large.csv" && bytes > enough {
			return await(small...)
		}
		return nil
	}
	files.begin = func(name string) {
		if name == "next.csv" {
			if err := await("large"); err != nil {
				t.Error("the large file waits for the next one")
			}
		}
	}
	plan := export.Plan{Unencrypted: true, Compression: export.None, Jobs: 1}
	all, err := plan.Tables(t.Context(), files, src, append(small, "large", "next"))
	if err != nil || len(all) != 12 || all[10].Out < 2*enough {
		t.Errorf("%d tables, error %v", len(all), err)
	}
	if n := len(files.groups); n > 6 {
		t.Errorf("the tables were committed as %d", files.groups)
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
