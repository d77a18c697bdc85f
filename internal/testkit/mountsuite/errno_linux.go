package mountsuite

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// newErrnoRoot has one thing of each kind: file, private, dir, full with inner and file, and the symbolic links link,
// dirlink, dangling and loop.
func newErrnoRoot(t *testing.T) string {
	t.Helper()
	root := newServed(t)
	at := func(name string) string { return filepath.Join(root, name) }
	for _, err := range []error{
		os.WriteFile(at("file"), []byte("0123456789"), 0o644),
		os.WriteFile(at("private"), []byte("0123456789"), 0o600),
		os.Mkdir(at("dir"), 0o755),
		os.Mkdir(at("closed"), 0o700),
		os.WriteFile(at("closed/file"), nil, 0o644),
		os.Mkdir(at("full"), 0o755),
		os.Mkdir(at("full/inner"), 0o755),
		os.WriteFile(at("full/file"), nil, 0o644),
		os.Symlink("file", at("link")),
		os.Symlink("dir", at("dirlink")),
		os.Symlink("nothing", at("dangling")),
		os.Symlink("loop", at("loop")),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	return root
}

// errnoTest is a call that must fail.
type errnoTest struct {
	call string // as in a shell
	want syscall.Errno
	do   func(dir string) error
}

func openError(path string, flags int) error {
	fd, err := unix.Open(path, flags, 0o644)
	if err == nil {
		err = unix.Close(fd)
	}
	return err
}

// withOpen calls a function with an open descriptor.
func withOpen(path string, flags int, do func(fd int) error) error {
	fd, err := unix.Open(path, flags, 0o644)
	if err != nil {
		return err
	}
	return errors.Join(do(fd), unix.Close(fd))
}

func opening(name string, flags int, call string, want syscall.Errno) errnoTest {
	return errnoTest{"open " + name + " " + call, want, func(dir string) error {
		return openError(dir+"/"+name, flags)
	}}
}

func onPath(call string, do func(path string) error, name string, want syscall.Errno) errnoTest {
	shown := name
	if len(shown) > 40 {
		shown = "long"
	}
	return errnoTest{call + " " + shown, want, func(dir string) error { return do(dir + "/" + name) }}
}

func renaming(from, to string, flags uint, want syscall.Errno) errnoTest {
	shown := to
	if len(shown) > 40 {
		shown = "long"
	}
	return errnoTest{"rename " + from + " " + shown, want, func(dir string) error {
		return unix.Renameat2(unix.AT_FDCWD, dir+"/"+from, unix.AT_FDCWD, dir+"/"+to, flags)
	}}
}

var (
	longName = strings.Repeat("n", 256)
	longPath = strings.Repeat("dir/../", 600) + "file"
)

// The calls with one path, each in the variant that gets furthest.
var pathCalls = map[string]func(path string) error{
	"creat":    func(path string) error { return openError(path, unix.O_CREAT|unix.O_WRONLY|unix.O_TRUNC) },
	"read":     func(path string) error { return openError(path, unix.O_RDONLY) },
	"mkdir":    func(path string) error { return unix.Mkdir(path, 0o755) },
	"rmdir":    unix.Rmdir,
	"unlink":   unix.Unlink,
	"truncate": func(path string) error { return unix.Truncate(path, 5) },
	"chmod":    func(path string) error { return unix.Chmod(path, 0o600) },
	"stat":     func(path string) error { return unix.Stat(path, &unix.Stat_t{}) },
	"utimens": func(path string) error {
		return unix.UtimesNanoAt(unix.AT_FDCWD, path, []unix.Timespec{{Sec: 1}, {Sec: 2}}, 0)
	},
}

// errnoTests are the errors that POSIX and the Linux manual pages specify.
func errnoTests() []errnoTest {
	tests := []errnoTest{
		opening("nothing", unix.O_RDWR, "", unix.ENOENT),
		opening("dir", unix.O_WRONLY, "to write", unix.EISDIR),
		opening("dir", unix.O_RDWR, "to read and write", unix.EISDIR),
		opening("dir", unix.O_CREAT, "to create", unix.EISDIR),
		opening("dir", unix.O_RDONLY|unix.O_TRUNC, "to truncate", unix.EISDIR),
		opening("file", unix.O_CREAT|unix.O_EXCL|unix.O_RDWR, "as new", unix.EEXIST),
		opening("dir", unix.O_CREAT|unix.O_EXCL|unix.O_RDWR, "as new", unix.EEXIST),
		opening("dangling", unix.O_CREAT|unix.O_EXCL|unix.O_RDWR, "as new", unix.EEXIST),
		opening("dangling", unix.O_RDONLY, "", unix.ENOENT),
		opening("link", unix.O_RDONLY|unix.O_NOFOLLOW, "itself", unix.ELOOP),
		opening("file", unix.O_RDONLY|unix.O_DIRECTORY, "as a directory", unix.ENOTDIR),
		opening("file/", unix.O_RDONLY, "as a directory", unix.ENOTDIR),
		opening("dir", unix.O_TMPFILE|unix.O_RDWR, "without a name", unix.EOPNOTSUPP),

		onPath("mkdir", pathCalls["mkdir"], "file", unix.EEXIST),
		onPath("mkdir", pathCalls["mkdir"], "dir", unix.EEXIST),
		onPath("mkdir", pathCalls["mkdir"], "dangling", unix.EEXIST),
		onPath("mkdir", pathCalls["mkdir"], ".", unix.EEXIST),
		onPath("rmdir", unix.Rmdir, "full", unix.ENOTEMPTY),
		onPath("rmdir", unix.Rmdir, "file", unix.ENOTDIR),
		onPath("rmdir", unix.Rmdir, "dirlink", unix.ENOTDIR),
		onPath("rmdir", unix.Rmdir, "dir/.", unix.EINVAL),
		onPath("rmdir", unix.Rmdir, "full/inner/..", unix.ENOTEMPTY),
		onPath("rmdir", unix.Rmdir, "", unix.EBUSY),
		onPath("unlink", unix.Unlink, "dir", unix.EISDIR),
		onPath("unlink", unix.Unlink, "file/", unix.ENOTDIR),
		onPath("truncate", pathCalls["truncate"], "dir", unix.EISDIR),
		onPath("truncate below 0 of", func(path string) error { return unix.Truncate(path, -1) }, "file", unix.EINVAL),

		renaming("file", "dir", 0, unix.EISDIR),
		renaming("dir", "file", 0, unix.ENOTDIR),
		renaming("dir", "full", 0, unix.ENOTEMPTY),
		renaming("full", "full/inner/below", 0, unix.EINVAL),
		renaming("full", "full/inner", 0, unix.EINVAL),
		renaming("full/inner", "full", 0, unix.ENOTEMPTY),
		renaming("nothing", "file", 0, unix.ENOENT),
		renaming("file", "nothing/below", 0, unix.ENOENT),
		renaming("file", "file/below", 0, unix.ENOTDIR),
		renaming("file", longName, 0, unix.ENAMETOOLONG),
		renaming(".", "other", 0, unix.EBUSY),
		renaming("file", "link", unix.RENAME_NOREPLACE, unix.EEXIST),
		renaming("file", "other", unix.RENAME_WHITEOUT, unix.EINVAL),
		renaming("file", "private", unix.RENAME_EXCHANGE, unix.EINVAL),
		{"rename to another file system", unix.EXDEV, func(dir string) error {
			return unix.Rename(dir+"/file", filepath.Dir(dir)+"/file")
		}},

		{"ftruncate file open to read", unix.EINVAL, func(dir string) error {
			return withOpen(dir+"/file", unix.O_RDONLY, func(fd int) error { return unix.Ftruncate(fd, 1) })
		}},
		{"write to file open to read", unix.EBADF, func(dir string) error {
			return withOpen(dir+"/file", unix.O_RDONLY, func(fd int) error {
				_, err := unix.Write(fd, []byte("x"))
				return err
			})
		}},
		{"read file open to write", unix.EBADF, func(dir string) error {
			return withOpen(dir+"/file", unix.O_WRONLY, func(fd int) error {
				_, err := unix.Read(fd, make([]byte, 1))
				return err
			})
		}},
		{"utimens with too many nanoseconds", unix.EINVAL, func(dir string) error {
			return unix.UtimesNanoAt(unix.AT_FDCWD, dir+"/file", []unix.Timespec{{}, {Nsec: 1e9}}, 0)
		}},
		{"link", unix.EOPNOTSUPP, func(dir string) error { return unix.Link(dir+"/file", dir+"/other") }},
		{"symlink", unix.EOPNOTSUPP, func(dir string) error { return unix.Symlink("file", dir+"/other") }},
		{"mkfifo", unix.EOPNOTSUPP, func(dir string) error { return unix.Mkfifo(dir+"/other", 0o644) }},
		{"chown", unix.EPERM, func(dir string) error { return unix.Chown(dir+"/file", 1, 1) }},
	}
	for call, do := range pathCalls {
		tests = append(tests,
			onPath(call, do, "nothing/below", unix.ENOENT),
			onPath(call, do, "file/below", unix.ENOTDIR),
			onPath(call, do, "loop/below", unix.ELOOP),
			onPath(call, do, longName, unix.ENAMETOOLONG),
			onPath(call, do, longPath, unix.ENAMETOOLONG))
		switch call {
		case "creat":
			tests = append(tests, onPath(call, do, "loop", unix.ELOOP))
		case "mkdir":
		case "rmdir", "unlink":
			tests = append(tests, onPath(call, do, "nothing", unix.ENOENT))
		default:
			tests = append(tests, onPath(call, do, "loop", unix.ELOOP), onPath(call, do, "nothing", unix.ENOENT))
		}
	}
	return tests
}

func testErrno(t *testing.T, mount Mount) {
	root := newErrnoRoot(t)
	before := describe(t, root)
	dir := mount(t, root, Options{ReadWrite: true})
	for _, test := range errnoTests() {
		t.Run(test.call, func(t *testing.T) {
			if err := test.do(dir); !isErrno(err, test.want) {
				t.Errorf("gives %v, want %v", err, test.want)
			}
		})
	}
	if after := describe(t, root); after != before {
		t.Errorf("calls that failed have changed something: before\n%safter\n%s", before, after)
	}
}

// describe lists a tree, so that two states can be compared.
func describe(t *testing.T, root string) string {
	t.Helper()
	var text strings.Builder
	err := filepath.WalkDir(root, func(path string, entry os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := entry.Info()
		if err != nil {
			return err
		}
		text.WriteString(strings.TrimPrefix(path, root) + " " + info.Mode().String())
		if info.Mode().IsRegular() {
			text.WriteString(" " + info.ModTime().String())
			content, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			text.WriteString(" " + string(content))
		}
		text.WriteString("\n")
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return text.String()
}

// changes are calls that modify the tree.
var changes = []errnoTest{
	opening("file", unix.O_WRONLY, "to write", 0),
	opening("file", unix.O_RDWR, "to read and write", 0),
	opening("file", unix.O_RDONLY|unix.O_TRUNC, "to truncate", 0),
	opening("new", unix.O_CREAT|unix.O_RDONLY, "to create", 0),
	onPath("mkdir", pathCalls["mkdir"], "new", 0),
	onPath("rmdir", unix.Rmdir, "dir", 0),
	onPath("unlink", unix.Unlink, "file", 0),
	onPath("truncate", pathCalls["truncate"], "file", 0),
	onPath("chmod", pathCalls["chmod"], "file", 0),
	onPath("chmod", pathCalls["chmod"], "dir", 0),
	onPath("utimens", pathCalls["utimens"], "file", 0),
	renaming("file", "new", 0, 0),
	renaming("file", "private", 0, 0),
}

func testReadOnlyErrno(t *testing.T, mount Mount) {
	root := newErrnoRoot(t)
	before := describe(t, root)
	dir := mount(t, root, Options{})
	for _, test := range changes {
		t.Run(test.call, func(t *testing.T) {
			if err := test.do(dir); err != unix.EROFS {
				t.Errorf("gives %v, want %v", err, unix.EROFS)
			}
		})
	}
	if after := describe(t, root); after != before {
		t.Errorf("a mount that is only for reading has changed something: before\n%safter\n%s", before, after)
	}
}

// testPermissions makes forbidden calls as another user.
func testPermissions(t *testing.T, mount Mount) {
	if os.Getuid() != 0 {
		t.Skip("only root can become another user")
	}
	root := newErrnoRoot(t)
	before := describe(t, root)
	dir := mount(t, root, Options{ReadWrite: true, AllowOther: true})
	tests := []errnoTest{
		opening("private", unix.O_RDONLY, "", unix.EACCES),
		opening("closed/file", unix.O_RDONLY, "", unix.EACCES),
		onPath("stat", pathCalls["stat"], "closed/file", unix.EACCES),
		onPath("chmod", pathCalls["chmod"], "dir", unix.EPERM),
		onPath("utimens", pathCalls["utimens"], "file", unix.EPERM),
	}
	for _, change := range changes {
		change.want = unix.EACCES
		if strings.HasPrefix(change.call, "chmod") || strings.HasPrefix(change.call, "utimens") {
			change.want = unix.EPERM
		}
		tests = append(tests, change)
	}
	for _, test := range tests {
		t.Run(test.call, func(t *testing.T) {
			if err := asNobody(t, func() error { return test.do(dir) }); err != test.want {
				t.Errorf("gives %v, want %v", err, test.want)
			}
		})
	}
	may := opening("file", unix.O_RDONLY, "", 0)
	if err := asNobody(t, func() error { return may.do(dir) }); err != nil {
		t.Errorf("another user may not read what everybody may: %v", err)
	}
	if after := describe(t, root); after != before {
		t.Errorf("another user has changed something: before\n%safter\n%s", before, after)
	}
}

// testOthersStayOut checks that other users cannot use a mount without AllowOther.
func testOthersStayOut(t *testing.T, mount Mount) {
	if os.Getuid() != 0 {
		t.Skip("only root can become another user")
	}
	dir := mount(t, newErrnoRoot(t), Options{ReadWrite: true})
	for name, do := range pathCalls {
		if err := asNobody(t, func() error { return do(dir + "/file") }); err != unix.EACCES {
			t.Errorf("%s as another user gives %v, want %v", name, err, unix.EACCES)
		}
	}
}

// asNobody calls a function as a user without files.
func asNobody(t *testing.T, do func() error) error {
	t.Helper()
	const nobody = 65534
	result := make(chan error)
	go func() {
		// The thread keeps the user, and ends with the goroutine.
		runtime.LockOSThread()
		for _, call := range []uintptr{unix.SYS_SETRESGID, unix.SYS_SETRESUID} {
			if _, _, errno := unix.RawSyscall(call, nobody, nobody, nobody); errno != 0 {
				result <- errno
				return
			}
		}
		result <- do()
	}()
	return <-result
}
