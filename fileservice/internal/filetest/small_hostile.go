package filetest

import (
	"context"

	pb "culvert/fileservice/internal/fileservicepb"
)

// WriteSmall sends messages as they are.
func WriteSmall(
	ctx context.Context, c pb.FileServiceClient, messages ...*pb.WriteFilesRequest,
) (*pb.WriteFilesResponse, error) {
	stream, err := c.WriteFiles(ctx)
	if err != nil {
		return nil, err
	}
	for _, m := range messages {
		if err := stream.Send(m); err != nil {
			break // the answer says why
		}
	}
	return stream.CloseAndRecv()
}
