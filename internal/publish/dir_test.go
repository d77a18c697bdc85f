package publish

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
	"time"
)

func openTestDir(t *testing.T, p testPublisher) *Dir {
	t.Helper()
	dir, err := OpenDir(p.root, ".")
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

func TestDir(t *testing.T) {
	p := newPublisher(t)
	dir := openTestDir(t, p)
	if names, err := dir.FirstNames(10); err != nil || len(names) != 0 {
		t.Errorf("%q, %v in an empty directory", names, err)
	}
	name := func(name string) string { return filepath.Join(p.root.Name(), name) }
	content := bytes.Repeat([]byte("culvert "), 100)
	modified := time.Unix(1_600_000_000, 123_000_000)
	err := errors.Join(
		os.WriteFile(name("file"), content, 0o640), os.Chmod(name("file"), 0o640),
		os.Chtimes(name("file"), time.Time{}, modified), os.Mkdir(name("dir"), 0o700), os.Symlink("file", name("link")))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"file", "dir", "link"} {
		want, err := p.root.Lstat(name)
		if err != nil {
			t.Fatal(err)
		}
		got, err := dir.Lstat(name)
		if err != nil {
			t.Fatal(err)
		}
		if got.Mode() != want.Mode() || got.Size() != want.Size() || !got.ModTime().Equal(want.ModTime()) {
			t.Errorf("%v instead of %v", got, want)
		}
	}
	for n, want := range map[int]int{2: 2, 3: 3, 10: 3} {
		if names, err := openTestDir(t, p).FirstNames(n); err != nil || len(names) != want {
			t.Errorf("%q, %v of three", names, err)
		}
	}
	if _, err := dir.Lstat("none"); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
	if _, err := dir.Open("link"); err == nil {
		t.Error("a link was followed")
	}
	file, err := dir.Open("file")
	if err != nil {
		t.Fatal(err)
	}
	got := make([]byte, len(content))
	if _, err := file.ReadAt(got, 0); err != nil || !bytes.Equal(got, content) {
		t.Error(err)
	}
	if n, err := file.ReadAt(got, 8); n != len(content)-8 || err == nil {
		t.Errorf("%d bytes, %v", n, err)
	}
	if info, err := file.Stat(); err != nil || info.Mode() != 0o640 || !info.ModTime().Equal(modified) {
		t.Errorf("%v, %v", info, err)
	}
	if err := file.Close(); err != nil {
		t.Error(err)
	}
}

// unnamed makes files that are to be file0 and so on.
func unnamed(t *testing.T, p testPublisher, dir *Dir, n int) *Unnamed {
	t.Helper()
	files := p.NewUnnamed(dir)
	for i := range n {
		file, err := dir.CreateUnnamed(0o600)
		if errors.Is(err, errors.ErrUnsupported) {
			t.Skip("this file system has no files without names")
		}
		if err != nil {
			t.Fatal(err)
		}
		files.Add(file, fmt.Sprint("file", i))
		if _, err := file.Write(fmt.Append(nil, i)); err != nil {
			t.Fatal(err)
		}
		if err := file.SetModified(time.Unix(int64(i), 0)); err != nil {
			t.Fatal(err)
		}
	}
	return files
}

func TestPublishUnnamed(t *testing.T) {
	for _, n := range []int{1, fewestShared, 50} {
		p := newPublisher(t)
		dir := openTestDir(t, p)
		files := unnamed(t, p, dir, n)
		if names, err := List(p.root, "."); err != nil || len(names) != 0 {
			t.Errorf("%q, %v", names, err)
		}
		if err := p.root.WriteFile("file0", []byte("precious"), 0o600); err != nil {
			t.Fatal(err)
		}
		syncs, syncfs := 0, p.syncfs
		p.syncfs = func() error {
			syncs++
			return syncfs()
		}
		closed := false
		errs := files.Publish(func() { closed = true })
		if n >= 2*fewestShared && syncs != 2 {
			t.Errorf("%d shared syncs", syncs)
		}
		if len(errs) != n || !closed {
			t.Errorf("%d errors; closed: %v", len(errs), closed)
		}
		for i, err := range errs {
			content, found := p.root.ReadFile(fmt.Sprint("file", i))
			switch {
			case found != nil:
				t.Error(found)
			case i == 0 && (!errors.Is(err, fs.ErrExist) || string(content) != "precious"):
				t.Errorf("a file was replaced: %q, %v", content, err)
			case i > 0 && (err != nil || string(content) != fmt.Sprint(i)):
				t.Errorf("file %d: %q, %v", i, content, err)
			}
		}
	}
}

// TestPublishUnnamedGathers has many publish at once, of whom all but a few share their syncs.
func TestPublishUnnamedGathers(t *testing.T) {
	p := newPublisher(t)
	if !canShare {
		t.Skip("this system syncs files one by one")
	}
	dir := openTestDir(t, p)
	syncs, syncfs := 0, p.syncfs
	p.syncfs = func() error {
		syncs++
		return syncfs()
	}
	p.last = time.Hour // it waits as long as it may
	const groups = 8
	var begun []*Unnamed
	for group := range groups {
		files := p.NewUnnamed(dir)
		for i := range fewestShared {
			file, err := dir.CreateUnnamed(0o600)
			if err != nil {
				t.Fatal(err)
			}
			files.Add(file, fmt.Sprint("file", group*fewestShared+i))
		}
		begun = append(begun, files)
	}
	var all sync.WaitGroup
	for _, files := range begun {
		all.Go(func() {
			if err := errors.Join(files.Publish(nil)...); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if names, err := List(p.root, "."); err != nil || len(names) != groups*fewestShared || p.coming != 0 {
		t.Errorf("%d names, %v; %d more are expected", len(names), err, p.coming)
	}
	if syncs == 0 || syncs > groups+1 {
		t.Errorf("%d shared syncs", syncs)
	}
}

// TestPublishUnnamedFailedSync has nothing get a name that is not durable.
func TestPublishUnnamedFailedSync(t *testing.T) {
	p := newPublisher(t)
	dir := openTestDir(t, p)
	files := unnamed(t, p, dir, fewestShared)
	p.syncfs = func() error { return syscall.EIO }
	for _, err := range files.Publish(nil) {
		if canShare && !errors.Is(err, syscall.EIO) {
			t.Error(err)
		}
	}
	if names, err := List(p.root, "."); err != nil || len(names) != 0 {
		t.Errorf("%q, %v", names, err)
	}
}
