package server

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"

	"culvert/fileservice"
	pb "culvert/fileservice/internal/fileservicepb"
	"culvert/fileservice/internal/osfile"
	"culvert/fileservice/internal/wire"
)

// Sum returns the sums of files, which it reads one after the other.
func (s service) Sum(ctx context.Context, request *pb.SumRequest) (*pb.SumResponse, error) {
	if n := len(request.GetFiles()); n > fileservice.MaxSmallFiles {
		return nil, fmt.Errorf("%w: the sums of %d files", fs.ErrInvalid, n)
	}
	if _, err := fileservice.CheckPath(request.GetDirectory()); err != nil {
		return nil, err
	}
	call := callOf(ctx)
	call.about.Path = request.GetDirectory()
	memory, err := call.conn.buffers.get(ctx)
	if err != nil {
		return nil, err
	}
	defer memory.Free()
	response := &pb.SumResponse{}
	for _, f := range request.GetFiles() {
		version := wire.VersionOf(f.GetVersion())
		sum, err := s.sum(ctx, request.GetDirectory(), f.GetName(), version, memory.Bytes())
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		result := &pb.SumResult{Error: wire.StatusOf(err)}
		if err == nil {
			result.Hash = sum[:]
			call.about.BytesRead += version.Size
		}
		response.Files = append(response.Files, result)
	}
	return response, nil
}

// sum reads a version of a file into a buffer, a part at a time. The size of the buffer divides that of a block.
func (s *Server) sum(
	ctx context.Context, dir, name string, version fileservice.Version, buffer []byte,
) (sum fileservice.Sum, err error) {
	if !fileservice.IsName(name) {
		return sum, fmt.Errorf("%w: not the name of a file", fs.ErrInvalid)
	}
	local, info, err := s.lookUp(path.Join(dir, name))
	switch {
	case err != nil:
		return sum, err
	case !info.Mode().IsRegular():
		return sum, fileservice.NotRegular(info.Mode())
	case fileservice.VersionOf(info) != version:
		return sum, fileservice.ErrChanged
	}
	file, err := s.openSame(local, info)
	if err != nil {
		return sum, err
	}
	sum, err = sumOf(ctx, file, version.Size, buffer)
	if err == nil {
		err = unchanged(file, version)
	}
	return sum, errors.Join(err, file.Close())
}

func sumOf(ctx context.Context, file *os.File, size int64, buffer []byte) (fileservice.Sum, error) {
	var all fileservice.FileSum
	var block fileservice.BlockSum
	for number := range fileservice.Blocks(size) {
		begin := number * fileservice.BlockSize
		end := min(begin+fileservice.BlockSize, size)
		block.Reset(number)
		for ; begin < end; begin += int64(len(buffer)) {
			if ctx.Err() != nil {
				return fileservice.Sum{}, context.Cause(ctx)
			}
			part := buffer[:min(int64(len(buffer)), end-begin)]
			if err := osfile.ReadFull(file, part, begin); err != nil {
				return fileservice.Sum{}, err
			}
			block.Write(part)
		}
		all.Append(block.Sum())
	}
	return all.Sum(), nil
}
