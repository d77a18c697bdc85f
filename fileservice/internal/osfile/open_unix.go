//go:build unix

package osfile

import "syscall"

// NoWait keeps the open of a named pipe from waiting for its other end.
const NoWait = syscall.O_NONBLOCK
