package fileservice

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"strings"
	"syscall"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
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
	// [ClientConfig.Timeout]. The same call may succeed later. The error of the dialer is in the chain.
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

func isUnnamable(err error) bool {
	_, is := errors.AsType[*UnnamableError](err)
	return is
}

// kinds are the errors that cross the wire, with the codes they have there.
var kinds = []struct {
	code codes.Code
	err  error
}{
	{codes.Aborted, ErrChanged},
	{codes.DataLoss, ErrIntegrity},
	{codes.FailedPrecondition, ErrRefused},
	{codes.ResourceExhausted, ErrRefused},
	{codes.Unimplemented, ErrRefused},
	{codes.Unavailable, ErrUnreachable},
	{codes.NotFound, fs.ErrNotExist},
	{codes.AlreadyExists, fs.ErrExist},
	{codes.PermissionDenied, fs.ErrPermission},
	{codes.InvalidArgument, fs.ErrInvalid},
	{codes.Canceled, context.Canceled},
	{codes.DeadlineExceeded, context.DeadlineExceeded},
}

// toStatus gives what the other end may know of an error: its kind, and the words of the operating system without the
// paths of this machine.
func toStatus(err error) error {
	if err == nil {
		return nil
	}
	if _, is := status.FromError(err); is {
		return err
	}
	text := err.Error()
	if pathError, is := errors.AsType[*fs.PathError](err); is {
		text = pathError.Err.Error()
	} else if linkError, is := errors.AsType[*os.LinkError](err); is {
		text = linkError.Err.Error()
	}
	return withErrno(statusOf(err, text), err)
}

func statusOf(err error, text string) *status.Status {
	if errors.Is(err, ErrBusy) {
		return status.New(codes.FailedPrecondition, "it is being transferred already")
	}
	if errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) || errors.Is(err, syscall.EMFILE) {
		return status.New(codes.ResourceExhausted, text)
	}
	if errors.Is(err, syscall.EINVAL) || errors.Is(err, syscall.ENOTDIR) || errors.Is(err, syscall.EISDIR) {
		return status.New(codes.InvalidArgument, text)
	}
	for _, kind := range kinds {
		if errors.Is(err, kind.err) {
			text = strings.TrimPrefix(strings.TrimPrefix(text, kind.err.Error()), ": ")
			return status.New(kind.code, text)
		}
	}
	return status.New(codes.Unknown, text)
}

// unfitError is an fs.ErrInvalid that says what is wrong in better words.
type unfitError string

func (e unfitError) Error() string { return string(e) }

func (unfitError) Is(target error) bool { return target == fs.ErrInvalid }

// remoteError is an error that the other end has told of.
type remoteError struct {
	kind  error
	errno error // nil if there is none
	text  string
}

func (e *remoteError) Error() string {
	switch {
	case e.text == "":
		return e.kind.Error()
	case errors.Is(e.kind, fs.ErrNotExist), errors.Is(e.kind, fs.ErrExist), errors.Is(e.kind, fs.ErrPermission):
		return e.text // the words of the operating system say the kind
	}
	return fmt.Sprintf("%v: %s", e.kind, e.text)
}

func (e *remoteError) Unwrap() []error {
	if e.errno != nil {
		return []error{e.kind, e.errno}
	}
	return []error{e.kind}
}

// errRemote is the kind of errors that have no other.
var errRemote = errors.New("fileservice: the other end failed")

// fromStatus is the opposite of toStatus. The words are those of a stranger: they are cut, and nothing in them can
// steer a terminal.
func fromStatus(err error) error {
	if err == nil {
		return nil
	}
	s, is := status.FromError(err)
	if !is {
		return err
	}
	kind := errRemote
	for _, k := range kinds {
		if s.Code() == k.code {
			kind = k.err
			break
		}
	}
	return &remoteError{kind: kind, errno: errnoOf(s), text: printable(s.Message())}
}

// printable gives at most 200 bytes of a text, with whatever is not a letter, a mark or a space escaped.
func printable(text string) string {
	const most = 200
	if len(text) > most {
		text = text[:most] + "…"
	}
	quoted := strconv.QuoteToGraphic(strings.ToValidUTF8(text, "?"))
	return strings.ReplaceAll(quoted[1:len(quoted)-1], `\"`, `"`)
}
