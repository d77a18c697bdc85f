package client

import (
	"context"
	"errors"
	"net"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"culvert/fileservice"
)

// TestCallThatBeginsWithTheClose closes the connections between the moment in which a call has seen that the client is
// open and that in which it takes one.
func TestCallThatBeginsWithTheClose(t *testing.T) {
	client, err := New(Config{
		Dial:    func(context.Context) (net.Conn, error) { return nil, errors.New("no") },
		Timeout: time.Millisecond,
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := client.control.close(); err != nil {
		t.Fatal(err)
	}
	for range 2 * DefaultConnections {
		if _, err := client.Stat("file"); err == nil {
			t.Error("no error")
		}
	}
}

// TestCanceledByNobody has a call end as if it was canceled, when the client is closed and when a server says so.
func TestCanceledByNobody(t *testing.T) {
	client, err := New(Config{
		Dial: func(context.Context) (net.Conn, error) { return nil, errors.New("no") },
	})
	if err != nil {
		t.Fatal(err)
	}
	call := &call{client: client}
	canceled := status.Error(codes.Canceled, "said by gRPC")
	err = call.explain(canceled, nil)
	if !errors.Is(err, fileservice.ErrUnreachable) || errors.Is(err, context.Canceled) {
		t.Errorf("by the server: %v", err)
	}
	if err := client.Close(); err != nil {
		t.Fatal(err)
	}
	if err := call.explain(canceled, nil); !errors.Is(err, ErrClosed) {
		t.Errorf("by Close: %v", err)
	}
}
