package remote

import (
	"errors"
	"syscall"

	"culvert/agefile"
	"culvert/cmd/culvert/internal/command"
	"culvert/fileservice"
	"culvert/fileservice/client"
	"culvert/fusefs"
	"culvert/internal/compress"
	"culvert/place"
)

// The mount and the client do not depend on each other.
var (
	_ fusefs.SpaceFS      = (*client.Client)(nil)
	_ fusefs.MovingFS     = (*client.Client)(nil)
	_ fusefs.WritableFS   = (*client.Client)(nil)
	_ fusefs.WritableFile = (*client.WritableFile)(nil)
)

// mountErrno says what an error of a server means to a program. 0 leaves it to what the system of the server has said.
func mountErrno(err error) syscall.Errno {
	switch {
	case command.Is[*fileservice.UnnamableError](err):
		return syscall.EILSEQ
	case errors.Is(err, place.ErrChanged):
		return syscall.ESTALE
	case errors.Is(err, place.ErrUnreachable), errors.Is(err, place.ErrIntegrity),
		errors.Is(err, agefile.ErrCorrupt), errors.Is(err, compress.ErrCorrupt):
		return syscall.EIO // whatever else is in the chain is of this machine
	case command.Is[syscall.Errno](err):
		return 0
	case errors.Is(err, fileservice.ErrRefused):
		return syscall.EACCES
	}
	return 0
}
