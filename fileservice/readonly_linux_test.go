package fileservice_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"culvert/fileservice"
	"culvert/internal/testkit"
)

// TestReadOnlyDisk transfers to a file system that is not writable any more, and when it is so again.
func TestReadOnlyDisk(t *testing.T) {
	if os.Getuid() != 0 {
		testkit.Missing(t, "a file system of one's own", "run the tests as root")
	}
	for role, transfer := range transfers() {
		from, _ := tree(t, map[string]int{"file": 2 << 20, "sub/small": 10, "sub/other": 20})
		to := t.TempDir()
		mount := func(options string) {
			command := exec.Command("mount", "-t", "tmpfs", "-o", options, "tmpfs", to)
			if out, err := command.CombinedOutput(); err != nil {
				testkit.Missing(t, "mount: "+string(out), "run the tests where file systems may be mounted")
			}
		}
		mount("size=64m")
		t.Cleanup(func() {
			if out, err := exec.Command("umount", "-l", to).CombinedOutput(); err != nil {
				t.Errorf("%v: %s", err, out)
			}
		})
		left := filepath.Join(to, "file.abcdefghijkl.culvert.draft")
		if err := os.WriteFile(left, []byte("a draft"), 0o600); err != nil {
			t.Fatal(err)
		}
		mount("remount,ro")
		served, here := from, to
		if role == "push" {
			served, here = to, from
		}
		client := serve(t, served, writable)
		config := fileservice.TransferConfig{Remote: ".", Root: openRoot(t, here), Local: "."}
		if result, err := transfer(t.Context(), client, config); !errors.Is(err, syscall.EROFS) ||
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
		if _, err := transfer(t.Context(), client, config); err != nil {
			t.Errorf("%s: %v", role, err)
		}
		seeSame(t, from, to)
	}
}
