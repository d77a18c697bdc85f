//go:build linux || darwin

package fileservice_test

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"culvert/internal/testkit"
)

// TestDraftKeepsOwner has a server that may give files away replace one of somebody else.
func TestDraftKeepsOwner(t *testing.T) {
	if os.Geteuid() != 0 {
		testkit.Missing(t, "the superuser", "run the test as root")
	}
	dir, _ := tree(t, map[string]int{"file": 100})
	path := filepath.Join(dir, "file")
	if err := os.Chown(path, 65_534, 65_533); err != nil {
		t.Fatal(err)
	}
	file := openDraft(t, serve(t, dir, writable), "file", os.O_WRONLY|os.O_TRUNC)
	if _, err := file.Write([]byte("new")); err != nil {
		t.Fatal(err)
	}
	if err := publish(file, "file"); err != nil {
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
