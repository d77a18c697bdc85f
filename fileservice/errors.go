package fileservice

import (
	"errors"
	"fmt"
	"io/fs"
)

// What a caller can act on. Beside these there are fs.ErrNotExist, fs.ErrExist, fs.ErrPermission and fs.ErrInvalid, and
// the errors of a context that ended. All of them come in an *fs.PathError. Where the operating system of the server
// has failed, its syscall.Errno is in the chain too, such as ENOSPC or ENOTEMPTY.
var (
	// ErrChanged says that the file is no longer of the version that was named. What was read of it is of no use
	// beside what is there now.
	ErrChanged = errors.New("fileservice: the file has changed")

	// ErrRefused says that the server does not do this: it is not writable, a limit of it is reached, its disk is
	// full, or it speaks another version of the protocol. The message says which.
	ErrRefused = errors.New("fileservice: the server refuses")

	// ErrIntegrity says that the other end broke its word: bytes that do not have their hash, sizes that are not true,
	// names that lead elsewhere, listings without an end. Nothing of such an answer was handed out.
	ErrIntegrity = errors.New("fileservice: the answer of the other end is not sound")

	// ErrBusy says that somebody else writes the file at this moment: another transfer, of this program or another one.
	ErrBusy = errors.New("fileservice: it is being transferred already")

	// ErrUnreachable says that the other end could not be reached, went away, or was silent for
	// Timeout of the client. The same call may succeed later. The error of the dialer is in the chain.
	ErrUnreachable = errors.New("fileservice: the other end is not reachable")
)

// An UnnamableError says that a directory has more entries than were given: no path can hold the names of Count others,
// which are not valid UTF-8, are too long, or have control characters. It is an fs.ErrInvalid.
type UnnamableError struct{ Count uint64 }

func (e *UnnamableError) Error() string {
	if e.Count == 1 {
		return "fileservice: 1 entry has a name that no path can hold"
	}
	return fmt.Sprintf("fileservice: %d entries have names that no path can hold", e.Count)
}

// Unwrap gives fs.ErrInvalid.
func (e *UnnamableError) Unwrap() error { return fs.ErrInvalid }

// unfitError is an fs.ErrInvalid that says what is wrong in better words.
type unfitError string

func (e unfitError) Error() string { return string(e) }

func (unfitError) Is(target error) bool { return target == fs.ErrInvalid }

// NotRegular says what is not transferred.
func NotRegular(mode fs.FileMode) error {
	kind := "not a regular file"
	switch {
	case mode&fs.ModeSymlink != 0:
		kind = "a symbolic link, which is not followed"
	case mode.IsDir():
		kind = "a directory"
	case mode&fs.ModeDevice != 0:
		kind = "a device"
	case mode&fs.ModeNamedPipe != 0:
		kind = "a pipe"
	case mode&fs.ModeSocket != 0:
		kind = "a socket"
	}
	return unfitError("it is " + kind)
}
