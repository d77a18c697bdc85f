package publish

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func names(t *testing.T, dir string) []string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, entry := range entries {
		all = append(all, entry.Name())
	}
	return all
}

func begin(t *testing.T, path, text string) *Writer {
	t.Helper()
	w, err := Create(path, 0o640)
	if err != nil {
		t.Fatal(err)
	}
	if n, err := w.Write([]byte(text)); n != len(text) || err != nil {
		t.Fatal(n, err)
	}
	return w
}

func TestWriter(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "file")
	text := strings.Repeat("some text\n", 2*writebackSize/10)
	w := begin(t, path, text)
	if got := names(t, dir); len(got) != 1 || got[0] == "file" {
		t.Errorf("%q before Commit", got)
	}
	if err := w.Commit(false); err != nil {
		t.Fatal(err)
	}
	if got, err := os.ReadFile(path); err != nil || string(got) != text {
		t.Errorf("%d bytes, %v", len(got), err)
	}
	if err := w.Discard(); err != nil {
		t.Error(err)
	}
	if err := w.Commit(true); !errors.Is(err, fs.ErrClosed) {
		t.Errorf("Commit twice: %v", err)
	}
	if got := names(t, dir); len(got) != 1 || got[0] != "file" {
		t.Errorf("%q after Commit", got)
	}
}

func TestWriterReplaces(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "file")
	if err := os.WriteFile(path, []byte("old"), 0o600); err != nil {
		t.Fatal(err)
	}
	err := begin(t, path, "new").Commit(false)
	var named *fs.PathError
	if !errors.Is(err, fs.ErrExist) || !errors.As(err, &named) || named.Path != path {
		t.Errorf("error is %v", err)
	}
	if got, err := os.ReadFile(path); err != nil || string(got) != "old" {
		t.Errorf("%q, %v", got, err)
	}
	if err := begin(t, path, "new").Commit(true); err != nil {
		t.Error(err)
	}
	if got, err := os.ReadFile(path); err != nil || string(got) != "new" {
		t.Errorf("%q, %v", got, err)
	}
	if got := names(t, dir); len(got) != 1 {
		t.Errorf("%q are left", got)
	}
}

func TestWriterDiscard(t *testing.T) {
	dir := t.TempDir()
	w := begin(t, filepath.Join(dir, "file"), "text")
	if err := errors.Join(w.Discard(), w.Discard()); err != nil {
		t.Error(err)
	}
	if _, err := w.Write([]byte("more")); !errors.Is(err, fs.ErrClosed) {
		t.Errorf("Write: %v", err)
	}
	if err := w.Commit(false); !errors.Is(err, fs.ErrClosed) {
		t.Errorf("Commit: %v", err)
	}
	if got := names(t, dir); len(got) != 0 {
		t.Errorf("%q are left", got)
	}
}

// TestWriterInRoot moves the directory while the file is written, and looks outside the root.
func TestWriterInRoot(t *testing.T) {
	dir := t.TempDir()
	root := openRoot(t, dir)
	if err := errors.Join(root.Mkdir("before", 0o700), root.Symlink(t.TempDir(), "away")); err != nil {
		t.Fatal(err)
	}
	opened, err := OpenDir(root, "before")
	if err != nil {
		t.Fatal(err)
	}
	w, err := CreateIn(opened, "before/file", 0o600, opened.Close)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(root.Rename("before", "after"), w.Commit(false)); err != nil {
		t.Error(err)
	}
	if _, err := root.Lstat("after/file"); err != nil {
		t.Error(err)
	}
	if _, err := OpenDir(root, "away"); err == nil {
		t.Error("a directory outside the root was opened")
	}
}

func TestPartNameIsShortEnough(t *testing.T) {
	for _, name := range []string{"a", strings.Repeat("a", 255), strings.Repeat("ä", 127)} {
		part := partName(name)
		if len(part) > 255 || !strings.HasSuffix(part, ".part") {
			t.Errorf("%d bytes: %s", len(part), part)
		}
	}
}

// TestWriterAfterFailedWrite has a caller that does not look at the errors of Write.
func TestWriterAfterFailedWrite(t *testing.T) {
	dir := t.TempDir()
	w := begin(t, filepath.Join(dir, "file"), "the beginning")
	readOnly, err := os.Open(filepath.Join(dir, w.part))
	if err != nil {
		t.Fatal(err)
	}
	writable := w.file
	w.file = readOnly
	_, failed := w.Write([]byte("what is lost"))
	w.file = writable
	if err := readOnly.Close(); failed == nil || err != nil {
		t.Fatal(failed, err)
	}
	if _, err := w.Write([]byte("the end")); err != failed {
		t.Errorf("Write after %v: %v", failed, err)
	}
	if err := w.Commit(false); !errors.Is(err, failed) {
		t.Errorf("Commit after %v: %v", failed, err)
	}
	if got := names(t, dir); len(got) != 0 {
		t.Errorf("%q after Commit", got)
	}
}
