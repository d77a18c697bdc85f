package filetest

import (
	"context"
	"io"

	"google.golang.org/grpc"

	"culvert/fileservice/internal/fileservicepb"
)

func (l *Liar) ReadPieces(
	stream grpc.BidiStreamingServer[fileservicepb.ReadPiecesRequest, fileservicepb.ReadPiecesResponse],
) error {
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
	ctx context.Context, client fileservicepb.FileServiceClient, pieces ...*fileservicepb.ReadRequest,
) (*fileservicepb.ReadPiecesResponse, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stream, err := client.ReadPieces(ctx)
	if err != nil {
		return nil, err
	}
	if err := stream.Send(&fileservicepb.ReadPiecesRequest{Pieces: pieces}); err != nil && err != io.EOF {
		return nil, err
	}
	return stream.Recv()
}
