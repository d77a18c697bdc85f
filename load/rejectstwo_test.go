package load_test

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"culvert/format"
	"culvert/load"
	"culvert/place"
	"culvert/place/dir"
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
				plan.Rejects.Create = func(ctx context.Context, name string) (place.File, error) {
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
