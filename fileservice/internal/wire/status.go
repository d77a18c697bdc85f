// Package wire converts between the messages of the protocol and the types of package fileservice.
package wire

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

	"culvert/fileservice"
)

// kinds are the errors that cross the wire, with their codes. The first match counts.
var kinds = []struct {
	code codes.Code
	err  error
}{
	{codes.Aborted, fileservice.ErrChanged},
	{codes.DataLoss, fileservice.ErrIntegrity},
	{codes.FailedPrecondition, fileservice.ErrRefused},
	{codes.ResourceExhausted, fileservice.ErrRefused},
	{codes.Unimplemented, fileservice.ErrRefused},
	{codes.Unavailable, fileservice.ErrUnreachable},
	{codes.NotFound, fs.ErrNotExist},
	{codes.AlreadyExists, fs.ErrExist},
	{codes.PermissionDenied, fs.ErrPermission},
	{codes.InvalidArgument, fs.ErrInvalid},
	{codes.Canceled, context.Canceled},
	{codes.DeadlineExceeded, context.DeadlineExceeded},
}

// ToStatus returns the part of an error that the other end may see: its kind, and the system's message without local
// paths.
func ToStatus(err error) error {
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
	if errors.Is(err, fileservice.ErrBusy) {
		return status.New(codes.FailedPrecondition, "another transfer is writing this file")
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

// Error is an error that the other end reported.
type Error struct {
	Kind  error
	Errno error // nil if there is none
	Text  string
}

func (e *Error) Error() string {
	switch {
	case e.Text == "":
		return e.Kind.Error()
	case errors.Is(e.Kind, fs.ErrNotExist), errors.Is(e.Kind, fs.ErrExist), errors.Is(e.Kind, fs.ErrPermission):
		return e.Text // the system's message names the kind
	}
	return fmt.Sprintf("%v: %s", e.Kind, e.Text)
}

func (e *Error) Unwrap() []error {
	if e.Errno != nil {
		return []error{e.Kind, e.Errno}
	}
	return []error{e.Kind}
}

// errRemote is the kind of all other errors.
var errRemote = errors.New("fileservice: the other end failed")

// FromStatus is the inverse of ToStatus. The other end is not trusted: the text is cut, and cannot control a terminal.
func FromStatus(err error) error {
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
	return &Error{Kind: kind, Errno: errnoOf(s), Text: Printable(s.Message())}
}

// Printable returns at most 200 bytes of text, with all runes escaped that are not graphic.
func Printable(text string) string {
	const most = 200
	if len(text) > most {
		text = text[:most] + "…"
	}
	quoted := strconv.QuoteToGraphic(strings.ToValidUTF8(text, "?"))
	return strings.ReplaceAll(quoted[1:len(quoted)-1], `\"`, `"`)
}
