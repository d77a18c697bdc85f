package publish

import (
	"errors"
	"io/fs"
	"os"
	"testing"
)

func openRoot(t *testing.T, dir string) *os.Root {
	t.Helper()
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := root.Close(); err != nil {
			t.Error(err)
		}
	})
	return root
}

func TestRename(t *testing.T) {
	for way, rename := range map[string]func(root *os.Root, from, to string) error{
		"by the system": Rename, "by link": renameByLink,
	} {
		for _, to := range []string{"to", "dir/to"} {
			t.Run(way+" to "+to, func(t *testing.T) {
				root := openRoot(t, t.TempDir())
				err := errors.Join(root.Mkdir("dir", 0o700),
					root.WriteFile("from", []byte("new"), 0o600), root.WriteFile(to, []byte("old"), 0o600))
				if err != nil {
					t.Fatal(err)
				}
				if err := rename(root, "from", to); !errors.Is(err, fs.ErrExist) {
					t.Errorf("error is %v, want fs.ErrExist", err)
				}
				if got, err := root.ReadFile(to); err != nil || string(got) != "old" {
					t.Errorf("%q, %v", got, err)
				}
				if err := errors.Join(root.Remove(to), rename(root, "from", to)); err != nil {
					t.Error(err)
				}
				if got, err := root.ReadFile(to); err != nil || string(got) != "new" {
					t.Errorf("%q, %v", got, err)
				}
				if _, err := root.Lstat("from"); !errors.Is(err, fs.ErrNotExist) {
					t.Errorf("the old name still exists: %v", err)
				}
			})
		}
	}
}

// TestRenameDirectory renames what has no links.
func TestRenameDirectory(t *testing.T) {
	for way, rename := range map[string]func(root *os.Root, from, to string) error{
		"by the system": Rename, "by link": renameByLink,
	} {
		t.Run(way, func(t *testing.T) {
			root := openRoot(t, t.TempDir())
			if err := errors.Join(root.Mkdir("from", 0o700), root.Mkdir("taken", 0o700)); err != nil {
				t.Fatal(err)
			}
			if err := rename(root, "from", "taken"); !errors.Is(err, fs.ErrExist) {
				t.Errorf("error is %v, want fs.ErrExist", err)
			}
			if err := rename(root, "from", "to"); err != nil {
				t.Error(err)
			}
			if info, err := root.Lstat("to"); err != nil || !info.IsDir() {
				t.Errorf("%v, %v", info, err)
			}
		})
	}
}

func TestSyncDir(t *testing.T) {
	dir := t.TempDir()
	root := openRoot(t, dir)
	err := errors.Join(root.Mkdir("sub", 0o700), SyncDir(root, "sub"), SyncDir(root, "."), SyncPath(dir))
	if err != nil {
		t.Error(err)
	}
}
