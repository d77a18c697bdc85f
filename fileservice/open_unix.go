//go:build unix

package fileservice

import "syscall"

// openWithoutWaiting keeps the open of a named pipe from waiting for its other end.
const openWithoutWaiting = syscall.O_NONBLOCK
