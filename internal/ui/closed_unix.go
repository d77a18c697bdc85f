//go:build unix

package ui

import (
	"os"

	"golang.org/x/sys/unix"
)

// IsClosed reports whether a stream of standard input or output was closed when the program began, as by >&- in a
// shell. The runtime of Go then opens the null device in its place, for reading and writing, and everything that is
// written would vanish without a word. Those who mean the null device open it for one of the two, mark it to be closed
// in other programs, as Python does, or give it to the program as standard error too, as who makes a daemon does.
func IsClosed(f *os.File) bool {
	return isNull(f) && !isNull(os.Stderr)
}

func isNull(f *os.File) bool {
	flags, err := unix.FcntlInt(f.Fd(), unix.F_GETFL, 0)
	if err != nil || flags&unix.O_ACCMODE != unix.O_RDWR || flags&unix.O_CLOEXEC != 0 {
		return false
	}
	info, err := f.Stat()
	if err != nil {
		return false
	}
	null, err := os.Stat(os.DevNull)
	return err == nil && os.SameFile(info, null)
}
