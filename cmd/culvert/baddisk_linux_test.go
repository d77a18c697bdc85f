package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"culvert/internal/testkit/crashfs"
)

// TestBadDisk pushes a tree from a disk that cannot read one of its files, and pulls to one that cannot write
// another.
func TestBadDisk(t *testing.T) {
	crashfs.Need(t)
	withBuckets(t, func(t *testing.T, u *bucketUser) {
		disk, tree := crashfs.New("/disk"), t.TempDir()
		var bad atomic.Bool
		disk.Hook = func(o crashfs.Operation) crashfs.Fault {
			if bad.Load() && o.Kind == crashfs.Read && strings.HasSuffix(o.Name, "/7") ||
				o.Kind == crashfs.Write && strings.Contains(o.Name, "/back.culvert.part/29.") { // after most others
				return crashfs.IO
			}
			return crashfs.None
		}
		unmount, err := disk.Mount(tree)
		if err != nil {
			t.Fatal(err)
		}
		defer func() {
			disk.Kill()
			if err := unmount(); err != nil {
				t.Error(err)
			}
		}()
		for i := range 30 {
			if err := os.WriteFile(filepath.Join(tree, fmt.Sprint(i)), make([]byte, 10_000*i), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		bad.Store(true)
		_, direct := u.proxy(t, nil)
		_, said := u.want(t, 3, "push", tree+"/.", direct)
		if !strings.Contains(said, "29 files, 1 failed") || !strings.Contains(said, "input/output error") {
			t.Errorf("it says %q", said)
		}
		_, said = u.want(t, 1, "push", "--force", filepath.Join(tree, "7"), direct)
		if !strings.Contains(said, "7: it cannot be read here: input/output error") {
			t.Errorf("it says %q", said)
		}
		bad.Store(false)
		if _, said = u.want(t, 0, "push", tree+"/.", direct); !strings.Contains(said, "1 file, 29 there already") {
			t.Errorf("when the disk is well: %q", said)
		}
		_, said = u.want(t, 1, "pull", "-o", filepath.Join(tree, "back"), direct)
		if !strings.Contains(said, "ended early, with ") || !strings.Contains(said, "it cannot be written here: ") {
			t.Errorf("a pull that is abandoned says %q", said)
		}
	})
}
