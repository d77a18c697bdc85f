package fileservice

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strconv"
	"strings"
	"syscall"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// What a caller can act on. Beside these there are fs.ErrNotExist, fs.ErrExist, fs.ErrPermission and fs.ErrInvalid, and
// the errors of a context that ended. All of them come in an *fs.PathError.
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

	// ErrUnreachable says that the other end could not be reached, went away, or was silent for
	// [ClientConfig.Timeout]. The same call may succeed later. The error of the dialer is in the chain.
	ErrUnreachable = errors.New("fileservice: the other end is not reachable")
)

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
	}
	if errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) || errors.Is(err, syscall.EMFILE) {
		return status.Error(codes.ResourceExhausted, text)
	}
	for _, kind := range kinds {
		if errors.Is(err, kind.err) {
			text = strings.TrimPrefix(strings.TrimPrefix(text, kind.err.Error()), ": ")
			return status.Error(kind.code, text)
		}
	}
	return status.Error(codes.Unknown, text)
}

// remoteError is an error that the other end has told of.
type remoteError struct {
	kind error
	text string
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

func (e *remoteError) Unwrap() error { return e.kind }

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
	return &remoteError{kind: kind, text: printable(s.Message())}
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
