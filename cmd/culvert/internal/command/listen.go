package command

import (
	"errors"
	"net"
	"syscall"
)

// ListenError says what it means that nothing can be taken at an address.
func ListenError(err error, flag, address string) error {
	if op, is := errors.AsType[*net.OpError](err); is && op.Addr == nil {
		return WithHint(Usagef("%s: %q is not an address to listen at: %v", flag, address, op.Err),
			"give an address of its own and a port, such as :7000, 10.0.0.7:7000 or [::1]:7000")
	}
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		return WithHint(err, "another program has this port; choose another one with "+flag)
	case errors.Is(err, syscall.EADDRNOTAVAIL):
		return WithHint(err, "this machine does not have this address; choose one of its own with "+flag)
	case errors.Is(err, syscall.EACCES):
		return WithHint(err, "ports below 1024 are for root; choose another one with "+flag)
	}
	return err
}
