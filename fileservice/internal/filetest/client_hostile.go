package filetest

import (
	"context"
	"testing"

	"google.golang.org/grpc"

	"culvert/fileservice"
	"culvert/fileservice/client"
	pb "culvert/fileservice/internal/fileservicepb"
	"culvert/internal/testkit"
)

// Liar is a server that answers as a test tells it to. Its methods call the functions.
type Liar struct {
	pb.UnimplementedFileServiceServer
	OnStat  func() (*pb.Entry, error)
	OnLink  func() string
	OnSpace func() *pb.SpaceResponse
	OnList  func(send func(*pb.ListResponse) error) error
	OnQuery func() *pb.QueryWriteStatusResponse
	OnData  SendData
}

// Stat returns the result of OnStat.
func (l *Liar) Stat(context.Context, *pb.StatRequest) (*pb.Entry, error) {
	return l.OnStat()
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

// QueryWriteStatus returns the result of OnQuery.
func (l *Liar) QueryWriteStatus(context.Context, *pb.QueryWriteStatusRequest) (*pb.QueryWriteStatusResponse, error) {
	return l.OnQuery(), nil
}

// Data returns the result of OnData.
func (l *Liar) Data(request *DataMessage, send func(...*DataMessage) error) error {
	if l.OnData == nil {
		return ErrCut
	}
	return l.OnData(request, send)
}

// Lie serves l, and returns a client of it.
func Lie(t *testing.T, l HostileServer) *client.Client {
	t.Helper()
	return Connect(t, client.Config{Dial: Dialer(LieAt(t, l)), MaxEntries: 1000})
}

// HostileServer serves gRPC and package exchange. A Liar is one, and so is a type that embeds it.
type HostileServer interface {
	pb.FileServiceServer
	Data(request *DataMessage, send func(...*DataMessage) error) error
}

// LieAt serves l until the end of the test.
func LieAt(t *testing.T, l HostileServer) (address string) {
	t.Helper()
	data := newDataLiar(l.Data)
	server := grpc.NewServer(grpc.Creds(data), grpc.MaxSendMsgSize(64<<20), grpc.MaxRecvMsgSize(64<<20))
	pb.RegisterFileServiceServer(server, l)
	listener := testkit.ListenTCP(t)
	served := make(chan error, 1)
	go func() { served <- server.Serve(listener) }()
	t.Cleanup(func() {
		server.Stop()
		data.close()
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

// SumOf returns the sum of a block as a slice.
func SumOf(block []byte, number int64) []byte {
	sum := fileservice.SumBlock(block, number)
	return sum[:]
}
