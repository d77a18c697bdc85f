package server

import (
	"context"
	"errors"
	"os"
	"path"
	"path/filepath"

	"google.golang.org/grpc/mem"

	"culvert/fileservice"
	pb "culvert/fileservice/internal/fileservicepb"
	"culvert/fileservice/internal/osfile"
	"culvert/fileservice/internal/wire"
)

// openAttempts is how often Open reads a file that changes meanwhile, before it leaves out the content.
const openAttempts = 3

// Open describes a file or directory, and returns the content of a small file.
func (s service) Open(ctx context.Context, request *pb.OpenRequest) (*pb.OpenResponse, error) {
	call := callOf(ctx)
	local, err := call.open(request.GetPath())
	if err != nil {
		return nil, err
	}
	opening := &opening{server: s.Server, call: call, local: local, base: path.Base(request.GetPath())}
	opening.most = min(int64(request.GetContent()), wire.MaxContent)
	for range openAttempts {
		if err = opening.run(ctx); !errors.Is(err, fileservice.ErrChanged) {
			return nil, err // the response is call.answer
		}
	}
	opening.most = 0
	return nil, opening.run(ctx)
}

// opening is the state of one Open.
type opening struct {
	server *Server
	call   *call
	local  string
	base   string
	most   int64
}

func (o *opening) run(ctx context.Context) error {
	before, err := o.server.config.Root.Lstat(o.local)
	if err != nil {
		return err
	}
	if !before.Mode().IsRegular() && !before.IsDir() {
		return fileservice.NotRegular(before.Mode())
	}
	file, err := o.server.openSame(o.local, before)
	if err != nil {
		return err
	}
	answer := &wire.Outgoing{Fields: &pb.OpenResponse{Entry: wire.EntryOf(o.base, before)}}
	var content *lent
	var data []byte
	if size := before.Size(); before.Mode().IsRegular() && size > 0 && size <= o.most {
		content, data, err = o.read(ctx, file, fileservice.VersionOf(before))
	}
	if err = errors.Join(err, file.Close()); err != nil {
		if content != nil {
			content.free()
		}
		return err
	}
	if content != nil {
		content.handOver()
		answer.Data = mem.NewBuffer(&data, content)
		o.call.about.BytesRead = int64(len(data))
	}
	o.call.answer = answer
	return nil
}

func (o *opening) read(ctx context.Context, file *os.File, version fileservice.Version) (*lent, []byte, error) {
	buffer, err := o.call.conn.buffers.get(ctx)
	if err != nil {
		return nil, nil, err
	}
	data := buffer.buffer.Extend(int(version.Size))
	if err = osfile.ReadFull(file, data, 0); err == nil {
		err = unchanged(file, version)
	}
	if err != nil {
		buffer.free()
		return nil, nil, err
	}
	return buffer, data, nil
}

// ReadLink returns the target of a symbolic link.
func (s service) ReadLink(ctx context.Context, request *pb.ReadLinkRequest) (*pb.ReadLinkResponse, error) {
	local, err := callOf(ctx).open(request.GetPath())
	if err != nil {
		return nil, err
	}
	target, err := s.config.Root.Readlink(local)
	if err != nil {
		return nil, err
	}
	if !fileservice.IsTarget(target) {
		return nil, refused("the target of the link cannot be shown")
	}
	return &pb.ReadLinkResponse{Target: filepath.ToSlash(target)}, nil
}

// GetCapabilities returns what the server supports.
func (s service) GetCapabilities(context.Context, *pb.GetCapabilitiesRequest) (*pb.Capabilities, error) {
	return wire.Capabilities(s.config.Writable, s.maxRequest()), nil
}

// Space returns the space in the file system of a file.
func (s service) Space(ctx context.Context, request *pb.SpaceRequest) (*pb.SpaceResponse, error) {
	local, err := callOf(ctx).open(request.GetPath())
	if err != nil {
		return nil, err
	}
	info, err := s.config.Root.Lstat(local)
	if err != nil {
		return nil, err
	}
	if !info.IsDir() {
		local = filepath.Dir(local)
	}
	dir, err := s.openDirectory(local)
	if err != nil {
		return nil, err
	}
	response, err := spaceOf(dir)
	return response, errors.Join(err, dir.Close())
}
