package mountsuite

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// Run runs all tests but those of POSIX, beside each other. With CULVERT_TEST_ALL=1 it does so many random operations
// of each kind. They are most useful beside the mount; where programs only bring it together with a server, a tenth
// will do.
func Run(t *testing.T, mount Mount, operations int) {
	random := func(test func(t *testing.T, mount Mount, operations int)) func(t *testing.T, mount Mount) {
		return func(t *testing.T, mount Mount) { test(t, mount, randomOperations(operations)) }
	}
	for _, test := range []struct {
		name string
		run  func(t *testing.T, mount Mount)
	}{
		{"Errno", testErrno},
		{"ReadOnlyErrno", testReadOnlyErrno},
		{"Permissions", testPermissions},
		{"OthersStayOut", testOthersStayOut},
		{"RandomReads", random(testRandomReads)},
		{"RandomWrites", random(testRandomWrites)},
		{"ProgramsRead", testProgramsRead},
		{"ProgramsWrite", testProgramsWrite},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			test.run(t, mount)
		})
	}
}

// newServed makes a directory to be served.
func newServed(t *testing.T) string {
	t.Helper()
	parent := t.TempDir()
	// What t.TempDir makes is closed to other users, on which some tests depend.
	if err := os.Chmod(filepath.Dir(parent), 0o755); err != nil {
		t.Fatal(err)
	}
	root := filepath.Join(parent, "served")
	if err := os.Mkdir(root, 0o755); err != nil {
		t.Fatal(err)
	}
	return root
}

// thorough says whether the tests run as often as they are meant to, as ./dev test has them.
func thorough() bool { return os.Getenv("CULVERT_TEST_ALL") == "1" }

func isErrno(err error, want syscall.Errno) bool {
	errno, is := errors.AsType[syscall.Errno](err)
	return is && errno == want
}
