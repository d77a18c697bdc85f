package client_test

import (
	"context"
	"errors"
	"net"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc"

	"culvert/fileservice"
	"culvert/fileservice/client"
	"culvert/fileservice/internal/fileservicepb"
)

// hung is a server that answers no call, while gRPC there answers whether it is there.
type hung struct {
	fileservicepb.UnimplementedFileServiceServer
}

func (hung) Stat(ctx context.Context, _ *fileservicepb.StatRequest) (*fileservicepb.Entry, error) {
	<-ctx.Done()
	return nil, context.Cause(ctx)
}

// TestHungCall has a server that is there, and hangs.
func TestHungCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &line{rate: 1 << 20, over: make(chan struct{})}
		listener := &lineListener{accepted: make(chan net.Conn), closed: make(chan struct{})}
		server := grpc.NewServer()
		fileservicepb.RegisterFileServiceServer(server, hung{})
		served := make(chan error, 1)
		go func() { served <- server.Serve(listener) }()
		remote, err := client.New(client.Config{
			Dial: func(context.Context) (net.Conn, error) {
				near, far := l.connection()
				listener.accepted <- far
				return near, nil
			},
		})
		if err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		if _, err := remote.Stat("file"); !errors.Is(err, fileservice.ErrUnreachable) {
			t.Errorf("a server that hangs gives %v", err)
		}
		if took := time.Since(began); took > 2*client.DefaultTimeout {
			t.Errorf("it is given up after %v", took)
		}
		if err := remote.Close(); err != nil {
			t.Error(err)
		}
		server.Stop()
		if err := <-served; err != nil {
			t.Error(err)
		}
		l.end()
	})
}
