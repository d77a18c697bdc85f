package server

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"google.golang.org/grpc"
	"google.golang.org/grpc/mem"

	"culvert/fileservice"
	pb "culvert/fileservice/internal/fileservicepb"
	"culvert/fileservice/internal/osfile"
	"culvert/fileservice/internal/receive"
	"culvert/fileservice/internal/wire"
	"culvert/internal/publish"
)

// ReadFiles sends small files of one directory.
func (s service) ReadFiles(
	request *pb.ReadFilesRequest, stream grpc.ServerStreamingServer[pb.ReadFilesResponse],
) error {
	call := callOf(stream.Context())
	local, err := call.open(request.GetDirectory())
	if err != nil {
		return err
	}
	files := make([]fileservice.SmallFile, len(request.GetFiles()))
	for i, file := range request.GetFiles() {
		files[i] = fileservice.SmallFile{Name: file.GetName(), Version: wire.VersionOf(file.GetVersion())}
	}
	if err := fileservice.CheckSmallFiles(files); err != nil {
		return err
	}
	dir, err := s.openDir(local)
	if err != nil {
		return err
	}
	reading := &readingFiles{call: call, stream: stream, dir: dir}
	for len(files) > 0 && err == nil {
		files, err = reading.send(files)
	}
	return errors.Join(err, dir.Close())
}

// openDir is like openDirectory, for creating and reading many files.
func (s *Server) openDir(local string) (*publish.Dir, error) {
	before, err := s.lstatDir(local)
	if err != nil {
		return nil, err
	}
	dir, err := publish.OpenDir(s.config.Root, local)
	if err != nil {
		return nil, err
	}
	after, err := dir.Stat()
	if err == nil && !os.SameFile(before, after) {
		err = fileservice.ErrChanged
	}
	if err != nil {
		return nil, errors.Join(err, dir.Close())
	}
	return dir, nil
}

// readingFiles is the state of one ReadFiles.
type readingFiles struct {
	call   *call
	stream grpc.ServerStream
	dir    *publish.Dir
}

// send sends as many files as fit in a message, and returns the others.
func (r *readingFiles) send(files []fileservice.SmallFile) (left []fileservice.SmallFile, err error) {
	buffer, err := r.call.conn.buffers.get(r.stream.Context())
	if err != nil {
		return nil, err
	}
	data, used := buffer.buffer.Extend(wire.MessageSize), 0
	page := &pb.ReadFilesResponse{}
	for ; len(files) > 0; files = files[1:] {
		size := int(files[0].Version.Size)
		if used+size > len(data) {
			break
		}
		content := data[used : used+size]
		err := osfile.ReadSmall(r.dir, files[0].Name, files[0].Version, content)
		result := wire.ResultOf(err)
		if err == nil {
			sum := fileservice.SumFile(content)
			result.Hash = sum[:]
			used += size
		}
		page.Files = append(page.Files, result)
	}
	data = data[:used]
	buffer.handOver()
	err = r.stream.SendMsg(&wire.Outgoing{Fields: page, Data: mem.NewBuffer(&data, buffer)})
	if err == nil {
		r.call.about.BytesRead += int64(used)
	}
	return files, err
}

// WriteFiles receives small files of one directory. It holds a buffer only while it has data to write.
func (s service) WriteFiles(stream grpc.ClientStreamingServer[pb.WriteFilesRequest, pb.WriteFilesResponse]) error {
	if !s.config.Writable {
		return errNotWritable
	}
	w := &writingFiles{ctx: stream.Context(), server: s.Server, call: callOf(stream.Context())}
	defer w.free()
	err := w.receive(stream.RecvMsg)
	if w.small == nil {
		return err
	}
	if err != nil {
		return errors.Join(err, w.small.Close())
	}
	errs := w.small.Publish(nil)
	if err := w.small.Close(); err != nil {
		return err
	}
	response := &pb.WriteFilesResponse{}
	for _, err := range errs {
		response.Files = append(response.Files, wire.ResultOf(err))
	}
	return stream.SendAndClose(response)
}

// writingFiles is the state of one WriteFiles.
type writingFiles struct {
	ctx    context.Context
	server *Server
	call   *call
	placed bool           // it holds a unit of Server.smalls
	buffer *lent          // nil between messages
	small  *receive.Small // nil before the first message
}

// room returns a buffer for n bytes of data.
func (w *writingFiles) room(n int) ([]byte, error) {
	if n > wire.MessageSize {
		return nil, nil // the codec refuses the data
	}
	w.call.watch.Stop() // the wait for a buffer is not the client's fault
	if err := w.enter(); err != nil {
		return nil, err
	}
	if w.buffer == nil {
		var err error
		if w.buffer, err = w.call.conn.blocks.get(w.ctx); err != nil {
			return nil, err
		}
	}
	w.buffer.buffer.Reset()
	return w.buffer.buffer.Extend(n), nil
}

// enter waits for a unit of Server.smalls, before the call opens files. A call with a unit may wait for a buffer, but
// not the other way round, which could deadlock.
func (w *writingFiles) enter() error {
	if w.placed {
		return nil
	}
	err := w.server.smalls.take(w.ctx, w.call.conn.peer, lostInterval, w.call.conn.blocks.findLost)
	w.placed = err == nil
	return err
}

// freeBuffer returns the buffer, for other calls to use until the next message.
func (w *writingFiles) freeBuffer() {
	if w.buffer != nil {
		w.buffer.free()
		w.buffer = nil
	}
}

func (w *writingFiles) free() {
	w.freeBuffer()
	if w.placed {
		w.server.smalls.give(w.call.conn.peer)
	}
}

// receive receives all messages.
func (w *writingFiles) receive(next func(any) error) error {
	for {
		page := &pb.WriteFilesRequest{}
		message := &wire.Incoming{Room: w.room, Fields: page}
		err := next(message)
		if err == io.EOF && w.small != nil {
			return nil
		}
		if err == io.EOF {
			return fmt.Errorf("%w: no directory", fs.ErrInvalid)
		}
		if err != nil {
			return err
		}
		if w.small == nil {
			if err := w.open(page); err != nil {
				return err
			}
		}
		if err := w.take(page.GetFiles(), message.Into[:message.N]); err != nil {
			return err
		}
		w.freeBuffer()
	}
}

func (w *writingFiles) open(page *pb.WriteFilesRequest) error {
	s := w.server
	if err := w.enter(); err != nil {
		return err
	}
	local, err := s.writableDir(w.call, page.GetDirectory())
	if err != nil {
		return err
	}
	dir, err := s.openDir(local)
	if err != nil {
		return err
	}
	upload := func(local string, version fileservice.Version) (*receive.File, error) {
		if err := checkReserved(filepath.Base(local)); err != nil {
			return nil, err
		}
		return s.uploads.receive(w.ctx, w.call.conn, local, version, page.GetOverwrite())
	}
	w.small = receive.NewSmall(dir, local, s.uploads.publisher, upload)
	return nil
}

// take adds the files of a message.
func (w *writingFiles) take(files []*pb.NewFile, data []byte) error {
	if len(files)+len(w.small.Files) > fileservice.MaxSmallFiles {
		return fmt.Errorf("%w: too many files in one call", fs.ErrInvalid)
	}
	for _, m := range files {
		file := fileservice.SmallFile{
			Name: m.GetName(), Version: wire.VersionOf(m.GetVersion()), Permissions: permissionsOf(m.GetPermissions()),
		}
		if err := file.Check(); err != nil {
			return err
		}
		size := int(file.Version.Size)
		if size > len(data) {
			return fmt.Errorf("%w: less data than the files have", fs.ErrInvalid)
		}
		content := data[:size]
		data = data[size:]
		sum := fileservice.SumFile(content)
		if string(m.GetHash()) != string(sum[:]) {
			return fmt.Errorf("%w: a file does not have its hash", fileservice.ErrIntegrity)
		}
		w.small.Add(&file, content, sum)
		w.call.about.BytesWritten += int64(size)
	}
	if len(data) > 0 {
		return fmt.Errorf("%w: more data than the files have", fs.ErrInvalid)
	}
	return nil
}
