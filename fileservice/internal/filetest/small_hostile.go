package filetest

import (
	"context"

	"culvert/fileservice/internal/fileservicepb"
)

// WriteSmall sends messages as they are.
func WriteSmall(
	ctx context.Context, c fileservicepb.FileServiceClient, messages ...*fileservicepb.WriteFilesRequest,
) (*fileservicepb.WriteFilesResponse, error) {
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
