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
	"google.golang.org/grpc/mem"

	"culvert/fileservice"
	pb "culvert/fileservice/internal/fileservicepb"
	"culvert/fileservice/internal/osfile"
	"culvert/fileservice/internal/wire"
)

// checkRange fails if a range of a file is not valid.
func checkRange(offset, length int64) error {
	if offset < 0 || length < 0 || offset > math.MaxInt64-length {
		return fmt.Errorf("%w: a range from %d of %d bytes", fs.ErrInvalid, offset, length)
	}
	return nil
}

// Stat describes one file.
func (s service) Stat(ctx context.Context, request *pb.StatRequest) (*pb.Entry, error) {
	local, err := callOf(ctx).open(request.GetPath())
	if err != nil {
		return nil, err
	}
	info, err := s.config.Root.Lstat(local)
	if err != nil {
		return nil, err
	}
	return wire.EntryOf(path.Base(request.GetPath()), info), nil
}

// pageEntries is the number of directory entries in one message: 256 names of 255 bytes make 70 KB.
const pageEntries = 256

// List sends the entries of a directory, in the order of the file system.
func (s service) List(request *pb.ListRequest, stream grpc.ServerStreamingServer[pb.ListResponse]) error {
	local, err := callOf(stream.Context()).open(request.GetPath())
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
	after, err := file.Stat()
	if err == nil && !os.SameFile(before, after) {
		err = fileservice.ErrChanged
	}
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return file, nil
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

// openVersion opens a regular file and returns its version. It fails if that is not want, unless want is nil.
func (s *Server) openVersion(local string, want *pb.Version) (*os.File, fileservice.Version, error) {
	before, err := s.config.Root.Lstat(local)
	if err != nil {
		return nil, fileservice.Version{}, err
	}
	if !before.Mode().IsRegular() {
		return nil, fileservice.Version{}, fileservice.NotRegular(before.Mode())
	}
	version := fileservice.VersionOf(before)
	if want != nil && wire.VersionOf(want) != version {
		return nil, fileservice.Version{}, fileservice.ErrChanged
	}
	file, err := s.openSame(local, before)
	return file, version, err
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

// Read sends a range of a file. It checks the version after each read, before it sends the data.
func (s service) Read(request *pb.ReadRequest, stream grpc.ServerStreamingServer[pb.ReadResponse]) error {
	call := callOf(stream.Context())
	local, err := call.open(request.GetPath())
	if err != nil {
		return err
	}
	offset, length := request.GetOffset(), request.GetLength()
	if err := checkRange(offset, length); err != nil {
		return err
	}
	if request.GetHashes() && (offset%fileservice.BlockSize != 0 || length%fileservice.BlockSize != 0) {
		return fmt.Errorf("%w: a range with hashes that is not one of blocks", fs.ErrInvalid)
	}
	file, version, err := s.openVersion(local, request.GetVersion())
	if err != nil {
		return err
	}
	reading := &reading{
		call: call, stream: stream, file: file, version: version,
		next: offset, end: min(offset+length, version.Size), hashes: request.GetHashes(),
	}
	return errors.Join(reading.run(), file.Close())
}

// reading is the state of one Read.
type reading struct {
	call    *call
	stream  grpc.ServerStream
	file    *os.File
	version fileservice.Version
	next    int64
	end     int64
	hashes  bool
	hash    fileservice.BlockHash // of the current block
}

func (r *reading) run() error {
	for r.next < r.end {
		buffer, err := r.call.conn.buffers.get(r.stream.Context())
		if err != nil {
			return err
		}
		message, err := r.fill(buffer)
		if err != nil {
			buffer.free()
			return err
		}
		sent := int64(message.Data.Len())
		if err := r.stream.SendMsg(message); err != nil {
			return err
		}
		r.call.about.BytesRead += sent
	}
	return nil
}

// fill reads the next part of the range into the buffer.
func (r *reading) fill(buffer *lent) (*wire.Outgoing, error) {
	data := buffer.buffer.Extend(int(min(wire.MessageSize, r.end-r.next)))
	if err := osfile.ReadFull(r.file, data, r.next); err != nil {
		return nil, err
	}
	if err := unchanged(r.file, r.version); err != nil {
		return nil, err
	}
	message := &wire.Outgoing{}
	if r.hashes {
		message.Hash = r.sum(data)
	}
	r.next += int64(len(data))
	// The slice keeps the capacity of the whole buffer, because gRPC does not return short slices to their pool.
	buffer.handOver()
	message.Data = mem.NewBuffer(&data, buffer)
	return message, nil
}

// sum hashes data, and returns the hash of a block at its last byte, otherwise nil.
func (r *reading) sum(data []byte) *fileservice.Sum {
	if r.next%fileservice.BlockSize == 0 {
		r.hash.Reset(r.next/fileservice.BlockSize, r.version.Size)
	}
	r.hash.Write(data)
	next := r.next + int64(len(data))
	if next%fileservice.BlockSize != 0 && next != r.version.Size {
		return nil
	}
	sum := r.hash.Sum()
	return &sum
}
