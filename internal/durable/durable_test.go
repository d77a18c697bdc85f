package durable

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestRenameNew(t *testing.T) {
	for name, rename := range map[string]func(from, to string) error{
		"of the system": RenameNew, "by link": renameByLink,
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			from, to := filepath.Join(dir, "from"), filepath.Join(dir, "to")
			for path, text := range map[string]string{from: "new", to: "old"} {
				if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			if err := rename(from, to); !errors.Is(err, os.ErrExist) {
				t.Errorf("error is %v, want one that is os.ErrExist", err)
			}
			if got, err := os.ReadFile(to); err != nil || string(got) != "old" {
				t.Errorf("%q, %v", got, err)
			}
			if err := os.Remove(to); err != nil {
				t.Fatal(err)
			}
			if err := rename(from, to); err != nil {
				t.Error(err)
			}
			if got, err := os.ReadFile(to); err != nil || string(got) != "new" {
				t.Errorf("%q, %v", got, err)
			}
			if _, err := os.Lstat(from); !errors.Is(err, os.ErrNotExist) {
				t.Errorf("the old name is still there: %v", err)
			}
		})
	}
}

func TestPartNameIsShortEnough(t *testing.T) {
	for _, name := range []string{"a", strings.Repeat("a", 255), strings.Repeat("ä", 127)} {
		part := filepath.Base(PartName(filepath.Join("dir", name)))
		if len(part) > 255 || !strings.HasSuffix(part, ".part") {
			t.Errorf("%d bytes: %s", len(part), part)
		}
	}
}

func TestSyncDir(t *testing.T) {
	dir := t.TempDir()
	if err := SyncDir(dir); err != nil {
		t.Error(err)
	}
}

func TestWriter(t *testing.T) {
	f, err := os.Create(filepath.Join(t.TempDir(), "file"))
	if err != nil {
		t.Fatal(err)
	}
	w := &Writer{File: f}
	text := strings.Repeat("some text\n", 100_000)
	for range 20 {
		if n, err := w.Write([]byte(text)); n != len(text) || err != nil {
			t.Fatal(n, err)
		}
	}
	if err := errors.Join(w.Sync(), w.Close()); err != nil {
		t.Fatal(err)
	}
	if got, err := os.ReadFile(f.Name()); err != nil || string(got) != strings.Repeat(text, 20) {
		t.Errorf("%d bytes, %v", len(got), err)
	}
}
