package fill_test

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"golang.org/x/sys/unix"

	"culvert/sink"
	"culvert/source"
	"culvert/sqlite/internal/fill"
)

// asNobody runs a function on a thread of another user, as far as files are concerned, if this one may do anything.
func asNobody(f func()) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		if os.Geteuid() == 0 {
			runtime.LockOSThread() // the thread ends with the goroutine
			const nobody = 65534
			if err := errors.Join(unix.Setfsgid(nobody), unix.Setfsuid(nobody)); err != nil {
				panic(err)
			}
		}
		f()
	}()
	<-done
}

// TestReadOnly finds a file or a directory that must not be written to before anything is loaded.
func TestReadOnly(t *testing.T) {
	path := newFile(t, "CREATE TABLE t (id)")
	dir := filepath.Dir(path)
	change(t, filepath.Dir(dir), 0o755)
	open := func() (planErr, tableErr error) {
		asNobody(func() {
			db, err := fill.Open(path)
			if err != nil {
				planErr, tableErr = err, err
				return
			}
			_, planErr = db.Plan(t.Context(), "t", sink.Filling{})
			_, tableErr = db.Table(t.Context(), "t", sink.Filling{})
			if err := db.Close(); err != nil {
				t.Error(err)
			}
		})
		return planErr, tableErr
	}
	change(t, path, 0o666)
	change(t, dir, 0o555)
	if plan, table := open(); !errors.Is(plan, sink.ErrReadOnly) || !errors.Is(table, sink.ErrReadOnly) {
		t.Errorf("in a directory that is read-only: %v, %v", plan, table)
	}
	change(t, dir, 0o777)
	if plan, table := open(); plan != nil || table != nil {
		t.Errorf("a file that can be written: %v, %v", plan, table)
	}
	change(t, path, 0o444)
	if plan, _ := open(); !errors.Is(plan, source.ErrUnavailable) || !errors.Is(plan, os.ErrPermission) {
		t.Errorf("a file that is read-only: %v", plan)
	}
}

func change(t *testing.T, path string, mode os.FileMode) {
	t.Helper()
	if err := os.Chmod(path, mode); err != nil {
		t.Fatal(err)
	}
}
