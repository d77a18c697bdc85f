//go:build unix

package command

import (
	"os"

	"golang.org/x/sys/unix"
)

// isClosed reports whether a standard stream was closed when the program began, as by >&- in a shell. In its place the
// Go runtime opens /dev/null, for reading and writing, before any code of the program runs. Shells and service managers
// open /dev/null in one direction; a parent that opens it in both cannot be told from one that closed the stream.
func isClosed(stream any) bool {
	f, is := stream.(*os.File)
	if !is {
		return false
	}
	info, err := f.Stat()
	null, errOfNull := os.Stat(os.DevNull)
	if err != nil || errOfNull != nil || !os.SameFile(info, null) {
		return false
	}
	var flags int
	conn, err := f.SyscallConn()
	if err == nil {
		_ = conn.Control(func(fd uintptr) { flags, err = unix.FcntlInt(fd, unix.F_GETFL, 0) })
	}
	return err == nil && flags&unix.O_ACCMODE == unix.O_RDWR
}
