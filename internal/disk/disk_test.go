package disk_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"
	"testing"

	"culvert/internal/disk"
)

// What is to survive a crash is synced, and so is its name.
func Example() {
	parent, err := os.MkdirTemp("", "disk-")
	if err != nil {
		panic(err)
	}
	defer func() { _ = os.RemoveAll(parent) }() // it is a temporary one
	dir, err := disk.OS{}.OpenLogDir(parent)
	if err != nil {
		panic(err)
	}
	defer func() { _ = dir.Close() }()
	file, err := dir.Create("greeting.tmp")
	if err != nil {
		panic(err)
	}
	_, err = file.WriteAt([]byte("hello"), 0)
	err = errors.Join(err, file.Sync(), file.Close())
	if err == nil {
		err = dir.Rename("greeting.tmp", "greeting")
	}
	fmt.Println(err, dir.Sync())
	fmt.Println(dir.List())
	// Output:
	// <nil> <nil>
	// [greeting] <nil>
}

func TestReserve(t *testing.T) {
	file, err := logDir(t, t.TempDir()).Create("file")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	content := make([]byte, 8)
	if err := errors.Join(file.Reserve(100_000), file.Sync()); err != nil {
		t.Fatal(err)
	}
	if size, err := file.Size(); err != nil || size != 100_000 {
		t.Errorf("size %d, %v", size, err)
	}
	if _, err := file.ReadAt(content, 99_992); err != nil || !slices.Equal(content, make([]byte, 8)) {
		t.Errorf("%x, %v", content, err)
	}
}

func TestWriteback(t *testing.T) {
	file, err := logDir(t, t.TempDir()).Create("file")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	content := bytes.Repeat([]byte("culvert "), 2048)
	if _, err := file.WriteAt(content, 0); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(file.Writeback(4096, 8192), file.Sync()); err != nil {
		t.Error(err)
	}
	got := make([]byte, len(content))
	if _, err := file.ReadAt(got, 0); err != nil || !bytes.Equal(got, content) {
		t.Errorf("the content has changed: %v", err)
	}
	if err := file.Writeback(-1, 1); runtime.GOOS == "linux" && err == nil {
		t.Error("a part before the file has no error")
	}
}

func logDir(t *testing.T, path string) disk.LogDir {
	t.Helper()
	dir, err := disk.OS{}.OpenLogDir(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := dir.Close(); err != nil {
			t.Error(err)
		}
	})
	return dir
}

func TestLock(t *testing.T) {
	path := t.TempDir()
	dir := logDir(t, path)
	lock, err := dir.Lock("lock")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := logDir(t, path).Lock("lock"); !errors.Is(err, disk.ErrLocked) {
		t.Errorf("locked twice: %v", err)
	}
	if err := lock.Close(); err != nil {
		t.Fatal(err)
	}
	if lock, err = dir.Lock("lock"); err != nil {
		t.Fatal(err)
	}
	if err := lock.Close(); err != nil {
		t.Fatal(err)
	}
}

// TestInRoot keeps a log within its root.
func TestInRoot(t *testing.T) {
	outside, dir := t.TempDir(), t.TempDir()
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	if err := root.Symlink(outside, "away"); err != nil {
		t.Fatal(err)
	}
	fsys := disk.InRoot{Root: root}
	if fsys.Mkdir("away/dir") == nil {
		t.Error("a directory was created outside")
	}
	if dir, err := fsys.OpenLogDir("away"); err == nil {
		t.Error("a directory outside was opened", dir.Close())
	}
	if err := errors.Join(fsys.Mkdir("log"), fsys.Mkdir("log"), fsys.SyncDir(".")); err != nil {
		t.Fatal(err)
	}
	log, err := fsys.OpenLogDir("log")
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	for _, name := range []string{"one", "two"} {
		f, err := log.Create(name)
		if err != nil {
			t.Fatal(err)
		}
		_, err = f.WriteAt([]byte(name), 0)
		if err := errors.Join(err, f.Sync(), f.Close()); err != nil {
			t.Fatal(err)
		}
	}
	if err := log.Rename("one", "two"); !errors.Is(err, os.ErrExist) {
		t.Errorf("a file was replaced: %v", err)
	}
	if err := errors.Join(log.Rename("one", "three"), log.Sync(), root.Mkdir("log/sub", 0o700)); err != nil {
		t.Error(err)
	}
	if got, err := root.ReadFile("log/three"); err != nil || string(got) != "one" {
		t.Errorf("%q, %v", got, err)
	}
	if _, err := log.Open("sub", false); !errors.Is(err, disk.ErrNotFile) {
		t.Errorf("a directory was opened: %v", err)
	}
}
