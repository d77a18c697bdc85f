package fileservice

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"culvert/fileservice/internal/fileservicepb"
)

// writable checks that the server may write, and what a client names to be written.
func (s *Server) writable(call *serverCall, name string) (local string, err error) {
	if !s.config.Writable {
		return "", refused("it is not writable")
	}
	return call.open(name)
}

// MakeDirectory makes a directory, which may be there already.
func (s *Server) MakeDirectory(
	ctx context.Context, request *fileservicepb.MakeDirectoryRequest,
) (*fileservicepb.MakeDirectoryResponse, error) {
	local, err := s.writable(callOf(ctx), request.GetPath())
	if err != nil {
		return nil, err
	}
	if err := s.config.Root.Mkdir(local, 0o777); err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, err
	}
	info, err := s.config.Root.Lstat(local)
	if err == nil && !info.IsDir() {
		err = fmt.Errorf("%w: it is not a directory", fs.ErrExist)
	}
	return &fileservicepb.MakeDirectoryResponse{}, err
}
