package wire

import (
	"context"
	"net"
	"testing"
)

// TestKillGoesToThePeer dials a second time, by a name that leads elsewhere by then.
func TestKillGoesToThePeer(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	s := &Conn{}
	if _, err := s.dial(context.Background(), "tcp", listener.Addr().String()); err != nil {
		t.Fatal(err)
	}
	s.network = s.dialed
	defer s.network.Close()
	second, err := s.dial(context.Background(), "tcp", "nowhere.invalid:1")
	if err != nil {
		t.Fatal(err)
	}
	defer second.Close()
	if got := second.RemoteAddr().String(); got != listener.Addr().String() {
		t.Errorf("the second connection leads to %s, the first one to %s", got, listener.Addr())
	}
}

// TestKillNeedsANumber has a connection without one, as behind some proxies.
func TestKillNeedsANumber(t *testing.T) {
	if err := (&Conn{}).sendKill("CONNECTION"); err != errOtherServer {
		t.Errorf("a KILL of connection 0: %v", err)
	}
}
