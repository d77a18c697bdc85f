package filetest

import (
	"context"
	"testing"

	"google.golang.org/grpc"

	"culvert/fileservice"
	"culvert/fileservice/client"
	"culvert/fileservice/internal/fileservicepb"
)

// Liar is a server that answers as a test wants it to.
type Liar struct {
	fileservicepb.UnimplementedFileServiceServer
	OnStat   func() (*fileservicepb.Entry, error)
	OnOpen   func() *fileservicepb.OpenResponse
	OnLink   func() string
	OnSpace  func() *fileservicepb.SpaceResponse
	OnList   func(send func(*fileservicepb.ListResponse) error) error
	OnRead   func(request *fileservicepb.ReadRequest, send func(*fileservicepb.ReadResponse) error) error
	OnPieces func(*fileservicepb.ReadPiecesRequest) *fileservicepb.ReadPiecesResponse
	OnQuery  func() *fileservicepb.QueryWriteStatusResponse
	OnWrite  func(receive func() (*fileservicepb.WriteRequest, error)) (*fileservicepb.WriteResponse, error)
}

func (l *Liar) Stat(context.Context, *fileservicepb.StatRequest) (*fileservicepb.Entry, error) {
	return l.OnStat()
}

func (l *Liar) Open(context.Context, *fileservicepb.OpenRequest) (*fileservicepb.OpenResponse, error) {
	return l.OnOpen(), nil
}

func (l *Liar) ReadLink(context.Context, *fileservicepb.ReadLinkRequest) (*fileservicepb.ReadLinkResponse, error) {
	return &fileservicepb.ReadLinkResponse{Target: l.OnLink()}, nil
}

func (l *Liar) Space(context.Context, *fileservicepb.SpaceRequest) (*fileservicepb.SpaceResponse, error) {
	return l.OnSpace(), nil
}

func (l *Liar) List(
	_ *fileservicepb.ListRequest, stream grpc.ServerStreamingServer[fileservicepb.ListResponse],
) error {
	return l.OnList(stream.Send)
}

func (l *Liar) Read(
	request *fileservicepb.ReadRequest, stream grpc.ServerStreamingServer[fileservicepb.ReadResponse],
) error {
	return l.OnRead(request, stream.Send)
}

func (l *Liar) QueryWriteStatus(
	context.Context, *fileservicepb.QueryWriteStatusRequest,
) (*fileservicepb.QueryWriteStatusResponse, error) {
	return l.OnQuery(), nil
}

func (l *Liar) Write(
	stream grpc.ClientStreamingServer[fileservicepb.WriteRequest, fileservicepb.WriteResponse],
) error {
	response, err := l.OnWrite(stream.Recv)
	if err != nil {
		return err
	}
	return stream.SendAndClose(response)
}

// Lie serves a liar, with the codec that gRPC brings along, and gives a client of it.
func Lie(t *testing.T, l fileservicepb.FileServiceServer) *client.Client {
	t.Helper()
	return Connect(t, client.Config{Dial: Dialer(LieAt(t, l)), MaxEntries: 1000})
}

func LieAt(t *testing.T, l fileservicepb.FileServiceServer) (address string) {
	t.Helper()
	server := grpc.NewServer(grpc.MaxSendMsgSize(64<<20), grpc.MaxRecvMsgSize(64<<20))
	fileservicepb.RegisterFileServiceServer(server, l)
	listener := ListenLocally(t)
	served := make(chan error, 1)
	go func() { served <- server.Serve(listener) }()
	t.Cleanup(func() {
		server.Stop()
		if err := <-served; err != nil {
			t.Error(err)
		}
	})
	return listener.Addr().String()
}

func Entry(name string, size int64) *fileservicepb.Entry {
	return &fileservicepb.Entry{Name: name, Mode: 0o100644, Version: &fileservicepb.Version{Size: size}}
}

func SumOf(block []byte, number, fileSize int64) []byte {
	sum := fileservice.SumBlock(block, number, fileSize)
	return sum[:]
}
