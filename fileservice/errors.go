package fileservice

import (
	"errors"
	"io/fs"

	"culvert/place"
)

// Errors that callers can act on, besides fs.ErrNotExist, fs.ErrExist, fs.ErrPermission, fs.ErrInvalid and the errors
// of contexts. All are wrapped in an *fs.PathError. If an operation of the server's system failed, its syscall.Errno is
// in the chain too, such as ENOSPC or ENOTEMPTY.
var (
	// ErrChanged: the file no longer has the named version. Data of the two versions must not be mixed.
	ErrChanged error = &kindError{"the file has changed", place.ErrChanged}

	// ErrRefused: the server is not writable, has reached a limit, has a full disk, or speaks another version of the
	// protocol. The message says which.
	ErrRefused error = &kindError{"the server refuses", place.ErrRefused}

	// ErrIntegrity: the other end sent a wrong sum or size, a name that leads elsewhere, or an endless listing. No
	// data of such an answer was returned.
	ErrIntegrity error = &kindError{"the answer of the other end is not sound", place.ErrIntegrity}

	// ErrBusy: another transfer, of this program or another one, is writing this file.
	ErrBusy = errors.New("fileservice: another transfer is writing this file")

	// ErrUnreachable: the other end could not be reached, went away, or was silent for the client's Timeout. The same
	// call may succeed later. The error of the dialer is in the chain.
	ErrUnreachable error = &kindError{"the other end is not reachable", place.ErrUnreachable}
)

// kindError is one of the errors that all places have.
type kindError struct {
	text string
	kind error
}

func (e *kindError) Error() string { return "fileservice: " + e.text }

func (e *kindError) Unwrap() error { return e.kind }

// An UnnamableError reports that a listing omits entries whose names no path can hold.
type UnnamableError = place.UnnamableError

// unfitError is an fs.ErrInvalid with a message of its own.
type unfitError string

func (e unfitError) Error() string { return string(e) }

func (unfitError) Is(target error) bool { return target == fs.ErrInvalid }

// NotRegular returns an fs.ErrInvalid that names the type of a file that is not regular.
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
