//go:build unix

package transfer_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"culvert/fileservice/internal/filetest"
	"culvert/fileservice/transfer"
)

// TestOnlyFilesAreReplaced overwrites a tree in which pipes have the names of files. As root, /dev/null could be such a
// name.
func TestOnlyFilesAreReplaced(t *testing.T) {
	from, _ := filetest.Tree(t, map[string]int{"large": 2 << 20, "small": 10, "link": 10})
	to := t.TempDir()
	for _, name := range []string{"large", "small"} {
		if err := syscall.Mkfifo(filepath.Join(to, name), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	elsewhere := filepath.Join(t.TempDir(), "elsewhere")
	for name, do := range map[string]func(config transfer.Config) (transfer.Result, error){
		"Pull": func(config transfer.Config) (transfer.Result, error) {
			config.Root = filetest.OpenRoot(t, to)
			return transfer.Pull(t.Context(), filetest.Serve(t, from, nil).Place(), config)
		},
		"Push": func(config transfer.Config) (transfer.Result, error) {
			config.Root = filetest.OpenRoot(t, from)
			return transfer.Push(t.Context(), filetest.Serve(t, to, filetest.Writable).Place(), config)
		},
	} {
		_ = os.Remove(filepath.Join(to, "link")) // if it is there
		if err := os.Symlink(elsewhere, filepath.Join(to, "link")); err != nil {
			t.Fatal(err)
		}
		result, err := do(transfer.Config{Remote: ".", Local: ".", Overwrite: true})
		if !errors.Is(err, fs.ErrExist) || result.Files != 1 || result.Failed != 2 {
			t.Errorf("%s: %v, %+v", name, err, result)
		}
		types := map[string]fs.FileMode{"large": fs.ModeNamedPipe, "small": fs.ModeNamedPipe, "link": 0}
		for file, want := range types {
			if info, err := os.Lstat(filepath.Join(to, file)); err != nil || info.Mode().Type() != want {
				t.Errorf("%s: %s is %v, %v", name, file, info.Mode(), err)
			}
		}
		if _, err := os.Lstat(elsewhere); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s has written through a link: %v", name, err)
		}
	}
}
