package mountsuite

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// Run runs all tests except RunPOSIX, in parallel. In their long form it makes the given number of random operations of
// each kind. For programs that only combine a tested mount with a server, a tenth is enough.
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

// newServed makes a directory to serve.
func newServed(t *testing.T) string {
	t.Helper()
	parent := t.TempDir()
	// t.TempDir is closed to other users, which some tests need.
	if err := os.Chmod(filepath.Dir(parent), 0o755); err != nil {
		t.Fatal(err)
	}
	root := filepath.Join(parent, "served")
	if err := os.Mkdir(root, 0o755); err != nil {
		t.Fatal(err)
	}
	return root
}

func isErrno(err error, want syscall.Errno) bool {
	errno, is := errors.AsType[syscall.Errno](err)
	return is && errno == want
}
