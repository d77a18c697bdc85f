package server

import (
	"os"

	"google.golang.org/grpc"

	"culvert/fileservice"
	"culvert/fileservice/internal/fileservicepb"
	"culvert/fileservice/internal/osfile"
	"culvert/fileservice/internal/wire"
)

// hashBlocks sends the hashes of the blocks from first up to end, a page at a time, and a page before the client may
// think that it stands still.
func (s *Server) hashBlocks(
	file *os.File, version fileservice.Version, first, end int64,
	stream grpc.ServerStreamingServer[fileservicepb.HashResponse],
) error {
	buffer, err := connOf(stream.Context()).buffers.get(stream.Context())
	if err != nil {
		return err
	}
	defer buffer.free()
	data := buffer.buffer.Extend(wire.MessageSize)
	var hash fileservice.BlockHash
	const page = 64 // blocks: less than a second of work on a slow disk
	for first < end {
		if err := stream.Context().Err(); err != nil {
			return err
		}
		hashes := make([]byte, 0, page*fileservice.SumSize)
		for last := min(first+page, end); first < last; first++ {
			hash.Reset(first, version.Size)
			size := min(fileservice.BlockSize, version.Size-first*fileservice.BlockSize)
			for done := int64(0); done < size; {
				part := data[:min(wire.MessageSize, size-done)]
				if err := osfile.ReadFull(file, part, first*fileservice.BlockSize+done); err != nil {
					return err
				}
				hash.Write(part)
				done += int64(len(part))
			}
			sum := hash.Sum()
			hashes = append(hashes, sum[:]...)
		}
		if err := unchanged(file, version); err != nil {
			return err
		}
		if err := stream.Send(&fileservicepb.HashResponse{Hashes: hashes}); err != nil {
			return err
		}
	}
	return nil
}
