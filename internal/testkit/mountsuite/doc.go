// Package mountsuite has what every mount of a directory has to pass, whatever is between the mount and the directory.
//
//	mount := func(t *testing.T, served string, options mountsuite.Options) string {
//		dir := t.TempDir()
//		// mount served at dir, in another process, until the test ends
//		return dir
//	}
//	mountsuite.RunPOSIX(t, mount)
//	mountsuite.Run(t, mount, 100_000)
//
// These are go-fuse's tests of POSIX, a table of calls and their errors, random operations that are compared with a
// model, and programs: git, tar, cp, rsync, SQLite and others. A process that used its own mount could wait for itself,
// so the mount has to be in another one.
package mountsuite

import "testing"

// Options say how to mount.
type Options struct{ ReadWrite, AllowOther bool }

// Mount mounts the directory served until the test ends, and gives the place.
type Mount func(t *testing.T, served string, options Options) string
