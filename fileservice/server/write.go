package server

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"google.golang.org/grpc"

	"culvert/fileservice"
	pb "culvert/fileservice/internal/fileservicepb"
	"culvert/fileservice/internal/osfile"
	"culvert/fileservice/internal/wire"
	"culvert/internal/publish"
)

// writable checks that the server is writable, and the path of a file to be written.
func (s *Server) writable(call *call, name string) (local string, err error) {
	if !s.config.Writable {
		return "", errNotWritable
	}
	if local, err = fileservice.CheckPath(name); err != nil {
		return "", err
	}
	call.about.Path = name
	if name == "." {
		return "", fmt.Errorf("%w: the root of the tree", fs.ErrInvalid)
	}
	return local, checkReserved(name)
}

// writableDir is like writable, for a directory that gets a new file. It can be the root of the tree.
func (s *Server) writableDir(call *call, name string) (local string, err error) {
	if name != "." {
		return s.writable(call, name)
	}
	return call.open(name)
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
	local, err := s.writable(callOf(ctx), request.GetPath())
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
	local, version, err := s.target(call, request.GetPath(), request.GetVersion())
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
func (s *Server) target(call *call, name string, m *pb.Version) (local string, version fileservice.Version, err error) {
	if local, err = s.writable(call, name); err != nil {
		return "", fileservice.Version{}, err
	}
	version = wire.VersionOf(m)
	if version.Size < 0 || version.Size > fileservice.MaxFileSize {
		return "", fileservice.Version{}, fmt.Errorf("%w: a size of %d bytes", fs.ErrInvalid, version.Size)
	}
	return local, version, nil
}

// Write receives consecutive blocks. It holds a buffer only while it writes a complete block.
func (s service) Write(stream grpc.ClientStreamingServer[pb.WriteRequest, pb.WriteResponse]) error {
	if !s.config.Writable {
		return errNotWritable
	}
	call := callOf(stream.Context())
	head := &pb.WriteRequest{}
	held := &heldBlock{}
	defer held.free()
	if err := held.add(stream.RecvMsg, head); err != nil {
		return err
	}
	local, version, err := s.target(call, head.GetPath(), head.GetVersion())
	if err != nil {
		return err
	}
	block := head.GetFirstBlock()
	if err := version.CheckBlocks(block, 1); err != nil {
		return err
	}
	up, err := s.uploads.join(call.conn, local, version)
	if err != nil {
		return err
	}
	defer s.uploads.end(local, up)
	receive := func(message any) error {
		err := stream.RecvMsg(message)
		up.messages.Add(1)
		return err
	}
	more := true
	for end := fileservice.Blocks(version.Size); more && block < end; block++ {
		n := min(fileservice.BlockSize, version.Size-block*fileservice.BlockSize)
		if err := held.receive(receive, int(n)); err != nil {
			return err
		}
		if err := writeHeld(stream.Context(), call, up, held, block); errors.Is(err, fs.ErrClosed) {
			return refused("the upload has ended")
		} else if err != nil {
			return err
		}
		call.about.BytesWritten += n
		switch err := held.add(receive, nil); err {
		case nil:
		case io.EOF:
			more = false
		default:
			return err
		}
	}
	if more {
		return fmt.Errorf("%w: blocks behind the end of the file", fs.ErrInvalid)
	}
	return stream.SendAndClose(&pb.WriteResponse{Blocks: block - head.GetFirstBlock()})
}

// writeHeld writes a complete block if it has its hash.
func writeHeld(ctx context.Context, call *call, up *upload, held *heldBlock, block int64) error {
	buffer, err := call.conn.blocks.get(ctx)
	if err != nil {
		return err
	}
	defer buffer.free()
	data := buffer.buffer.Extend(held.size)
	if err := held.moveTo(data); err != nil {
		return err
	}
	if fileservice.SumBlock(data, block, up.version.Size) != held.hash {
		return fmt.Errorf("%w: a block does not have its hash", fileservice.ErrIntegrity)
	}
	return up.WriteBlock(block, data, held.hash)
}

// maxParts is the number of messages of a block that are held in their frames. If there are more, they are small, and
// frames would take more memory than the data.
const maxParts = 16

// heldBlock is an incomplete block. Its data stays in frames, because a client may be slow and buffers for blocks are
// few.
type heldBlock struct {
	data   []byte          // gathered from small messages
	parts  []wire.Incoming // the messages that follow data
	size   int             // bytes of data
	frames int             // bytes of the frames in parts
	hash   fileservice.Sum
	whole  bool // the hash was received
}

// add receives another message.
func (b *heldBlock) add(receive func(any) error, fields *pb.WriteRequest) error {
	part := wire.Incoming{Hold: true}
	if fields != nil {
		part.Fields = fields
	}
	if err := receive(&part); err != nil {
		return err
	}
	b.parts = append(b.parts, part)
	b.size += part.N
	b.frames += part.Frames.Len()
	b.hash, b.whole = part.Hash, part.Hashed
	switch {
	case part.N == 0:
		return fmt.Errorf("%w: a message without data", fs.ErrInvalid)
	case b.frames > fileservice.BlockSize+wire.MaxMessage:
		return fmt.Errorf("%w: messages that are not their data", fs.ErrInvalid)
	case len(b.parts) > maxParts:
		return b.gather()
	}
	return nil
}

// gather copies the data of the parts out of their frames.
func (b *heldBlock) gather() error {
	data := slices.Grow(b.data, b.size-len(b.data))[:b.size]
	if err := b.copyParts(data[len(b.data):]); err != nil {
		return err
	}
	b.data = data
	return nil
}

// copyParts copies the data of the parts to p and frees their frames. p has the same length.
func (b *heldBlock) copyParts(p []byte) error {
	for i := range b.parts {
		part := wire.Incoming{Into: p[:b.parts[i].N]}
		if err := part.Unmarshal(b.parts[i].Frames); err != nil {
			return err
		}
		p = p[part.N:]
	}
	b.freeParts()
	return nil
}

func (b *heldBlock) freeParts() {
	for i := range b.parts {
		b.parts[i].Frames.Free()
		b.parts[i] = wire.Incoming{}
	}
	b.parts, b.frames = b.parts[:0], 0
}

// receive receives the rest of a block of n bytes.
func (b *heldBlock) receive(receive func(any) error, n int) error {
	for {
		switch last := b.size == n; {
		case b.size > n:
			return fmt.Errorf("%w: a message over the border of a block", fs.ErrInvalid)
		case last != b.whole:
			return fmt.Errorf("%w: a block and its hash do not come together", fs.ErrInvalid)
		case last:
			return nil
		}
		if err := b.add(receive, nil); err == io.EOF {
			return fmt.Errorf("%w: a part of a block", fs.ErrInvalid)
		} else if err != nil {
			return err
		}
	}
}

// moveTo copies the data to p, which has the same length, and frees the block.
func (b *heldBlock) moveTo(p []byte) error {
	if err := b.copyParts(p[copy(p, b.data):]); err != nil {
		return err
	}
	b.free()
	return nil
}

// free drops all data, so that the next block can be received.
func (b *heldBlock) free() {
	b.freeParts()
	b.data, b.size = nil, 0
}

// FinishWrite renames a complete file to its name.
func (s service) FinishWrite(ctx context.Context, request *pb.FinishWriteRequest) (*pb.Entry, error) {
	call := callOf(ctx)
	local, version, err := s.target(call, request.GetPath(), request.GetVersion())
	if err != nil {
		return nil, err
	}
	if n := len(request.GetRoot()); n != fileservice.SumSize {
		return nil, fmt.Errorf("%w: a root of %d bytes", fs.ErrInvalid, n)
	}
	up, err := s.uploads.take(call.conn, local, version, request.GetOverwrite())
	if err != nil {
		return nil, err
	}
	info, err := up.Finish(fileservice.Sum(request.GetRoot()), permissionsOf(request.GetPermissions()))
	if err = errors.Join(err, up.Close()); err != nil {
		return nil, err
	}
	return wire.EntryOf(path.Base(request.GetPath()), info), nil
}
