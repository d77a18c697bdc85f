package filetest

import (
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	pb "culvert/fileservice/internal/fileservicepb"
)

// Raw returns a client of the protocol without the checks of package client.
func Raw(t testing.TB, address string) pb.FileServiceClient {
	t.Helper()
	return pb.NewFileServiceClient(RawConn(t, address))
}

// RawConn connects to a server with gRPC alone, until the end of the test.
func RawConn(t testing.TB, address string) *grpc.ClientConn {
	t.Helper()
	conn, err := grpc.NewClient("passthrough:///"+address,
		grpc.WithTransportCredentials(insecure.NewCredentials()), grpc.WithContextDialer(dial))
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
