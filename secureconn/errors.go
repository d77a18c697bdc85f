package secureconn

import (
	"errors"
	"fmt"
	"net"
	"syscall"
)

// ErrRecord is the error of a connection that received something the peer has not sent: a record that was changed,
// repeated, omitted or moved, or that does not follow SPEC.md. None of its data was returned.
var ErrRecord = errors.New("secureconn: a record is not authentic")

// ErrRefused is the error of a handshake that was broken off by the peer, or by an attacker in its name. Most likely
// the peer does not accept the fingerprint of this side, which is in the text.
var ErrRefused = errors.New("secureconn: the peer has refused the connection")

// PeerError is the error of a handshake with a peer that [Config.Peers] or [Config.Authorize] does not accept. The peer
// has not proved that it holds the key.
type PeerError struct {
	Fingerprint string // of the peer
	Err         error  // of Authorize, or that the peer is not listed
}

func (e *PeerError) Error() string {
	return fmt.Sprintf("secureconn: the peer %s is not accepted: %v", e.Fingerprint, e.Err)
}

// Unwrap returns Err.
func (e *PeerError) Unwrap() error { return e.Err }

var errNotListed = errors.New("it is not listed")

var (
	errWriteClosed = errors.New("secureconn: write after CloseWrite")
	errSequence    = errors.New("secureconn: no sequence numbers left")
	errEnded       = errors.New("secureconn: the direction has ended")
)

// isTimeout reports whether an error is that of a deadline, after which a connection can continue. ETIMEDOUT is not:
// the system has given up the connection.
func isTimeout(err error) bool {
	if err == nil {
		return false // the usual case; the rest allocates
	}
	var timeout net.Error
	return errors.As(err, &timeout) && timeout.Timeout() && !errors.Is(err, syscall.ETIMEDOUT)
}
