//go:build linux || darwin

package server_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"culvert/fileservice/client"
	"culvert/fileservice/internal/filetest"
	"culvert/internal/testkit"
)

// TestDraftKeepsOwner has a server that may give files away replace one of somebody else.
func TestDraftKeepsOwner(t *testing.T) {
	if os.Geteuid() != 0 {
		testkit.Missing(t, "the superuser", "run the test as root")
	}
	dir, _ := filetest.Tree(t, map[string]int{"file": 100})
	path := filepath.Join(dir, "file")
	if err := os.Chown(path, 65_534, 65_533); err != nil {
		t.Fatal(err)
	}
	file := filetest.OpenDraft(t, filetest.Serve(t, dir, filetest.Writable), "file", os.O_WRONLY|os.O_TRUNC)
	if _, err := file.Write([]byte("new")); err != nil {
		t.Fatal(err)
	}
	if err := filetest.Publish(file, "file"); err != nil {
		t.Fatal(err)
	}
	info, err := os.Lstat(path)
	if err != nil {
		t.Fatal(err)
	}
	if stat := info.Sys().(*syscall.Stat_t); stat.Uid != 65_534 || stat.Gid != 65_533 || info.Mode() != 0o640 {
		t.Errorf("it is of %d and %d, with %v", stat.Uid, stat.Gid, info.Mode())
	}
}

// TestInPlaceKeepsFile has a server that is the superuser write to a file of somebody else, with two names, which runs
// as its owner: it must not run as that any more.
func TestInPlaceKeepsFile(t *testing.T) {
	if os.Geteuid() != 0 {
		testkit.Missing(t, "the superuser", "run the test as root")
	}
	dir, _ := filetest.Tree(t, map[string]int{"file": 100})
	path, other := filepath.Join(dir, "file"), filepath.Join(dir, "other")
	err := errors.Join(os.Chown(path, 65_534, 65_533), os.Link(path, other),
		os.Chmod(path, 0o754|os.ModeSetuid|os.ModeSetgid))
	if err != nil {
		t.Fatal(err)
	}
	for what, change := range map[string]func(*client.WritableFile) error{
		"write":    func(f *client.WritableFile) error { _, err := f.WriteAt([]byte("new"), 0); return err },
		"truncate": func(f *client.WritableFile) error { return f.Truncate(50) },
	} {
		if err := os.Chmod(path, 0o754|os.ModeSetuid|os.ModeSetgid); err != nil {
			t.Fatal(err)
		}
		file := filetest.OpenDraft(t, filetest.Serve(t, dir, filetest.Writable), "file", os.O_WRONLY)
		if err := errors.Join(change(file), file.Sync(), file.Close()); err != nil {
			t.Fatal(err)
		}
		info, err := os.Lstat(other)
		if err != nil {
			t.Fatal(err)
		}
		s := info.Sys().(*syscall.Stat_t)
		if s.Uid != 65_534 || s.Gid != 65_533 || info.Mode() != 0o754 || s.Nlink != 2 {
			t.Errorf("%s: it is of %d and %d, with %v and %d names", what, s.Uid, s.Gid, info.Mode(), s.Nlink)
		}
	}
	if content := filetest.ContentOf(t, dir, "other"); !bytes.HasPrefix(content, []byte("new")) || len(content) != 50 {
		t.Errorf("it has %q", content)
	}
}
