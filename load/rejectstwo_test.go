package load_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"culvert/export"
	"culvert/format"
	"culvert/load"
	"culvert/place"
	"culvert/place/dir"
	"culvert/sink"
)

// meetingFile is committed when another one is ready for it, too.
type meetingFile struct {
	place.File
	both *sync.WaitGroup
}

func (f meetingFile) Commit() error {
	f.both.Done()
	f.both.Wait()
	return f.File.Commit()
}

// TestRejectsTwo has two loads put their rejected rows into one file at the same moment. One of them fails, and changes
// neither its table nor the file, which has the rows of the other.
func TestRejectsTwo(t *testing.T) {
	for name, open := range sides {
		t.Run(name, func(t *testing.T) {
			at := t.TempDir()
			to, err := dir.Open(at)
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = to.Close() }()
			all := [2]side{open(t), open(t)}
			var both, ended sync.WaitGroup
			both.Add(len(all))
			var errs [len(all)]error
			for i, s := range all {
				if err := s.try("CREATE TABLE goods (id int PRIMARY KEY, title text)"); err != nil {
					t.Fatal(err)
				}
				plan := load.Plan{Rejects: rejectsTo(to)}
				plan.Rejects.Create = func(ctx context.Context, name, _ string) (place.File, error) {
					f, err := to.Create(ctx, name)
					if err != nil {
						both.Done()
						return nil, err
					}
					return meetingFile{f, &both}, nil
				}
				text := strings.NewReader("id,title\n1,a\n1," + string(rune('x'+i)) + "\n")
				ended.Go(func() {
					_, errs[i] = plan.Text(t.Context(), s.dst, text, "goods.csv", format.CSV{}, "goods")
				})
			}
			ended.Wait()
			won := slices.Index(errs[:], nil)
			if won < 0 || !errors.Is(errs[1-won], fs.ErrExist) {
				t.Fatal(errs)
			}
			for i, s := range all {
				src := s.open()
				if rows := csvOf(t, src, "goods"); len(rows) > 0 != (i == won) {
					t.Errorf("load %d, of which %d has the file, has left %q", i, won, rows)
				}
				closing(t, src)
			}
			_, rows := readRejects(t, filepath.Join(at, "goods.csv"), "id,title\n")
			if want := "1," + string(rune('x'+won)) + "\n"; !slices.Equal(rows, []string{want}) {
				t.Errorf("the file has %q, want %q", rows, want)
			}
			if left, err := os.ReadDir(at); err != nil || len(left) != 1 {
				t.Errorf("%d files are left, %v", len(left), err)
			}
		})
	}
}

// apart is a table that is filled, with its rejected rows in a directory.
type apart struct {
	s     side
	table string
	again bool // it is begun again
}

// load loads the table t of an export, whose rejected rows go to folders named by what identifies the table. It returns
// the folder.
func (one apart) load(t *testing.T, files *export.Directory, at string) (folder string) {
	t.Helper()
	begin := []string{"CREATE TABLE " + one.table + " (id int PRIMARY KEY, title text)"}
	if one.again {
		begin = []string{"DELETE FROM " + one.table, "DELETE FROM ledger"}
	}
	for _, sql := range begin {
		if err := one.s.try(sql); err != nil {
			t.Fatal(err)
		}
	}
	rejects := rejectsIn(t, at)
	create, remove := rejects.Create, rejects.Remove
	named := func(name, into string) string {
		sum := sha256.Sum256([]byte(into))
		folder = hex.EncodeToString(sum[:])
		return folder + "/" + name
	}
	rejects.Create = func(ctx context.Context, name, into string) (place.File, error) {
		return create(ctx, named(name, into), into)
	}
	rejects.Remove = func(ctx context.Context, name, into string) error {
		return remove(ctx, named(name, into), into)
	}
	plan := load.Plan{Rejects: rejects, Filling: sink.Filling{
		Ledger: &sink.Ledger{Table: "ledger", Load: "load"}, EachPart: true,
	}}
	if _, err := plan.Directory(t.Context(), one.s.dst, files, map[string]string{"t": one.table}); err != nil {
		t.Fatal(err)
	}
	return folder
}

// TestRejectsApart loads one export into tables of two databases, and into two tables of one, with a ledger and one
// directory for the rejected rows. Each load has files of its own there, and only the same load replaces them.
func TestRejectsApart(t *testing.T) {
	from, texts := dirtyExport(t)
	files, err := export.OpenDirectory(os.DirFS(from))
	if err != nil {
		t.Fatal(err)
	}
	for name, open := range sides {
		t.Run(name, func(t *testing.T) {
			at := t.TempDir()
			first, second := open(t), open(t)
			all := []apart{{first, "t", false}, {second, "t", false}, {first, "u", false}}
			folders := make([]string, len(all))
			for i, one := range all {
				if folders[i] = one.load(t, files, at); slices.Index(folders, folders[i]) < i {
					t.Errorf("tables %d and %d are both %q", slices.Index(folders, folders[i]), i, folders[i])
				}
			}
			again := apart{first, "t", true}
			if folder := again.load(t, files, at); folder != folders[0] {
				t.Errorf("the table is %q, and then %q", folders[0], folder)
			}
			for i, one := range all {
				found := takenOrRejectedOf(t, one.s, one.table, filepath.Join(at, folders[i]))
				if !slices.Equal(found, texts) {
					t.Errorf("%d: %d rows are in the table and the files, want %d", i, len(found), len(texts))
				}
			}
		})
	}
}
