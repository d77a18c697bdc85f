package fusefs

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"testing/fstest"
	"time"

	"culvert/internal/testkit"
)

// TestRestoreLeavesWhatWasThere fails a mount on a directory that is the place of another file system.
func TestRestoreLeavesWhatWasThere(t *testing.T) {
	dir := t.TempDir()
	if err := syscall.Mount("none", dir, "tmpfs", 0, "size=64k"); err != nil {
		testkit.Missing(t, "the right to mount", "run as root")
	}
	defer func() {
		if err := syscall.Unmount(dir, 0); err != nil {
			t.Error(err)
		}
	}()
	name := filepath.Join(dir, "here")
	if err := os.WriteFile(name, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	before, err := findMount(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, found := range []mountPoint{before, {}} {
		if err := found.restore(dir); err != nil {
			t.Error(err)
		}
		if _, err := os.Stat(name); err != nil {
			t.Fatal(err)
		}
	}
}

// TestMountWithHelp has fusermount3 mount, as for users who may not, under a name that has the separators of options.
func TestMountWithHelp(t *testing.T) {
	if _, err := exec.LookPath("fusermount3"); err != nil {
		testkit.Missing(t, "fusermount3", "apt-get install fuse3")
	}
	dir := t.TempDir()
	fd, err := mountWithHelp(dir, Config{Name: `a,b\c`})
	if err != nil {
		t.Fatal(err)
	}
	point, err := findMount(dir)
	if err != nil || point.filesystem != "fuse."+subtype {
		t.Errorf("a mount %+v, %v", point, err)
	}
	table, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil || !strings.Contains(string(table), ` a,b\134c ro,`) {
		t.Errorf("no mount has the name: %v\n%s", err, table)
	}
	if err := errors.Join(syscall.Close(fd), point.unmount(0, "-u")); err != nil {
		t.Error(err)
	}
}

// TestAMountEndsIfItsDeviceCannotBeRead also checks that Wait would say why.
func TestAMountEndsIfItsDeviceCannotBeRead(t *testing.T) {
	dir := t.TempDir()
	config, err := Config{FS: fstest.MapFS{}}.withDefaults()
	if err != nil {
		t.Fatal(err)
	}
	m := newMount(config)
	defer m.end()
	root, err := m.newRoot()
	if err != nil {
		t.Fatal(err)
	}
	d, point, err := m.connect(dir, root)
	if err != nil {
		testkit.Missing(t, "the right to mount", "run as root")
	}
	if err := d.file.SetReadDeadline(time.Unix(1, 0)); err != nil {
		t.Fatal(err)
	}
	d.serve(point.abort)
	if err := m.endError(); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("Wait would return %v", err)
	}
	if now, err := findMount(dir); err != nil || now.dir != "" {
		t.Errorf("%+v is still mounted, %v", now, err)
	}
}

// TestHelpThatSendsNothing has a program in place of fusermount3 that ends without a mount.
func TestHelpThatSendsNothing(t *testing.T) {
	programs := t.TempDir()
	if err := os.WriteFile(filepath.Join(programs, "fusermount3"), []byte("#!/bin/sh\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", programs)
	if fd, err := mountWithHelp(t.TempDir(), Config{}); err == nil || !strings.Contains(err.Error(), "has not sent") {
		t.Errorf("a mount by it gives descriptor %d, %v", fd, err)
	}
}
