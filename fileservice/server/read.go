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

// pageEntries is how many entries of a directory go into one message: 256 names of 255 bytes make 70 KB.
const pageEntries = 256

// List gives the entries of a directory, as the file system gives them.
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

// openDirectory opens what is a directory and not a link to one.
func (s *Server) openDirectory(local string) (*os.File, error) {
	before, err := s.config.Root.Lstat(local)
	if err != nil {
		return nil, err
	}
	if !before.IsDir() {
		return nil, fmt.Errorf("%w: not a directory", fs.ErrInvalid)
	}
	return s.openSame(local, before)
}

// openSame opens a file that was looked at before. Between the two it may have become another one, or a link.
func (s *Server) openSame(local string, before fs.FileInfo) (*os.File, error) {
	file, err := s.config.Root.OpenFile(local, os.O_RDONLY|osfile.NoWait, 0)
	if err != nil {
		if now, gone := s.config.Root.Lstat(local); gone == nil && !os.SameFile(before, now) {
			err = fileservice.ErrChanged // to a link that leads nowhere, perhaps
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
				continue // it was removed while the directory was read
			}
			if err != nil {
				return err
			}
			page.Entries = append(page.Entries, wire.EntryOf(entry.Name(), info))
		}
		if len(page.Entries) == 0 && page.Unnamable == 0 {
			continue // a page says something
		}
		if err := stream.Send(page); err != nil {
			return err
		}
	}
}

// openVersion opens a regular file of which it knows the version.
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

// unchanged fails if the file is no longer of the version. What was read before it was asked is of that version then.
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

// Read sends a range of a file, read by read, each checked against the version before it goes out.
func (s service) Read(request *pb.ReadRequest, stream grpc.ServerStreamingServer[pb.ReadResponse]) error {
	call := callOf(stream.Context())
	local, err := call.open(request.GetPath())
	if err != nil {
		return err
	}
	offset, length := request.GetOffset(), request.GetLength()
	if offset < 0 || length < 0 || offset > math.MaxInt64-length {
		return fmt.Errorf("%w: a range from %d of %d bytes", fs.ErrInvalid, offset, length)
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

// reading is one Read under way.
type reading struct {
	call    *call
	stream  grpc.ServerStream
	file    *os.File
	version fileservice.Version
	next    int64
	end     int64
	hashes  bool
	hash    fileservice.BlockHash // of the block under way
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
		// The message owns the buffer from here on, whatever happens to it.
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
	n, err := r.file.ReadAt(data, r.next)
	if err == io.EOF && n < len(data) {
		return nil, fileservice.ErrChanged // it has become shorter
	}
	if err != nil && err != io.EOF {
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
	// The slice has the capacity of the whole buffer, without which gRPC would give a short one to no pool.
	buffer.handOver()
	message.Data = mem.NewBuffer(&data, buffer)
	return message, nil
}

// sum adds to the hash of a block, and gives it with the last byte of the block.
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
