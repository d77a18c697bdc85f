package argument

import (
	"crypto/ed25519"
	"errors"
	"io"
	"net"
	"strings"
	"sync"
	"syscall"
	"testing"

	"culvert/cmd/culvert/internal/command"
	"culvert/secureconn"
)

// TestHintsOfUnreachable has a server that is not there, and one whose name nobody knows.
func TestHintsOfUnreachable(t *testing.T) {
	u, err := ParseURL("culvert://" + someFingerprint + "@db.example")
	if err != nil {
		t.Fatal(err)
	}
	for want, cause := range map[string]error{
		"culvert serve runs there": syscall.ECONNREFUSED,
		"the name of the host":     &net.DNSError{Err: "no such host", Name: "db.example", IsNotFound: true},
	} {
		err := (&server{url: u}).explainFirst(&net.OpError{Op: "dial", Net: "tcp", Err: cause})
		hints := command.HintsOf(err)
		if command.ExitCode(err) != command.ExitUnreachable || len(hints) != 1 || !strings.Contains(hints[0], want) {
			t.Errorf("%v has the hints %q", err, hints)
		}
	}
}

// TestHandshakeIsBegunAgain has a server end the first connections in their handshake, as one does to which others
// connect without end.
func TestHandshakeIsBegunAgain(t *testing.T) {
	keys, names := [2]ed25519.PrivateKey{}, [2]string{}
	for i := range keys {
		public, private, err := ed25519.GenerateKey(nil)
		if err != nil {
			t.Fatal(err)
		}
		keys[i], names[i] = private, secureconn.Fingerprint(public)
	}
	for name, cut := range map[string]int{"some": maxHandshakes - 1, "all": maxHandshakes} {
		t.Run(name, func(t *testing.T) {
			listener, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			defer listener.Close()
			var serving sync.WaitGroup
			serving.Go(func() {
				for range cut {
					conn, err := listener.Accept()
					if err != nil {
						t.Error(err)
						return
					}
					if _, err := io.ReadFull(conn, make([]byte, 5)); err != nil { // it has begun
						t.Error(err)
					}
					conn.Close()
				}
				if cut == maxHandshakes {
					return
				}
				conn, err := listener.Accept()
				if err != nil {
					t.Error(err)
					return
				}
				accepted := secureconn.Server(conn, &secureconn.Config{Key: keys[0], Peers: names[1:]})
				if err := errors.Join(accepted.Handshake(), accepted.Close()); err != nil {
					t.Error(err)
				}
			})
			r := &server{
				url:    &URL{Address: listener.Addr().String()},
				config: &secureconn.Config{Key: keys[1], Peers: names[:1]},
			}
			conn, err := r.handshake(t.Context())
			if (err == nil) != (cut < maxHandshakes) {
				t.Errorf("after %d ends: %v", cut, err)
			}
			if conn != nil {
				conn.Close()
			}
			serving.Wait()
		})
	}
}
