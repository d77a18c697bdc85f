//go:build unix

package publish_test

import (
	"errors"
	"io/fs"
	"os"
	"testing"

	"culvert/internal/publish"
)

func TestCreateSticky(t *testing.T) {
	root, err := os.OpenRoot(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := root.Close(); err != nil {
			t.Error(err)
		}
	}()
	if err := errors.Join(root.Mkdir("dir", 0o700), root.Symlink("elsewhere", "dir/link")); err != nil {
		t.Fatal(err)
	}
	if err := publish.CreateSticky(root, "dir/file"); err != nil {
		t.Fatal(err)
	}
	info, err := root.Lstat("dir/file")
	if err != nil || info.Mode() != fs.ModeSticky|0o600 || info.Size() != 0 {
		t.Errorf("%v, %v", info, err)
	}
	for _, name := range []string{"dir/file", "dir/link"} {
		if err := publish.CreateSticky(root, name); !errors.Is(err, fs.ErrExist) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := publish.CreateSticky(root, "../file"); err == nil {
		t.Error("a file outside of the root")
	}
}
