package filetest

import (
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	pb "culvert/fileservice/internal/fileservicepb"
)

// Raw makes a client that says what it likes.
func Raw(t testing.TB, address string) pb.FileServiceClient {
	t.Helper()
	return pb.NewFileServiceClient(RawConn(t, address))
}

// RawConn connects to a server by gRPC alone. The test closes it.
func RawConn(t testing.TB, address string) *grpc.ClientConn {
	t.Helper()
	conn, err := grpc.NewClient("passthrough:///"+address, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := conn.Close(); err != nil {
			t.Error(err)
		}
	})
	return conn
}
