package wire

import (
	"errors"
	"syscall"

	"google.golang.org/grpc/status"

	pb "culvert/fileservice/internal/fileservicepb"
)

// errnos are the system errors that cross the wire, those that programs act on or report, by their POSIX names. Their
// numbers differ between systems.
var errnos = map[string]syscall.Errno{
	"EACCES":       syscall.EACCES,
	"EBUSY":        syscall.EBUSY,
	"EDQUOT":       syscall.EDQUOT,
	"EEXIST":       syscall.EEXIST,
	"EFBIG":        syscall.EFBIG,
	"EINVAL":       syscall.EINVAL,
	"EIO":          syscall.EIO,
	"EISDIR":       syscall.EISDIR,
	"ELOOP":        syscall.ELOOP,
	"EMFILE":       syscall.EMFILE,
	"EMLINK":       syscall.EMLINK,
	"ENAMETOOLONG": syscall.ENAMETOOLONG,
	"ENFILE":       syscall.ENFILE,
	"ENOENT":       syscall.ENOENT,
	"ENOSPC":       syscall.ENOSPC,
	"ENOTDIR":      syscall.ENOTDIR,
	"ENOTEMPTY":    syscall.ENOTEMPTY,
	"EPERM":        syscall.EPERM,
	"EROFS":        syscall.EROFS,
	"ETXTBSY":      syscall.ETXTBSY,
	"EXDEV":        syscall.EXDEV,
}

// withErrno adds the errno in err, if any, to the details of s.
func withErrno(s *status.Status, err error) error {
	errno, is := errors.AsType[syscall.Errno](err)
	if !is {
		return s.Err()
	}
	for name, number := range errnos {
		if number != errno {
			continue
		}
		if detailed, err := s.WithDetails(&pb.Failure{Errno: name}); err == nil {
			return detailed.Err()
		}
	}
	return s.Err()
}

// errnoOf returns the errno that withErrno has added, or nil.
func errnoOf(s *status.Status) error {
	for _, detail := range s.Proto().GetDetails() {
		failure := &pb.Failure{}
		if !detail.MessageIs(failure) || detail.UnmarshalTo(failure) != nil {
			continue
		}
		if errno, known := errnos[failure.GetErrno()]; known {
			return errno
		}
	}
	return nil
}
