package secureconn

import (
	"errors"
	"fmt"
	"net"
	"syscall"
)

// ErrRecord is the error of a connection on which something came that the peer has not sent: a record that was changed,
// repeated, left out or moved, or that is not as the package comment says. Nothing of it was handed out.
var ErrRecord = errors.New("secureconn: a record is not authentic")

// ErrRefused is the error of a handshake that the peer has broken off, or somebody on the way in its name. The most
// likely reason is that it does not list the own fingerprint, which stands in the text.
var ErrRefused = errors.New("secureconn: the peer has refused the connection")

// PeerError is the error of a handshake with a peer who shows a key that is not listed in [Config.Peers]. Whether it
// holds that key is not known.
type PeerError struct {
	Fingerprint string // of the peer
}

func (e *PeerError) Error() string {
	return fmt.Sprintf("secureconn: the peer is %s, which is not listed", e.Fingerprint)
}

var (
	errWriteClosed = errors.New("secureconn: write after CloseWrite")
	errSequence    = errors.New("secureconn: no sequence numbers left")
	errCount       = errors.New("secureconn: a Read or Write has returned an impossible count")
	errEnded       = errors.New("secureconn: the direction has ended")
)

// maxEmptyReads is how many reads in a row may return neither bytes nor an error, as in package bufio.
const maxEmptyReads = 100

// isTimeout tells errors of a deadline, after which a connection can go on, from others. Among the others is that of a
// system which has waited too long for the peer, and has given the connection up.
func isTimeout(err error) bool {
	if err == nil {
		return false // nearly always, and what follows allocates
	}
	var timeout net.Error
	return errors.As(err, &timeout) && timeout.Timeout() && !errors.Is(err, syscall.ETIMEDOUT)
}
