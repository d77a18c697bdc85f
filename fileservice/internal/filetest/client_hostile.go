package filetest

import (
	"context"
	"testing"

	"google.golang.org/grpc"

	"culvert/fileservice"
	"culvert/fileservice/client"
	pb "culvert/fileservice/internal/fileservicepb"
)

// Liar is a server that answers as a test tells it to. Its methods call the functions.
type Liar struct {
	pb.UnimplementedFileServiceServer
	OnStat   func() (*pb.Entry, error)
	OnOpen   func() *pb.OpenResponse
	OnLink   func() string
	OnSpace  func() *pb.SpaceResponse
	OnList   func(send func(*pb.ListResponse) error) error
	OnRead   func(request *pb.ReadRequest, send func(*pb.ReadResponse) error) error
	OnPieces func(*pb.ReadPiecesRequest) *pb.ReadPiecesResponse
	OnQuery  func() *pb.QueryWriteStatusResponse
	OnWrite  func(receive func() (*pb.WriteRequest, error)) (*pb.WriteResponse, error)
}

// Stat returns the result of OnStat.
func (l *Liar) Stat(context.Context, *pb.StatRequest) (*pb.Entry, error) {
	return l.OnStat()
}

// Open returns the result of OnOpen.
func (l *Liar) Open(context.Context, *pb.OpenRequest) (*pb.OpenResponse, error) {
	return l.OnOpen(), nil
}

// ReadLink returns the result of OnLink.
func (l *Liar) ReadLink(context.Context, *pb.ReadLinkRequest) (*pb.ReadLinkResponse, error) {
	return &pb.ReadLinkResponse{Target: l.OnLink()}, nil
}

// Space returns the result of OnSpace.
func (l *Liar) Space(context.Context, *pb.SpaceRequest) (*pb.SpaceResponse, error) {
	return l.OnSpace(), nil
}

// List returns the result of OnList.
func (l *Liar) List(_ *pb.ListRequest, stream grpc.ServerStreamingServer[pb.ListResponse]) error {
	return l.OnList(stream.Send)
}

func (l *Liar) Read(request *pb.ReadRequest, stream grpc.ServerStreamingServer[pb.ReadResponse]) error {
	return l.OnRead(request, stream.Send)
}

// QueryWriteStatus returns the result of OnQuery.
func (l *Liar) QueryWriteStatus(context.Context, *pb.QueryWriteStatusRequest) (*pb.QueryWriteStatusResponse, error) {
	return l.OnQuery(), nil
}

func (l *Liar) Write(stream grpc.ClientStreamingServer[pb.WriteRequest, pb.WriteResponse]) error {
	response, err := l.OnWrite(stream.Recv)
	if err != nil {
		return err
	}
	return stream.SendAndClose(response)
}

// Lie serves l with gRPC's own codec, and returns a client of it.
func Lie(t *testing.T, l pb.FileServiceServer) *client.Client {
	t.Helper()
	return Connect(t, client.Config{Dial: Dialer(LieAt(t, l)), MaxEntries: 1000})
}

// LieAt serves l until the end of the test.
func LieAt(t *testing.T, l pb.FileServiceServer) (address string) {
	t.Helper()
	server := grpc.NewServer(grpc.MaxSendMsgSize(64<<20), grpc.MaxRecvMsgSize(64<<20))
	pb.RegisterFileServiceServer(server, l)
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

// Entry returns the entry of a regular file.
func Entry(name string, size int64) *pb.Entry {
	return &pb.Entry{Name: name, Mode: 0o100644, Version: &pb.Version{Size: size}}
}

// SumOf returns the hash of a block as a slice.
func SumOf(block []byte, number, fileSize int64) []byte {
	sum := fileservice.SumBlock(block, number, fileSize)
	return sum[:]
}
