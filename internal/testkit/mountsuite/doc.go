// Package mountsuite tests mounts of a directory, with any layers between the mount and the directory.
//
//	mount := func(t *testing.T, served string, options mountsuite.Options) string {
//		dir := t.TempDir()
//		// mount served at dir, in another process, until the test ends
//		return dir
//	}
//	mountsuite.RunPOSIX(t, mount)
//	mountsuite.Run(t, mount, 100_000)
//
// It runs go-fuse's POSIX tests, a table of calls and their errors, random operations that are compared with a model,
// and programs: git, tar, cp, rsync, SQLite and others. A process that uses its own mount may deadlock, so another
// process must mount.
package mountsuite

import "testing"

// Options configure a mount.
type Options struct{ ReadWrite, AllowOther bool }

// Mount mounts the directory served until the test ends and returns the mount point.
type Mount func(t *testing.T, served string, options Options) string
