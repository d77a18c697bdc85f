package server

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"path/filepath"
	"strings"

	"google.golang.org/grpc"

	"culvert/fileservice"
	"culvert/fileservice/internal/exchange"
	pb "culvert/fileservice/internal/fileservicepb"
	"culvert/fileservice/internal/osfile"
	"culvert/fileservice/internal/wire"
	"culvert/internal/publish"
)

// writable checks that the server is writable, and the path of a file to be written.
func (s *Server) writable(name string) (local string, err error) {
	if !s.config.Writable {
		return "", errNotWritable
	}
	if local, err = fileservice.CheckPath(name); err != nil {
		return "", err
	}
	if name == "." {
		return "", fmt.Errorf("%w: the root of the tree", fs.ErrInvalid)
	}
	return local, checkReserved(name)
}

// writableOrRoot is like writable, but the path can be the root of the tree.
func (s *Server) writableOrRoot(name string) (local string, err error) {
	if name == "." && s.config.Writable {
		return name, nil
	}
	return s.writable(name)
}

// checkReserved fails if an element of a path has the suffix of an unfinished file.
func checkReserved(name string) error {
	for element := range strings.SplitSeq(name, "/") {
		if fileservice.IsReserved(element) {
			return refused("the name is one of those for unfinished files")
		}
	}
	return nil
}

// MakeDirectory creates a directory, which may exist unless exclusive is set.
func (s service) MakeDirectory(
	ctx context.Context, request *pb.MakeDirectoryRequest,
) (*pb.MakeDirectoryResponse, error) {
	local, err := s.writable(request.GetPath())
	if err != nil {
		return nil, err
	}
	permissions := permissionsOf(request.GetPermissions())
	if !request.GetExclusive() {
		permissions = osfile.DirPermissions(permissions)
	}
	switch err := s.config.Root.Mkdir(local, permissions); {
	case err == nil:
		// A file in it is durable only if the directory is.
		if err := publish.SyncDir(s.config.Root, filepath.Dir(local)); err != nil {
			return nil, err
		}
	case request.GetExclusive() || !errors.Is(err, fs.ErrExist):
		return nil, err
	}
	info, err := s.config.Root.Lstat(local)
	if err == nil && !info.IsDir() {
		err = fmt.Errorf("%w: it is not a directory", fs.ErrExist)
	}
	return &pb.MakeDirectoryResponse{}, err
}

// maxRanges limits the ranges of committed blocks in one response.
const maxRanges = 4096

// QueryWriteStatus begins or joins an upload, and returns its committed blocks.
func (s service) QueryWriteStatus(
	ctx context.Context, request *pb.QueryWriteStatusRequest,
) (*pb.QueryWriteStatusResponse, error) {
	call := callOf(ctx)
	version := wire.VersionOf(request.GetVersion())
	local, err := s.target(request.GetPath(), version)
	if err != nil {
		return nil, err
	}
	up, err := s.uploads.begin(ctx, call.conn, local, version, request.GetOverwrite())
	if err != nil {
		return nil, err
	}
	defer s.uploads.end(local, up)
	// A client that returns after a failed connection need not send these blocks again.
	if err := up.Commit(); err != nil {
		return nil, err
	}
	response := &pb.QueryWriteStatusResponse{}
	for _, r := range up.Committed() {
		if len(response.Committed) == maxRanges {
			break
		}
		response.Committed = append(response.Committed, &pb.BlockRange{FirstBlock: r.First, Blocks: r.Count})
	}
	return response, nil
}

// target checks the path and the version of an upload.
func (s *Server) target(name string, version fileservice.Version) (local string, err error) {
	if local, err = s.writable(name); err != nil {
		return "", err
	}
	if version.Size < 0 || version.Size > fileservice.MaxFileSize {
		return "", fmt.Errorf("%w: a size of %d bytes", fs.ErrInvalid, version.Size)
	}
	return local, nil
}

// Write receives blocks, and data for drafts.
func (s service) Write(stream grpc.ClientStreamingServer[pb.WriteRequest, pb.WriteResponse]) error {
	call := callOf(stream.Context())
	d := &dataConn{Server: s.Server, conn: call.conn, ctx: stream.Context()}
	for {
		m, err := stream.Recv()
		if err == io.EOF {
			return stream.SendAndClose(&pb.WriteResponse{Written: call.about.BytesWritten})
		}
		if err != nil {
			return err
		}
		r := &exchange.Request{
			Kind: exchange.PutBlock, Target: m.GetPath(), Version: wire.VersionOf(m.GetVersion()),
			Offset: m.GetOffset(),
		}
		switch {
		case len(m.GetDraft()) > 0:
			r.Kind, r.Target = exchange.PutDraft, string(m.GetDraft())
		case len(m.GetHash()) == fileservice.SumSize:
			r.Sum = fileservice.Sum(m.GetHash())
		case len(m.GetHash()) == 0:
			r.Sum = fileservice.SumBlock(m.GetData(), r.Offset/fileservice.BlockSize)
		}
		call.about.Path = d.pathOf(r)
		if _, err := d.Put(r, m.GetData()); err != nil {
			return err
		}
		call.about.BytesWritten += int64(len(m.GetData()))
	}
}

// AbandonWrite ends an upload before it is complete.
func (s service) AbandonWrite(
	ctx context.Context, request *pb.AbandonWriteRequest,
) (*pb.AbandonWriteResponse, error) {
	version := wire.VersionOf(request.GetVersion())
	local, err := s.target(request.GetPath(), version)
	if err != nil {
		return nil, err
	}
	return &pb.AbandonWriteResponse{}, s.uploads.abandon(callOf(ctx).conn, local, version, request.GetDiscard())
}

// FinishWrite renames a complete file to its name.
func (s service) FinishWrite(ctx context.Context, request *pb.FinishWriteRequest) (*pb.Entry, error) {
	call := callOf(ctx)
	version := wire.VersionOf(request.GetVersion())
	local, err := s.target(request.GetPath(), version)
	if err != nil {
		return nil, err
	}
	if n := len(request.GetHash()); n != fileservice.SumSize {
		return nil, fmt.Errorf("%w: a sum of %d bytes", fs.ErrInvalid, n)
	}
	up, err := s.uploads.take(call.conn, local, version, request.GetOverwrite())
	if err != nil {
		return nil, err
	}
	info, err := up.Finish(fileservice.Sum(request.GetHash()), permissionsOf(request.GetPermissions()))
	if err = errors.Join(err, up.Close()); err != nil {
		return nil, err
	}
	return wire.EntryOf(path.Base(request.GetPath()), info), nil
}
