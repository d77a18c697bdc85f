package filetest

import (
	"context"
	"io"

	"google.golang.org/grpc"

	pb "culvert/fileservice/internal/fileservicepb"
)

// ReadPieces calls OnPieces for each request, until it returns nil.
func (l *Liar) ReadPieces(stream grpc.BidiStreamingServer[pb.ReadPiecesRequest, pb.ReadPiecesResponse]) error {
	for {
		request, err := stream.Recv()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		response := l.OnPieces(request)
		if response == nil {
			return nil // in the middle
		}
		if err := stream.Send(response); err != nil {
			return err
		}
	}
}

// AskPieces sends one request.
func AskPieces(
	ctx context.Context, client pb.FileServiceClient, pieces ...*pb.ReadRequest,
) (*pb.ReadPiecesResponse, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stream, err := client.ReadPieces(ctx)
	if err != nil {
		return nil, err
	}
	if err := stream.Send(&pb.ReadPiecesRequest{Pieces: pieces}); err != nil && err != io.EOF {
		return nil, err
	}
	return stream.Recv()
}
