package server

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path"

	"google.golang.org/grpc"

	"culvert/fileservice"
	"culvert/fileservice/internal/exchange"
	pb "culvert/fileservice/internal/fileservicepb"
	"culvert/fileservice/internal/osfile"
	"culvert/fileservice/internal/wire"
	"culvert/place"
)

// lookUp describes the file at a path that a client names.
func (s *Server) lookUp(name string) (local string, info fs.FileInfo, err error) {
	if local, err = readable(name); err != nil {
		return "", nil, err
	}
	info, err = s.config.Root.Lstat(local)
	return local, info, err
}

// Stat describes one file.
func (s service) Stat(ctx context.Context, request *pb.StatRequest) (*pb.Entry, error) {
	_, info, err := s.lookUp(request.GetPath())
	if err != nil {
		return nil, err
	}
	return wire.EntryOf(path.Base(request.GetPath()), info), nil
}

// pageEntries is the number of directory entries in one message: 256 names of 255 bytes make 70 KB.
const pageEntries = 256

// List sends the entries of a directory, in the order of the file system.
func (s service) List(request *pb.ListRequest, stream grpc.ServerStreamingServer[pb.ListResponse]) error {
	local, err := readable(request.GetPath())
	if err != nil {
		return err
	}
	dir, err := s.openDirectory(local)
	if err != nil {
		return err
	}
	err = s.listDirectory(dir, stream)
	return errors.Join(err, dir.Close())
}

var errNotDirectory = fmt.Errorf("%w: not a directory", fs.ErrInvalid)

// lstatDir describes a directory. It fails for a link to one.
func (s *Server) lstatDir(local string) (fs.FileInfo, error) {
	info, err := s.config.Root.Lstat(local)
	if err == nil && !info.IsDir() {
		err = errNotDirectory
	}
	return info, err
}

// openDirectory opens a directory. It fails for a link to one.
func (s *Server) openDirectory(local string) (*os.File, error) {
	before, err := s.lstatDir(local)
	if err != nil {
		return nil, err
	}
	return s.openSame(local, before)
}

// openSame opens the file that before describes. It fails if the name leads to another file or a link meanwhile.
func (s *Server) openSame(local string, before fs.FileInfo) (*os.File, error) {
	file, err := s.config.Root.OpenFile(local, os.O_RDONLY|osfile.NoWait, 0)
	if err != nil {
		if now, gone := s.config.Root.Lstat(local); gone == nil && !os.SameFile(before, now) {
			err = fileservice.ErrChanged // perhaps to a broken link
		}
		return nil, err
	}
	if err := checkSame(file, before); err != nil {
		return nil, err
	}
	return file, nil
}

// checkSame fails if an open file is not the one that before describes, and closes it.
func checkSame(file interface {
	io.Closer
	Stat() (fs.FileInfo, error)
}, before fs.FileInfo,
) error {
	after, err := file.Stat()
	if err == nil && !os.SameFile(before, after) {
		err = fileservice.ErrChanged
	}
	if err != nil {
		return errors.Join(err, file.Close())
	}
	return nil
}

func (s *Server) listDirectory(dir *os.File, stream grpc.ServerStreamingServer[pb.ListResponse]) error {
	for {
		entries, err := dir.ReadDir(pageEntries)
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		page := &pb.ListResponse{}
		for _, entry := range entries {
			if !fileservice.IsName(entry.Name()) {
				page.Unnamable++
				if len(page.UnnamableNames) < place.NamedUnnamables {
					page.UnnamableNames = append(page.UnnamableNames, []byte(entry.Name()))
				}
				continue
			}
			if fileservice.IsDraft(entry.Name()) {
				continue
			}
			info, err := entry.Info()
			if errors.Is(err, fs.ErrNotExist) {
				continue // it was removed meanwhile
			}
			if err != nil {
				return err
			}
			page.Entries = append(page.Entries, wire.EntryOf(entry.Name(), info))
		}
		if len(page.Entries) == 0 && page.Unnamable == 0 {
			continue // do not send an empty page
		}
		if err := stream.Send(page); err != nil {
			return err
		}
	}
}

// unchanged fails if the file no longer has the version. Otherwise all data read before has it.
func unchanged(file *os.File, version fileservice.Version) error {
	now, err := file.Stat()
	if err != nil {
		return err
	}
	if fileservice.VersionOf(now) != version {
		return fileservice.ErrChanged
	}
	return nil
}

// Read sends a range of a file or a draft. It checks the version after each read, before it sends the data.
func (s service) Read(request *pb.ReadRequest, stream grpc.ServerStreamingServer[pb.ReadResponse]) error {
	offset, length := request.GetOffset(), request.GetLength()
	if offset < 0 || length < 0 || offset > math.MaxInt64-length {
		return fmt.Errorf("%w: a range from %d of %d bytes", fs.ErrInvalid, offset, length)
	}
	r := &exchange.Request{
		Kind: exchange.Get, Target: request.GetPath(), Version: wire.VersionOf(request.GetVersion()),
	}
	switch {
	case len(request.GetDraft()) > 0:
		r.Kind, r.Target = exchange.GetDraft, string(request.GetDraft())
	case request.GetVersion() == nil:
		_, info, err := s.lookUp(r.Target)
		if err != nil {
			return err
		}
		r.Version = fileservice.VersionOf(info)
	}
	call := callOf(stream.Context())
	d := &dataConn{Server: s.Server, conn: call.conn, ctx: stream.Context()}
	call.about.Path = d.pathOf(r)
	buffer, err := d.Answers()
	if err != nil {
		return err
	}
	defer buffer.Free()
	for length > 0 {
		r.Offset, r.Length = offset, int(min(length, wire.PartSize))
		data, err := d.read(r, buffer.Bytes())
		if err != nil || len(data) == 0 {
			return err
		}
		if err := stream.Send(&pb.ReadResponse{Data: data}); err != nil {
			return err
		}
		offset, length = offset+int64(len(data)), length-int64(len(data))
		call.about.BytesRead += int64(len(data))
	}
	return nil
}

// read reads what a request asks for into p.
func (d *dataConn) read(r *exchange.Request, p []byte) ([]byte, error) {
	content, err := d.Get(r)
	if err != nil || content.File == nil {
		return nil, err
	}
	p = p[:content.Length]
	err = content.File.ReadAt(p, content.Offset)
	return p, errors.Join(err, content.File.Close())
}
