package bucket_test

import (
	"net"
	"strings"
	"syscall"
	"testing"
	"time"

	"culvert/place"
)

// TestNoConnection is of a host that answers no request for a connection: it is silent, as one that answers no request.
func TestNoConnection(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }() // nothing was sent to it
	raw, err := l.(*net.TCPListener).SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	// With a short queue that is full, the kernel drops what would begin a connection.
	if err := raw.Control(func(fd uintptr) { err = syscall.Listen(int(fd), 0) }); err != nil {
		t.Fatal(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	for full := false; !full; {
		conn, err := net.DialTimeout("tcp", l.Addr().String(), 100*time.Millisecond)
		if full = err != nil; !full {
			defer func() { _ = conn.Close() }() // nothing was sent on it
		}
	}
	t.Setenv("AWS_ACCESS_KEY_ID", "any")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "any")
	b := open(t, "s3://bucket/?endpoint=http://"+l.Addr().String(), impatient)
	_, err = b.Open("file")
	wantError(t, err, place.ErrUnreachable, "file")
	if err == nil || !strings.Contains(err.Error(), "the store is silent") {
		t.Errorf("the error is %v", err)
	}
}
