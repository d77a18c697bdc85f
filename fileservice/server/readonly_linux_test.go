package server_test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"culvert/fileservice"
	"culvert/fileservice/internal/filetest"
	"culvert/fileservice/transfer"
	"culvert/internal/testkit"
)

// mountRAM mounts a file system in memory on a directory, and gives what changes its options.
func mountRAM(t *testing.T, dir, options string) (mount func(options string)) {
	t.Helper()
	if os.Getuid() != 0 {
		testkit.Missing(t, "a file system of one's own", "run the tests as root")
	}
	mount = func(options string) {
		t.Helper()
		command := exec.Command("mount", "-t", "tmpfs", "-o", options, "tmpfs", dir)
		if out, err := command.CombinedOutput(); err != nil {
			testkit.Missing(t, "mount: "+string(out), "run the tests where file systems may be mounted")
		}
	}
	mount(options)
	t.Cleanup(func() {
		if out, err := exec.Command("umount", "-l", dir).CombinedOutput(); err != nil {
			t.Errorf("%v: %s", err, out)
		}
	})
	return mount
}

// TestReadOnlyDisk transfers to a file system that is not writable any more, and when it is so again.
func TestReadOnlyDisk(t *testing.T) {
	for role, run := range filetest.Transfers() {
		from, _ := filetest.Tree(t, map[string]int{"file": 2 << 20, "sub/small": 10, "sub/other": 20})
		to := t.TempDir()
		mount := mountRAM(t, to, "size=64m")
		left := filepath.Join(to, "file.abcdefghijkl.culvert.draft")
		err := os.WriteFile(left, []byte("a draft"), 0o600)
		if err = errors.Join(err, os.Chmod(left, os.ModeSticky|0o600)); err != nil {
			t.Fatal(err)
		}
		mount("remount,ro")
		served, here := from, to
		if role == "push" {
			served, here = to, from
		}
		client := filetest.Serve(t, served, filetest.Writable)
		config := transfer.Config{Remote: ".", Root: filetest.OpenRoot(t, here), Local: "."}
		if result, err := run(t.Context(), client, config); !errors.Is(err, syscall.EROFS) ||
			errors.Is(err, fileservice.ErrRefused) || result.Files > 0 {
			t.Errorf("%s: %+v, %v", role, result, err)
		}
		if role == "push" {
			if entries, err := client.ReadDir("."); err != nil || len(entries) != 0 {
				t.Errorf("its listing: %v, %v", entries, err)
			}
			if _, err := client.OpenFile("new", os.O_WRONLY|os.O_CREATE, 0o644); !errors.Is(err, syscall.EROFS) {
				t.Errorf("a draft: %v", err)
			}
		}
		mount("remount,rw")
		if err := os.Remove(left); err != nil {
			t.Error(err)
		}
		if _, err := run(t.Context(), client, config); err != nil {
			t.Errorf("%s: %v", role, err)
		}
		filetest.SeeSame(t, from, to)
	}
}

// TestFullDisk transfers to a disk that has room for a part. That ends the transfer with the first files that meet it,
// also if it would try again for ever, and when there is room it goes on.
func TestFullDisk(t *testing.T) {
	small := map[string]int{}
	for i := range 1000 {
		small[fmt.Sprintf("%d/file %d", i%9, i)] = 4000
	}
	for what, files := range map[string]map[string]int{
		"small": small, "large": {"one": 3 << 20, "two": 3 << 20, "three": 3 << 20, "four": 3 << 20},
	} {
		for role, run := range filetest.Transfers() {
			from, _ := filetest.Tree(t, files)
			to := t.TempDir()
			mount := mountRAM(t, to, "size=2m")
			served, here := from, to
			if role == "push" {
				served, here = to, from
			}
			client := filetest.Serve(t, served, filetest.Writable)
			failed := 0
			config := transfer.Config{
				Remote: ".", Root: filetest.OpenRoot(t, here), Local: ".",
				Retry: func(err error) bool {
					t.Errorf("%s of %s files: tried again after %v", role, what, err)
					return false
				},
				Notify: func(e transfer.Event) {
					if e.Kind == transfer.FileFailed {
						failed++
					}
				},
			}
			result, err := run(t.Context(), client, config)
			if !errors.Is(err, syscall.ENOSPC) || errors.Is(err, transfer.ErrPartial) {
				t.Errorf("%s of %s files: %+v, %v", role, what, result, err)
			}
			// One of each call that was under way.
			if most := 24; failed == 0 || failed > most || int64(failed) != result.Failed {
				t.Errorf("%s of %s files: %d, %d failed", role, what, failed, result.Failed)
			}
			mount("remount,size=64m")
			if result, err := run(t.Context(), client, config); err != nil {
				t.Errorf("%s of %s files: %+v, %v", role, what, result, err)
			}
			filetest.SeeSame(t, from, to)
		}
	}
}
