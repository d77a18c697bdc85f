package load_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"culvert/export"
	"culvert/internal/testkit/crashfs"
	"culvert/load"
	"culvert/place/dir"
	"culvert/sink"
)

// TestRejectsDiskFull has the disk of the files of rejected rows be full, at one after the other of the operations that
// need room. The load fails, and leaves no part of a file. The same command completes it when there is room: then each
// row is in the table or in the file of its part, once.
func TestRejectsDiskFull(t *testing.T) {
	crashfs.Need(t)
	from, texts := dirtyExport(t)
	for name, open := range sides {
		t.Run(name, func(t *testing.T) {
			s := open(t)
			for at := int64(1); ; at++ {
				for _, sql := range []string{
					"DROP TABLE IF EXISTS t", "CREATE TABLE t (id int PRIMARY KEY, title text)",
				} {
					if err := s.try(sql); err != nil {
						t.Fatal(err)
					}
				}
				if !fullAt(t, s, from, at, texts) {
					if at < 4 {
						t.Errorf("only %d operations need room", at-1)
					}
					break
				}
			}
		})
	}
}

// fullAt reports whether the load failed, since one operation found no room.
func fullAt(t *testing.T, s side, from string, at int64, texts []string) bool {
	t.Helper()
	disk, rejects := crashfs.New("/disk"), t.TempDir()
	var n atomic.Int64
	disk.Hook = func(o crashfs.Operation) crashfs.Fault {
		if (o.Kind == crashfs.Write || o.Kind == crashfs.Create) && n.Add(1) == at {
			return crashfs.NoSpace
		}
		return crashfs.None
	}
	unmount, err := disk.Mount(rejects)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		disk.Kill()
		if err := unmount(); err != nil {
			t.Error(err)
		}
	}()
	files, err := export.OpenDirectory(os.DirFS(from))
	if err != nil {
		t.Fatal(err)
	}
	fill := func(ctx context.Context) error {
		to, err := dir.Open(rejects)
		if err != nil {
			return err
		}
		plan := load.Plan{
			Rejects: rejectsTo(to),
			Filling: sink.Filling{Ledger: &sink.Ledger{Table: "ledger", Load: fmt.Sprint("load", at)}, EachPart: true},
		}
		_, err = plan.Directory(ctx, s.dst, files, map[string]string{"t": ""})
		return errors.Join(err, to.Close())
	}
	err = fill(t.Context())
	failed := err != nil
	if failed && !errors.Is(err, syscall.ENOSPC) {
		t.Fatal(err)
	}
	err = filepath.WalkDir(rejects, func(path string, _ fs.DirEntry, err error) error {
		if strings.HasSuffix(path, ".part") {
			t.Errorf("%s is left", path)
		}
		return err
	})
	if err == nil && failed {
		err = fill(t.Context())
	}
	if err != nil {
		t.Fatal(err)
	}
	if found := takenOrRejected(t, s, rejects); !slices.Equal(found, texts) {
		t.Errorf("operation %d: %d rows are in the table and the files, want %d", at, len(found), len(texts))
	}
	return failed
}
