package connect

import (
	"net"
	"strings"
	"syscall"
	"testing"

	"culvert/internal/cli/command"
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
		err := (&Server{URL: u}).explainFirst(&net.OpError{Op: "dial", Net: "tcp", Err: cause})
		hints := command.HintsOf(err)
		if command.ExitCode(err) != command.ExitUnreachable || len(hints) != 1 || !strings.Contains(hints[0], want) {
			t.Errorf("%v has the hints %q", err, hints)
		}
	}
}
