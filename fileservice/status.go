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
