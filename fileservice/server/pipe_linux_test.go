package server_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"culvert/fileservice"
	"culvert/fileservice/internal/exchange"
	"culvert/fileservice/internal/filetest"
)

// TestPipesAreNotOpened makes each call about a pipe, which wakes whoever waits for its other end if it is opened.
func TestPipesAreNotOpened(t *testing.T) {
	dir := t.TempDir()
	pipe := filepath.Join(dir, "pipe")
	if err := unix.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	watch, err := unix.InotifyInit1(unix.IN_NONBLOCK | unix.IN_CLOEXEC)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := unix.Close(watch); err != nil {
			t.Error(err)
		}
	}()
	if _, err := unix.InotifyAddWatch(watch, pipe, unix.IN_OPEN); err != nil {
		t.Fatal(err)
	}
	opened := func(what string) {
		if _, err := unix.Read(watch, make([]byte, 4096)); !errors.Is(err, unix.EAGAIN) {
			t.Errorf("%s has opened it: %v", what, err)
		}
	}
	client := newStranger(t, filetest.Listen(t, dir, filetest.Writable))
	for _, length := range []int{1, exchange.MaxLength} {
		for _, isAny := range []bool{false, true} {
			_, err = filetest.Ask(client.data, exchange.Request{
				Kind: exchange.Get, Target: "pipe", Version: stat(t, dir, "pipe"), Any: isAny, Length: length,
			}, nil)
			if !errors.Is(err, fs.ErrInvalid) {
				t.Error(err)
			}
			opened("Get")
		}
	}
	ask(t.Context(), client, "pipe")
	opened("another call")
}

// TestSmallDraftsAreHidden reads a draft as a small file by its name.
func TestSmallDraftsAreHidden(t *testing.T) {
	const name = "file.abcdefghijkl.culvert.draft"
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, name), []byte("hello"), 0o600); err != nil {
		t.Fatal(err)
	}
	info, err := os.Lstat(filepath.Join(dir, name))
	if err != nil {
		t.Fatal(err)
	}
	files := []fileservice.SmallFile{{Name: name, Version: fileservice.VersionOf(info)}}
	client := filetest.Serve(t, dir, nil)
	err = client.ReadFiles(t.Context(), ".", files, func(_ int, content []byte, _ fileservice.Sum, err error) error {
		if !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%q, %v", content, err)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

// TestDraftExchangedElsewhere exchanges a draft before it is published in another directory, to which it is not copied.
func TestDraftExchangedElsewhere(t *testing.T) {
	for what, exchange := range map[string]func(name string) error{
		"a file": func(name string) error { return os.WriteFile(name, []byte("theirs"), 0o600) },
		"a pipe": func(name string) error { return unix.Mkfifo(name, 0o600) },
		"a link": func(name string) error { return os.Symlink("other", name) },
	} {
		dir, _ := filetest.Tree(t, map[string]int{"other": 6, "sub/file": 1})
		file := filetest.OpenDraft(t, filetest.Serve(t, dir, filetest.Writable), "new", os.O_CREATE|os.O_RDWR)
		names, err := filepath.Glob(filepath.Join(dir, "new.*.culvert.draft"))
		if err != nil || len(names) != 1 {
			t.Fatal(names, err)
		}
		if err := errors.Join(os.Remove(names[0]), exchange(names[0])); err != nil {
			t.Fatal(err)
		}
		if err := filetest.Publish(file, "sub/new"); err == nil {
			t.Errorf("%s was published", what)
		}
		if _, err := os.Lstat(filepath.Join(dir, "sub/new")); err == nil {
			t.Errorf("%s has the name", what)
		}
	}
}
