package fileservice

import (
	"errors"
	"fmt"
	"io/fs"
)

// Errors that callers can act on. Others are fs.ErrNotExist, fs.ErrExist, fs.ErrPermission, fs.ErrInvalid, and the
// errors of a context that ended. All of them are wrapped in an *fs.PathError. If an operation of the server's
// operating system failed, its syscall.Errno, such as ENOSPC or ENOTEMPTY, is in the chain too.
var (
	// ErrChanged: the file does not have the version that the call named. Data of that version must not be combined
	// with the current content.
	ErrChanged = errors.New("fileservice: the file has changed")

	// ErrRefused: the server does not do this, because it is not writable, a limit is reached, its disk is full, or it
	// has another version of the protocol. The message says which.
	ErrRefused = errors.New("fileservice: the server refuses")

	// ErrIntegrity: the other end violated the protocol. Bytes do not match their hash, sizes are wrong, names lead
	// elsewhere, or a listing is endless. Nothing of such an answer was returned.
	ErrIntegrity = errors.New("fileservice: the answer of the other end is not sound")

	// ErrBusy: another transfer, of this program or another one, is writing this file.
	ErrBusy = errors.New("fileservice: it is being transferred already")

	// ErrUnreachable: the other end could not be reached, went away, or was silent for the client's Timeout. The same
	// call may succeed later. The error of the dialer is in the chain.
	ErrUnreachable = errors.New("fileservice: the other end is not reachable")
)

// An UnnamableError reports that a listing lacks Count entries of a directory, whose names no path can hold: they are
// not valid UTF-8, are too long, or have control characters. It wraps fs.ErrInvalid.
type UnnamableError struct{ Count uint64 }

func (e *UnnamableError) Error() string {
	if e.Count == 1 {
		return "fileservice: 1 entry has a name that no path can hold"
	}
	return fmt.Sprintf("fileservice: %d entries have names that no path can hold", e.Count)
}

// Unwrap returns fs.ErrInvalid.
func (e *UnnamableError) Unwrap() error { return fs.ErrInvalid }

// unfitError is an fs.ErrInvalid with a text of its own.
type unfitError string

func (e unfitError) Error() string { return string(e) }

func (unfitError) Is(target error) bool { return target == fs.ErrInvalid }

// NotRegular returns the error for a file with this mode, which is not transferred because it is not regular.
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
