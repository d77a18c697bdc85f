package client_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"syscall"
	"testing"
	"testing/fstest"
	"time"

	"culvert/fileservice"
	"culvert/fileservice/client"
	"culvert/fileservice/internal/filetest"
	"culvert/internal/testkit"
)

func TestTreeIsChanged(t *testing.T) {
	dir, _ := filetest.Tree(t, map[string]int{"file": 5, "other": 6, "sub/inner": 7})
	client := filetest.Serve(t, dir, filetest.Writable)
	is := func(what string, err, want error) {
		t.Helper()
		var pathError *fs.PathError
		if !errors.Is(err, want) || err != nil && !errors.As(err, &pathError) {
			t.Errorf("%s: %v, want %v", what, err, want)
		}
	}
	is("a new directory", client.Mkdir("new", 0o750), nil)
	is("a directory that is there", client.Mkdir("new", 0o750), fs.ErrExist)
	is("a directory in none", client.Mkdir("none/new", 0o750), fs.ErrNotExist)
	is("a directory in a file", client.Mkdir("file/new", 0o750), syscall.ENOTDIR)
	is("removal of what has files", client.Remove("sub"), syscall.ENOTEMPTY)
	is("removal of nothing", client.Remove("none"), fs.ErrNotExist)
	is("removal of the root", client.Remove("."), fs.ErrInvalid)
	is("removal", client.Remove("sub/inner"), nil)
	is("removal of a directory", client.Remove("sub"), nil)
	is("a new name", client.RenameNew("file", "new/file"), nil)
	is("a new name that is taken", client.RenameNew("new/file", "other"), fs.ErrExist)
	is("a name that is taken", client.Rename("new/file", "other"), nil)
	is("a name of nothing", client.Rename("none", "new"), fs.ErrNotExist)
	is("a new name of a directory", client.RenameNew("new", "newer"), nil)
	is("a new name of a directory, taken", client.RenameNew("newer", "other"), fs.ErrExist)
	is("a directory in place of a file", client.Rename("newer", "other"), syscall.ENOTDIR)
	is("a directory into itself", client.Rename("newer", "newer/x"), syscall.EINVAL)
	is("another directory", client.Mkdir("empty", 0o750), nil)
	is("a file in place of a directory", client.Rename("other", "empty"), syscall.EISDIR)
	is("a directory in place of an empty one", client.Rename("newer", "empty"), nil)
	is("the same name", client.Rename("empty", "empty"), nil)
	is("a directory in it", client.Mkdir("empty/below", 0o750), nil)
	is("a directory in place of one in it", client.Rename("empty", "empty/below"), syscall.EINVAL)
	is("a third directory", client.Mkdir("newer", 0o750), nil)
	is("a directory in place of a full one", client.Rename("newer", "empty"), syscall.ENOTEMPTY)
	is("the full one in place of the empty one", client.Rename("empty", "newer"), nil)
	is("removal of what was in it", client.Remove("newer/below"), nil)
	is("a sync", client.SyncDir("."), nil)
	is("a sync of a file", client.SyncDir("other"), fs.ErrInvalid)
	for _, name := range []string{"x.culvert.part", "x.CULVERT.draft", "newer/x.culvert.journal", "x.culvert.part/y"} {
		is(name+" made", client.Mkdir(name, 0o755), fileservice.ErrRefused)
		is(name+" removed", client.Remove(name), fileservice.ErrRefused)
		is("a name "+name, client.Rename("other", name), fileservice.ErrRefused)
		is("a name of "+name, client.Rename(name, "x"), fileservice.ErrRefused)
		is("permissions of "+name, client.Chmod(name, 0o755), fileservice.ErrRefused)
	}
	if content, err := os.ReadFile(filepath.Join(dir, "other")); err != nil || len(content) != 5 {
		t.Errorf("%d bytes, %v", len(content), err)
	}
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 3 {
		t.Errorf("%v, %v", entries, err)
	}
}

func TestAttributes(t *testing.T) {
	dir, _ := filetest.Tree(t, map[string]int{"file": 5})
	if err := os.Symlink("file", filepath.Join(dir, "link")); err != nil {
		t.Skip(err)
	}
	client := filetest.Serve(t, dir, filetest.Writable)
	modified, accessed := time.Unix(1_000_000_000, 123_456_000), time.Unix(-5, 0)
	for _, name := range []string{"file", "void", "."} {
		if err := client.Chtimes(name, accessed, modified); err != nil {
			t.Error(err)
		}
		if err := client.Chmod(name, fs.ModeSetuid|0o751); err != nil {
			t.Error(err)
		}
		info, err := os.Stat(filepath.Join(dir, name))
		if err != nil || !info.ModTime().Equal(modified) {
			t.Errorf("%s: %v, %v", name, info.ModTime(), err)
		}
		if mode := info.Mode() &^ fs.ModeDir; mode != 0o751 && runtime.GOOS != "windows" {
			t.Errorf("%s: %v", name, mode)
		}
		// What is not named stays.
		if err := client.Chtimes(name, time.Now(), time.Time{}); err != nil {
			t.Error(err)
		}
		if info, err = os.Stat(filepath.Join(dir, name)); err != nil || !info.ModTime().Equal(modified) {
			t.Errorf("%s: %v, %v", name, info.ModTime(), err)
		}
	}
	if err := client.Chmod("link", 0o777); !errors.Is(err, fs.ErrInvalid) {
		t.Errorf("a link: %v", err)
	}
	if err := client.Chmod("none", 0o777); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
}

// TestDraftsAreHidden has files with names of drafts. They are not there for clients, but nobody removes what no server
// has made. A file whose name merely ends so is left alone.
func TestDraftsAreHidden(t *testing.T) {
	const draft = "full/x.abcdefghij27.culvert.draft"
	own := []string{
		"file", "thesis.culvert.draft", "x.ABCDEFGHIJ27.CULVERT.DRAFT", "x.abcdefghij01.culvert.draft",
		"xabcdefghij27.culvert.draft",
	}
	files := map[string]int{"sub/x.abcdefghijkl.culvert.draft": 5, draft: 5}
	for _, name := range own {
		files["full/"+name] = 1
	}
	dir, _ := filetest.Tree(t, files)
	reader, writer := filetest.Serve(t, dir, nil), filetest.Serve(t, dir, filetest.Writable)
	for _, client := range []*client.Client{reader, writer} {
		entries, err := client.ReadDir("full")
		if err != nil || len(entries) != len(own) {
			t.Errorf("%v, %v", entries, err)
		}
		if _, err := client.Open(draft); !errors.Is(err, fs.ErrNotExist) {
			t.Error(err)
		}
		for _, name := range own {
			if _, err := client.ReadFile("full/" + name); err != nil {
				t.Error(err)
			}
		}
	}
	if err := writer.Remove("sub"); !errors.Is(err, syscall.ENOTEMPTY) {
		t.Errorf("a directory with a file of somebody is removed: %v", err)
	}
	if _, err := os.Lstat(filepath.Join(dir, draft)); err != nil {
		t.Error(err)
	}
}

// TestLeftDrafts has drafts of a server that was killed: they have its mark. They are removed by the next server, by
// whoever writes the same file, and with their directory; not those that are open, and not by a listing.
func TestLeftDrafts(t *testing.T) {
	dir, _ := filetest.Tree(t, map[string]int{"file": 1})
	client := filetest.Serve(t, dir, filetest.Writable)
	open := filetest.OpenDraft(t, client, "open", os.O_CREATE|os.O_WRONLY)
	left := func(name string) (path string) {
		t.Helper()
		one := filetest.OpenDraft(t, client, name, os.O_CREATE|os.O_WRONLY)
		names, err := filepath.Glob(filepath.Join(dir, name+".*.culvert.draft"))
		if err != nil || len(names) != 1 {
			t.Fatal(names, err)
		}
		info, err := os.Lstat(names[0])
		if filetest.Discard(t, one); err != nil {
			t.Fatal(err)
		}
		err = os.WriteFile(names[0], []byte("left"), 0o600)
		if err = errors.Join(err, os.Chmod(names[0], info.Mode())); err != nil {
			t.Fatal(err)
		}
		return names[0]
	}
	isThere := func(path string) bool {
		_, err := os.Lstat(path)
		return err == nil
	}
	again := left("file2")
	if _, err := client.ReadDir("."); err != nil || !isThere(again) {
		t.Errorf("a listing has removed a draft: %v", err)
	}
	written := filetest.OpenDraft(t, client, "file2", os.O_CREATE|os.O_WRONLY)
	if err := filetest.Publish(written, "file2"); err != nil || isThere(again) {
		t.Errorf("a draft is there when another one took its place: %v", err)
	}
	if err := os.Mkdir(filepath.Join(dir, "sub"), 0o755); err != nil {
		t.Fatal(err)
	}
	inner := left("sub/file")
	if err := client.Remove("sub"); err != nil || isThere(inner) {
		t.Errorf("a directory with a draft that was left: %v", err)
	}
	if err := os.MkdirAll(filepath.Join(dir, "a/b"), 0o755); err != nil {
		t.Fatal(err)
	}
	first, deep := left("file3"), left("a/b/file")
	unmarked := filepath.Join(dir, "x.abcdefghij27.culvert.draft")
	if err := os.WriteFile(unmarked, []byte("theirs"), 0o644); err != nil {
		t.Fatal(err)
	}
	filetest.Serve(t, dir, filetest.Writable)
	testkit.WaitFor(t, "a new server to remove what was left", func() bool { return !isThere(first) && !isThere(deep) })
	if !isThere(unmarked) {
		t.Error("a file of somebody was removed")
	}
	if err := filetest.Publish(open, "open"); err != nil {
		t.Errorf("a draft that is open: %v", err)
	}
}

// TestSub sees the same files through clients of a directory and of one in that, and writes there.
func TestSub(t *testing.T) {
	dir, _ := filetest.Tree(t, map[string]int{"a/b/file": 100_000, "a/b/small": 5, "outside": 1})
	remote := filetest.Serve(t, dir, filetest.Writable)
	a, err := remote.Sub("a")
	if err != nil {
		t.Fatal(err)
	}
	b, err := a.Sub("b")
	if err != nil {
		t.Fatal(err)
	}
	if err := fstest.TestFS(b, "file", "small"); err != nil {
		t.Error(err)
	}
	if _, err := b.ReadFile("../../outside"); !errors.Is(err, fs.ErrInvalid) {
		t.Errorf("outside: %v", err)
	}
	var pathError *fs.PathError
	if _, err := b.Open("none"); !errors.As(err, &pathError) || pathError.Path != "none" {
		t.Errorf("an error about %v", err)
	}
	if _, err := remote.Sub("../a"); !errors.Is(err, fs.ErrInvalid) {
		t.Errorf("an invalid directory: %v", err)
	}
	opened, err := a.OpenFile("b/new", os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		t.Fatal(err)
	}
	draft := opened.(*client.WritableFile)
	if _, err := draft.Write([]byte("hello")); err != nil {
		t.Error(err)
	}
	if err := filetest.Publish(draft, "b/other"); err != nil {
		t.Error(err)
	}
	if err := errors.Join(a.Rename("b/other", "b/third"), b.Mkdir("sub", 0o755), b.Remove("small")); err != nil {
		t.Error(err)
	}
	entries, err := os.ReadDir(filepath.Join(dir, "a", "b"))
	var names []string
	for _, entry := range entries {
		names = append(names, entry.Name())
	}
	if want := []string{"file", "sub", "third"}; err != nil || !slices.Equal(names, want) {
		t.Errorf("%v, %v, want %v", names, err, want)
	}
}
