package server_test

import (
	"context"
	"errors"
	"net"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"culvert/fileservice"
	"culvert/fileservice/client"
	pb "culvert/fileservice/internal/fileservicepb"
	"culvert/fileservice/internal/filetest"
)

// slowWriter is a connection that takes little at a time, and takes its time for that.
type slowWriter struct {
	net.Conn
	slow   <-chan struct{} // closed when it begins to be slow
	ticker *time.Ticker
}

func (c *slowWriter) Write(p []byte) (n int, err error) {
	for n < len(p) && err == nil {
		part := p[n:]
		select {
		case <-c.slow:
			part = part[:min(len(part), 256)]
			<-c.ticker.C
		default:
		}
		var written int
		written, err = c.Conn.Write(part)
		n += written
	}
	return n, err
}

// TestUploadBesideASlowOne sends a new version of a file while somebody else sends the old one on a line so slow that
// none of its messages is complete meanwhile.
func TestUploadBesideASlowOne(t *testing.T) {
	dir := t.TempDir()
	address := filetest.Listen(t, dir, filetest.Writable)
	slow := make(chan struct{})
	ticker := time.NewTicker(10 * time.Millisecond) // 25 kB a second
	defer ticker.Stop()
	conn, err := grpc.NewClient("passthrough:///"+address, grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithContextDialer(func(ctx context.Context, address string) (net.Conn, error) {
			conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", address)
			return &slowWriter{conn, slow, ticker}, err
		}))
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := conn.Close(); err != nil {
			t.Error(err)
		}
	}()
	old := newSource(2 * fileservice.BlockSize)
	active := beginWriteOn(t, dir, address, pb.NewFileServiceClient(conn), old)
	close(slow)
	sent := make(chan error, 1)
	go func() { sent <- active.Send(&pb.WriteRequest{Data: old.block(1)[1:][:1<<18]}) }()

	client := filetest.Connect(t, client.Config{Dial: filetest.Dialer(address)})
	_, err = client.QueryWrite(t.Context(), "file", newSource(5).version, false)
	if !errors.Is(err, fileservice.ErrRefused) {
		t.Errorf("it has taken the place of the other one: %v", err)
	}
	if err := <-sent; err != nil {
		t.Error(err)
	}
}
