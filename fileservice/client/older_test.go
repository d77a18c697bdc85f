package client_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"google.golang.org/grpc"

	"culvert/fileservice"
	"culvert/fileservice/client"
	"culvert/fileservice/internal/fileservicepb"
	"culvert/fileservice/internal/filetest"
	"culvert/internal/testkit"
)

// grpcServer is a server that knows only connections of gRPC.
type grpcServer struct {
	fileservicepb.UnimplementedFileServiceServer
	version uint32
}

func (s grpcServer) GetCapabilities(
	context.Context, *fileservicepb.GetCapabilitiesRequest,
) (*fileservicepb.Capabilities, error) {
	return &fileservicepb.Capabilities{
		Version: s.version, BlockSize: fileservice.BlockSize, Hash: fileservice.SumName,
	}, nil
}

// TestOlderServer opens a file of a server that closes connections for bytes. If that is because it is older, the error
// says so.
func TestOlderServer(t *testing.T) {
	for _, version := range []uint32{1, fileservice.ProtocolVersion} {
		server := grpc.NewServer()
		fileservicepb.RegisterFileServiceServer(server, grpcServer{version: version})
		listener := testkit.ListenTCP(t)
		served := make(chan error, 1)
		go func() { served <- server.Serve(listener) }()
		remote := filetest.Connect(t, client.Config{Dial: filetest.Dialer(listener.Addr().String())})
		for range 2 {
			_, err := remote.Open("file")
			told := errors.Is(err, errors.ErrUnsupported) && strings.Contains(err.Error(), "version 1")
			if told != (version == 1) || told == errors.Is(err, fileservice.ErrUnreachable) {
				t.Errorf("version %d: %v", version, err)
			}
		}
		server.Stop()
		if err := <-served; err != nil {
			t.Error(err)
		}
	}
}
