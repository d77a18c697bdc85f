package dir_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"culvert/place"
	"culvert/place/dir"
	"culvert/place/placetest"
)

func Example() {
	path, err := os.MkdirTemp("", "backup")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = os.RemoveAll(path) }() // it is a temporary one
	d, err := dir.Open(path)
	if err != nil {
		fmt.Println(err)
		return
	}
	write := func() error {
		f, err := d.Create(context.Background(), "2026/notes.txt")
		if err != nil {
			return err
		}
		_, err = io.WriteString(f, "hello")
		if err != nil {
			return errors.Join(err, f.Discard())
		}
		return f.Commit()
	}
	fmt.Println(write())
	text, err := fs.ReadFile(d, "2026/notes.txt")
	fmt.Println(string(text), err, d.Close())
	// Output:
	// <nil>
	// hello <nil> <nil>
}

func TestPlace(t *testing.T) {
	placetest.Run(t, func(t *testing.T) place.Place { return open(t, t.TempDir()) })
}

func open(t *testing.T, path string) *dir.Dir {
	t.Helper()
	d, err := dir.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	})
	return d
}

func names(t *testing.T, path string) (names []string) {
	t.Helper()
	entries, err := os.ReadDir(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range entries {
		names = append(names, entry.Name())
	}
	return names
}

// TestEndOfContext leaves a file alone, as a writer that hangs does.
func TestEndOfContext(t *testing.T) {
	path := t.TempDir()
	ctx, cancel := context.WithCancel(t.Context())
	f, err := open(t, path).Create(ctx, "new/file")
	if err != nil {
		t.Fatal(err)
	}
	if len(names(t, filepath.Join(path, "new"))) != 1 {
		t.Error("there is no temporary file")
	}
	cancel()
	for len(names(t, path)) > 0 { // another goroutine removes it, soon
		if t.Context().Err() != nil {
			t.FailNow()
		}
	}
	if err := f.Discard(); err != nil {
		t.Error(err)
	}
}

func TestReplaceKeepsPermissions(t *testing.T) {
	path := t.TempDir()
	file := filepath.Join(path, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := open(t, path).Replace(t.Context(), "file")
	if err != nil {
		t.Fatal(err)
	}
	if err := f.Commit(); err != nil {
		t.Error(err)
	}
	if info, err := os.Stat(file); err != nil || info.Mode() != 0o600 {
		t.Errorf("%v, %v", info, err)
	}
}

func TestIrregular(t *testing.T) {
	path := t.TempDir()
	if err := os.Symlink("target", filepath.Join(path, "link")); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(path, "dir"), 0o700); err != nil {
		t.Fatal(err)
	}
	d := open(t, path)
	for _, name := range []string{"link", "dir"} {
		for _, create := range []func(context.Context, string) (place.File, error){d.Create, d.Replace} {
			if _, err := create(t.Context(), name); !errors.Is(err, fs.ErrExist) {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
	if got := names(t, path); len(got) != 2 {
		t.Errorf("there are %q", got)
	}
}

// TestAppearsMeanwhile has another program write the file.
func TestAppearsMeanwhile(t *testing.T) {
	path := t.TempDir()
	d := open(t, path)
	f, err := d.Create(t.Context(), "file")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(path, "file"), []byte("theirs"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := f.Commit(); !errors.Is(err, fs.ErrExist) {
		t.Errorf("the error is %v", err)
	}
	text, err := fs.ReadFile(d, "file")
	if err != nil || string(text) != "theirs" || len(names(t, path)) != 1 {
		t.Errorf("%q, %v, %q", text, err, names(t, path))
	}
}

// TestCommitAll commits files together, of which some fail, each in its own way.
func TestCommitAll(t *testing.T) {
	for _, more := range []int{0, 20} { // which are synced one by one, or all at once
		path := t.TempDir()
		d := open(t, path)
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		var files []place.File
		create := func(ctx context.Context, name string, replace bool) {
			begin := d.Create
			if replace {
				begin = d.Replace
			}
			f, err := begin(ctx, name)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := io.WriteString(f, name); err != nil {
				t.Error(err)
			}
			files = append(files, f)
		}
		create(t.Context(), "a", false)
		create(t.Context(), "sub/b", true)
		create(t.Context(), "taken", false)
		create(ctx, "canceled", false)
		create(t.Context(), "discarded", false)
		for i := range more {
			create(t.Context(), fmt.Sprint("more", i), false)
		}
		if err := os.WriteFile(filepath.Join(path, "taken"), []byte("theirs"), 0o600); err != nil {
			t.Fatal(err)
		}
		cancel()
		if err := files[4].Discard(); err != nil {
			t.Error(err)
		}
		errs := files[0].(place.Grouped).CommitAll(files)
		for i, want := range []error{nil, nil, fs.ErrExist, context.Canceled, fs.ErrClosed} {
			if !errors.Is(errs[i], want) {
				t.Errorf("file %d: %v, want %v", i, errs[i], want)
			}
		}
		if err := errors.Join(errs[5:]...); err != nil {
			t.Error(err)
		}
		for name, want := range map[string]string{"a": "a", "sub/b": "sub/b", "taken": "theirs"} {
			if text, err := fs.ReadFile(d, name); string(text) != want || err != nil {
				t.Errorf("%s has %q, error %v", name, text, err)
			}
		}
		for len(names(t, path)) > 3+more { // another goroutine removes what was canceled, soon
			if t.Context().Err() != nil {
				t.FailNow()
			}
		}
		if err := files[0].Commit(); !errors.Is(err, fs.ErrClosed) {
			t.Errorf("a second commit: %v", err)
		}
	}
}
