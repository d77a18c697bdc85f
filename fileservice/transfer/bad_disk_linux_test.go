package transfer_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"culvert/fileservice/internal/filetest"
	"culvert/fileservice/transfer"
	"culvert/internal/testkit/crashfs"
	"culvert/place/dir"
)

// mountBad mounts a disk whose operations fail with a fault where fails says so, while bad is set.
func mountBad(t *testing.T, dir string, fault crashfs.Fault, fails func(crashfs.Operation) bool) (bad *atomic.Bool) {
	t.Helper()
	crashfs.Need(t)
	disk := crashfs.New("/disk")
	bad = &atomic.Bool{}
	disk.Hook = func(o crashfs.Operation) crashfs.Fault {
		if bad.Load() && fails(o) {
			return fault
		}
		return crashfs.None
	}
	unmount, err := disk.Mount(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		disk.Kill()
		if err := unmount(); err != nil {
			t.Error(err)
		}
	})
	return bad
}

// mover returns what copies a tree from one directory to another: through a server, or through a place.
func mover(t *testing.T, role, from, to string) func() (transfer.Result, error) {
	t.Helper()
	place := func(name string) *dir.Dir {
		opened, err := dir.Open(name)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := opened.Close(); err != nil {
				t.Error(err)
			}
		})
		return opened
	}
	config := func(local string) transfer.Config {
		return transfer.Config{Remote: ".", Root: filetest.OpenRoot(t, local), Local: ".", Overwrite: true}
	}
	switch role {
	case "pull":
		remote := filetest.Serve(t, from, nil)
		return func() (transfer.Result, error) { return transfer.Pull(t.Context(), remote.Place(), config(to)) }
	case "push":
		remote := filetest.Serve(t, to, filetest.Writable)
		return func() (transfer.Result, error) { return transfer.Push(t.Context(), remote.Place(), config(from)) }
	case "pull from a place":
		return func() (transfer.Result, error) { return transfer.Pull(t.Context(), place(from), config(to)) }
	}
	return func() (transfer.Result, error) { return transfer.Push(t.Context(), place(to), config(from)) }
}

// TestBadSource copies from a disk that cannot read some files. All others arrive, and the failures are told.
func TestBadSource(t *testing.T) {
	for _, role := range []string{"pull", "push", "pull from a place", "push to a place"} {
		t.Run(role, func(t *testing.T) {
			from, to := t.TempDir(), t.TempDir()
			bad := mountBad(t, from, crashfs.IO, func(o crashfs.Operation) bool {
				return o.Kind == crashfs.Read && strings.Contains(o.Name, "bad")
			})
			good := 0
			for name, size := range smallBeside(map[string]int{
				"large": 3 << 20, "sub/bad": 5000, "bad large": 5 << 20, "small/bad": 100, "good": 100_000,
				"bad dir/x": 5,
			}) {
				path := filepath.Join(from, name)
				err := os.MkdirAll(filepath.Dir(path), 0o755)
				if err := errors.Join(err, os.WriteFile(path, make([]byte, size), 0o600)); err != nil {
					t.Fatal(err)
				}
				if !strings.Contains(name, "bad") {
					good++
				}
			}
			bad.Store(true)
			move := mover(t, role, from, to)
			result, err := move()
			if !errors.Is(err, transfer.ErrPartial) || !errors.Is(err, syscall.EIO) ||
				result.Files != int64(good) || result.Failed != 4 {
				t.Errorf("%d of %d files: %v, %v", result.Files, good, err, result.Faults)
			}
			for _, fault := range result.Faults {
				end, is := errors.AsType[*transfer.EndError](fault.Err)
				if !is || end.Writing || !strings.Contains(fault.Name, "bad") {
					t.Errorf("%s: %v", fault.Name, fault.Err)
				}
			}
			bad.Store(false)
			result, err = move()
			if err != nil || result.Files < 4 {
				t.Errorf("when the disk can be read again: %+v, %v", result, err)
			}
			seeCopies(t, from, to)
		})
	}
}

// TestBadTarget copies to a tree of which a part is on a disk that cannot be written. All that is elsewhere arrives.
func TestBadTarget(t *testing.T) {
	for _, role := range []string{"pull", "push"} {
		for name, fault := range map[string]crashfs.Fault{
			"broken": crashfs.IO, "full": crashfs.NoSpace, "read-only": crashfs.ReadOnly,
		} {
			t.Run(role+"/"+name, func(t *testing.T) { testBadTarget(t, role, fault) })
		}
	}
}

func testBadTarget(t *testing.T, role string, fault crashfs.Fault) {
	from, _ := filetest.Tree(t, smallBeside(map[string]int{
		"large": 3 << 20, "mounted/large": 3 << 20, "mounted/small": 100, "mounted/dir/small": 100, "z": 100_000,
	}))
	to := t.TempDir()
	mounted := filepath.Join(to, "mounted")
	if err := os.Mkdir(mounted, 0o755); err != nil {
		t.Fatal(err)
	}
	mountBad(t, mounted, fault, func(o crashfs.Operation) bool { return o.Kind == crashfs.Write }).Store(true)
	result, err := mover(t, role, from, to)()
	if !errors.Is(err, transfer.ErrPartial) || result.Failed != 3 || result.Files != 75 {
		t.Errorf("%d files, %d failed: %v", result.Files, result.Failed, err)
	}
	for _, fault := range result.Faults {
		end, is := errors.AsType[*transfer.EndError](fault.Err)
		if !is || !end.Writing || !strings.HasPrefix(fault.Name, "mounted/") {
			t.Errorf("%s: %v", fault.Name, fault.Err)
		}
	}
}

// TestRefusedNames copies to a tree in which some files cannot be written: their directory refuses, or another kind of
// file has their name. All others arrive.
func TestRefusedNames(t *testing.T) {
	for _, role := range []string{"pull", "push"} {
		t.Run(role, func(t *testing.T) {
			files := smallBeside(map[string]int{
				"large": 3 << 20, "z": 100_000, "refusing/small": 100, "refusing/large": 3 << 20,
				"a directory": 100, "a large directory": 3 << 20, "a file/small": 100,
			})
			from, _ := filetest.Tree(t, files)
			to := t.TempDir()
			disk := filepath.Join(to, "refusing")
			err := errors.Join(
				os.Mkdir(disk, 0o755), os.Mkdir(filepath.Join(to, "a directory"), 0o755),
				os.Mkdir(filepath.Join(to, "a large directory"), 0o755),
				os.WriteFile(filepath.Join(to, "a file"), nil, 0o600))
			if err != nil {
				t.Fatal(err)
			}
			mountBad(t, disk, crashfs.Denied, crashfs.Operation.Changes).Store(true)
			result, err := mover(t, role, from, to)()
			if !errors.Is(err, transfer.ErrPartial) || result.Failed != 5 || result.Files != int64(len(files)-5) {
				t.Errorf("%d of %d files, %d failed: %v", result.Files, len(files), result.Failed, err)
			}
			for _, fault := range result.Faults {
				end, is := errors.AsType[*transfer.EndError](fault.Err)
				kept := errors.Is(fault.Err, os.ErrExist) || errors.Is(fault.Err, os.ErrPermission)
				if !is || !end.Writing || !kept {
					t.Errorf("%s: %v", fault.Name, fault.Err)
				}
			}
		})
	}
}

// TestBadTargetEnds has a disk of all copies that cannot be written: there is no use in going on.
func TestBadTargetEnds(t *testing.T) {
	for _, role := range []string{"pull", "push", "push to a place"} {
		from, _ := filetest.Tree(t, smallBeside(map[string]int{"large": 3 << 20, "z": 100_000}))
		to := t.TempDir()
		mountBad(t, to, crashfs.IO, func(o crashfs.Operation) bool { return o.Kind == crashfs.Write }).Store(true)
		result, err := mover(t, role, from, to)()
		end, is := errors.AsType[*transfer.EndError](err)
		if errors.Is(err, transfer.ErrPartial) || !errors.Is(err, syscall.EIO) || !is || !end.Writing {
			t.Errorf("%s: %+v, %v", role, result, err)
		}
	}
}
