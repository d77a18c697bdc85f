package fileservice

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

	"culvert/fileservice/internal/fileservicepb"
	"culvert/internal/disk"
)

// writable checks that the server may write, and what a client names to be written.
func (s *Server) writable(call *serverCall, name string) (local string, err error) {
	if !s.config.Writable {
		return "", errNotWritable
	}
	if local, err = checkPath(name); err != nil {
		return "", err
	}
	call.about.Path = name
	if name == "." {
		return "", fmt.Errorf("%w: the root of the tree", fs.ErrInvalid)
	}
	return local, checkReserved(name)
}

// writableDir is writable for a directory that something goes into.
func (s *Server) writableDir(call *serverCall, name string) (local string, err error) {
	if name != "." {
		return s.writable(call, name)
	}
	return call.open(name)
}

// checkReserved refuses names that only unfinished files have.
func checkReserved(name string) error {
	for element := range strings.SplitSeq(name, "/") {
		if isReserved(element) {
			return refused("the name is one of those for unfinished files")
		}
	}
	return nil
}

// MakeDirectory makes a directory, which may be there already.
func (s service) MakeDirectory(
	ctx context.Context, request *fileservicepb.MakeDirectoryRequest,
) (*fileservicepb.MakeDirectoryResponse, error) {
	local, err := s.writable(callOf(ctx), request.GetPath())
	if err != nil {
		return nil, err
	}
	permissions := permissionsOf(request.GetPermissions())
	if !request.GetExclusive() {
		permissions = dirPermissions(permissions)
	}
	switch err := s.config.Root.Mkdir(local, permissions); {
	case err == nil:
		// What is finished in it is durable only if its name is.
		err = disk.InRoot{Root: s.config.Root}.SyncDir(filepath.Dir(local))
		if err != nil {
			return nil, err
		}
	case request.GetExclusive() || !errors.Is(err, fs.ErrExist):
		return nil, err
	}
	info, err := s.config.Root.Lstat(local)
	if err == nil && !info.IsDir() {
		err = fmt.Errorf("%w: it is not a directory", fs.ErrExist)
	}
	return &fileservicepb.MakeDirectoryResponse{}, err
}

// maxRanges is how many ranges of committed blocks one answer has.
const maxRanges = 4096

// QueryWriteStatus begins an upload, or finds one.
func (s service) QueryWriteStatus(
	ctx context.Context, request *fileservicepb.QueryWriteStatusRequest,
) (*fileservicepb.QueryWriteStatusResponse, error) {
	local, version, err := s.target(callOf(ctx), request.GetPath(), request.GetVersion())
	if err != nil {
		return nil, err
	}
	up, err := s.uploads.begin(ctx, local, version, request.GetOverwrite())
	if err != nil {
		return nil, err
	}
	defer s.uploads.end(local, up)
	// Who asks after his connection broke need not send again what had come.
	if err := up.commit(); err != nil {
		return nil, err
	}
	response := &fileservicepb.QueryWriteStatusResponse{}
	for _, r := range up.committed() {
		if len(response.Committed) == maxRanges {
			break
		}
		response.Committed = append(response.Committed, &fileservicepb.BlockRange{FirstBlock: r.First, Blocks: r.Count})
	}
	return response, nil
}

// target checks what an upload is named by.
func (s *Server) target(
	call *serverCall, name string, m *fileservicepb.Version,
) (local string, version Version, err error) {
	if local, err = s.writable(call, name); err != nil {
		return "", Version{}, err
	}
	version = versionOfMessage(m)
	if version.Size < 0 || version.Size > maxFileSize {
		return "", Version{}, fmt.Errorf("%w: a size of %d bytes", fs.ErrInvalid, version.Size)
	}
	return local, version, nil
}

// bufferToWrite lends a buffer for what comes, if the server takes anything. A server that does not has none.
func (s *Server) bufferToWrite(ctx context.Context, call *serverCall) (*lent, error) {
	if !s.config.Writable {
		return nil, errNotWritable
	}
	return call.conn.blocks.get(ctx)
}

// Write takes consecutive blocks.
func (s service) Write(
	stream grpc.ClientStreamingServer[fileservicepb.WriteRequest, fileservicepb.WriteResponse],
) error {
	call := callOf(stream.Context())
	buffer, err := s.bufferToWrite(stream.Context(), call)
	if err != nil {
		return err
	}
	defer buffer.free()
	data := buffer.buffer.Extend(BlockSize)

	head := &fileservicepb.WriteRequest{}
	first := &incoming{into: data, fields: head}
	if err := stream.RecvMsg(first); err != nil {
		return err
	}
	local, version, err := s.target(call, head.GetPath(), head.GetVersion())
	if err != nil {
		return err
	}
	block := head.GetFirstBlock()
	if err := checkBlocks(version, block, 1); err != nil {
		return err
	}
	up, err := s.uploads.join(local, version)
	if err != nil {
		return err
	}
	defer s.uploads.end(local, up)
	receive := func(message any) error {
		err := stream.RecvMsg(message)
		up.messages.Add(1)
		return err
	}
	for end := Blocks(version.Size); first != nil && block < end; block++ {
		n := min(BlockSize, version.Size-block*BlockSize)
		sum, err := receiveBlock(receive, first, data[:n], block, version.Size)
		if err != nil {
			return err
		}
		if err := up.writeBlock(block, data[:n], sum); errors.Is(err, fs.ErrClosed) {
			return refused("the upload has ended")
		} else if err != nil {
			return err
		}
		call.about.BytesWritten += n
		if first, err = nextMessage(receive, data); err != nil {
			return err
		}
	}
	if first != nil {
		return fmt.Errorf("%w: blocks behind the end of the file", fs.ErrInvalid)
	}
	return stream.SendAndClose(&fileservicepb.WriteResponse{Blocks: block - head.GetFirstBlock()})
}

// nextMessage gives the message that a block begins with, or nil if there is none.
func nextMessage(receive func(any) error, data []byte) (*incoming, error) {
	message := &incoming{into: data}
	switch err := receive(message); err {
	case nil:
		return message, nil
	case io.EOF:
		return nil, nil
	default:
		return nil, err
	}
}

// receiveBlock takes the rest of a block, of which the first message is at the start of data, and checks its hash.
func receiveBlock(
	receive func(any) error, message *incoming, data []byte, number, fileSize int64,
) (Sum, error) {
	if message.n > len(data) {
		return Sum{}, fmt.Errorf("%w: a message over the border of a block", fs.ErrInvalid)
	}
	for done := message.n; ; done += message.n {
		last := done == len(data)
		if message.n == 0 || last != message.hashed {
			return Sum{}, fmt.Errorf("%w: a block and its hash do not come together", fs.ErrInvalid)
		}
		if last {
			break
		}
		message.into, message.fields = data[done:], nil
		if err := receive(message); err == io.EOF {
			return Sum{}, fmt.Errorf("%w: a part of a block", fs.ErrInvalid)
		} else if err != nil {
			return Sum{}, err
		}
	}
	if SumBlock(data, number, fileSize) != message.hash {
		return Sum{}, fmt.Errorf("%w: a block does not have its hash", ErrIntegrity)
	}
	return message.hash, nil
}

// FinishWrite gives a file its name.
func (s service) FinishWrite(
	ctx context.Context, request *fileservicepb.FinishWriteRequest,
) (*fileservicepb.Entry, error) {
	local, version, err := s.target(callOf(ctx), request.GetPath(), request.GetVersion())
	if err != nil {
		return nil, err
	}
	var root Sum
	if len(request.GetRoot()) != len(root) {
		return nil, fmt.Errorf("%w: a root of %d bytes", fs.ErrInvalid, len(request.GetRoot()))
	}
	copy(root[:], request.GetRoot())
	up, err := s.uploads.take(local, version, request.GetOverwrite())
	if err != nil {
		return nil, err
	}
	info, err := up.finish(root, fs.FileMode(request.GetPermissions())&fs.ModePerm)
	if err = errors.Join(err, up.Close()); err != nil {
		return nil, err
	}
	return entryOf(path.Base(request.GetPath()), info), nil
}
