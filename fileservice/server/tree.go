package server

import (
	"context"
	"errors"
	"io/fs"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"culvert/fileservice"
	"culvert/fileservice/internal/draft"
	pb "culvert/fileservice/internal/fileservicepb"
	"culvert/fileservice/internal/wire"
	"culvert/internal/publish"
)

// Remove removes a file, a link, or an empty directory.
func (s service) Remove(ctx context.Context, request *pb.RemoveRequest) (*pb.RemoveResponse, error) {
	local, err := s.writable(request.GetPath())
	if err != nil {
		return nil, err
	}
	return &pb.RemoveResponse{}, s.removeEmpty(local)
}

// Rename renames a file, a link or a directory.
func (s service) Rename(ctx context.Context, request *pb.RenameRequest) (*pb.RenameResponse, error) {
	to, err := s.writable(request.GetNewPath())
	if err != nil {
		return nil, err
	}
	from, err := s.writable(request.GetPath())
	if err != nil {
		return nil, err
	}
	if request.GetReplace() {
		err = s.renameOver(from, to)
	} else {
		err = publish.Rename(s.config.Root, from, to)
	}
	return &pb.RenameResponse{}, err
}

// renameOver replaces a file, or an empty directory by a directory, which Root.Rename does not.
func (s *Server) renameOver(from, to string) error {
	err := s.config.Root.Rename(from, to)
	if !errors.Is(err, syscall.EEXIST) {
		return err
	}
	info, err := s.config.Root.Lstat(from)
	switch {
	case err != nil || from == to:
		return err
	case !info.IsDir():
		return syscall.EISDIR
	case strings.HasPrefix(to, from+string(filepath.Separator)):
		return syscall.EINVAL
	}
	if err := s.removeEmpty(to); err != nil {
		return err
	}
	return s.config.Root.Rename(from, to)
}

// removeEmpty removes a file, or a directory that is empty except for drafts that were left.
func (s *Server) removeEmpty(local string) error {
	err := s.config.Root.Remove(local)
	if errors.Is(err, syscall.ENOTEMPTY) && draft.RemoveLeftIn(s.config.Root, local) {
		err = s.config.Root.Remove(local)
	}
	return err
}

// SetAttributes sets permissions and times of a file or a directory.
func (s service) SetAttributes(
	ctx context.Context, request *pb.SetAttributesRequest,
) (*pb.SetAttributesResponse, error) {
	local, err := s.writableOrRoot(request.GetPath())
	if err != nil {
		return nil, err
	}
	info, err := s.config.Root.Lstat(local)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() && !info.IsDir() {
		return nil, fileservice.NotRegular(info.Mode())
	}
	if request.Permissions != nil {
		if err := s.config.Root.Chmod(local, permissionsOf(request.GetPermissions())); err != nil {
			return nil, err
		}
	}
	accessed, modified := timeOf(request.AccessedUnixNano), timeOf(request.ModifiedUnixNano)
	if !accessed.IsZero() || !modified.IsZero() {
		err = s.config.Root.Chtimes(local, accessed, modified)
	}
	return &pb.SetAttributesResponse{}, err
}

// permissionsOf drops all other bits, such as setuid.
func permissionsOf(mode uint32) fs.FileMode { return fs.FileMode(mode) & fs.ModePerm }

// timeOf returns the zero time, which means no change, for nil.
func timeOf(unixNano *int64) time.Time {
	if unixNano == nil {
		return time.Time{}
	}
	return time.Unix(0, *unixNano)
}

// SyncDirectory makes changes of a directory durable.
func (s service) SyncDirectory(
	ctx context.Context, request *pb.SyncDirectoryRequest,
) (*pb.SyncDirectoryResponse, error) {
	local, err := s.writableOrRoot(request.GetPath())
	if err == nil {
		_, err = s.lstatDir(local)
	}
	if err != nil {
		return nil, err
	}
	return &pb.SyncDirectoryResponse{}, publish.SyncDir(s.config.Root, local)
}

// ReadLink returns the target of a symbolic link.
func (s service) ReadLink(ctx context.Context, request *pb.ReadLinkRequest) (*pb.ReadLinkResponse, error) {
	local, err := readable(request.GetPath())
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
	local, info, err := s.lookUp(request.GetPath())
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
