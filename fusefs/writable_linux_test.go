package fusefs_test

import (
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

// writable is a writable mount, and the directory that it shows.
type writable struct {
	t    *testing.T
	root string
	*mountProcess
}

// newWritable mounts a writable directory. Its tests do not run in parallel: when a process starts, it closes its
// copies of the descriptors that are open here, which publishes the files.
func newWritable(t *testing.T, config mountConfig) *writable {
	t.Helper()
	config.ReadWrite = true
	root := newRoot(t)
	return &writable{t, root, startMount(t, root, t.TempDir(), config)}
}

func (w *writable) path(name string) string { return filepath.Join(w.dir, name) }

func (w *writable) must(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}

func (w *writable) wantErrno(err error, want syscall.Errno) {
	w.t.Helper()
	if !isErrno(err, want) {
		w.t.Fatalf("gives %v, want %v", err, want)
	}
}

// open opens a file in the mount.
func (w *writable) open(name string, flags int) *os.File {
	w.t.Helper()
	file, err := os.OpenFile(w.path(name), flags, 0o644)
	w.must(err)
	w.t.Cleanup(func() { file.Close() })
	return file
}

func (w *writable) create(name, content string) *os.File {
	w.t.Helper()
	file := w.open(name, os.O_RDWR|os.O_CREATE|os.O_TRUNC)
	w.write(file, content)
	return file
}

func (w *writable) write(file *os.File, content string) {
	w.t.Helper()
	_, err := file.WriteString(content)
	w.must(err)
}

// put makes a file at the source.
func (w *writable) put(name, content string) {
	w.t.Helper()
	w.must(os.WriteFile(filepath.Join(w.root, name), []byte(content), 0o644))
}

func (w *writable) wantIn(dir, name, want string) {
	w.t.Helper()
	got, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil || string(got) != want {
		w.t.Fatalf("%s in %s has %.100q, %v; want %.100q", name, dir, got, err, want)
	}
}

func (w *writable) wantHere(name, want string) { w.t.Helper(); w.wantIn(w.dir, name, want) }

func (w *writable) wantThere(name, want string) { w.t.Helper(); w.wantIn(w.root, name, want) }

func (w *writable) wantNamesIn(dir string, want ...string) {
	w.t.Helper()
	entries, err := os.ReadDir(dir)
	w.must(err)
	var got []string
	for _, e := range entries {
		got = append(got, e.Name())
	}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		w.t.Fatalf("%s has %v, want %v", dir, got, want)
	}
}

func (w *writable) wantNamesHere(want ...string) { w.t.Helper(); w.wantNamesIn(w.dir, want...) }

func (w *writable) wantNamesThere(want ...string) { w.t.Helper(); w.wantNamesIn(w.root, want...) }

// eventually waits for something that no call waits for.
func (w *writable) eventually(what string, is func() bool) {
	w.t.Helper()
	ticker := time.NewTicker(time.Millisecond)
	defer ticker.Stop()
	limit := time.After(30 * time.Second)
	for !is() {
		select {
		case <-ticker.C:
		case <-limit:
			w.t.Fatalf("not so: %s", what)
		}
	}
}
