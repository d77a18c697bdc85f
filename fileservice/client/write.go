package client

import (
	"context"
	"fmt"
	"io"
	"io/fs"

	"google.golang.org/grpc/mem"

	"culvert/bytebuf"
	"culvert/fileservice"
	"culvert/fileservice/internal/fileservicepb"
	"culvert/fileservice/internal/osfile"
	"culvert/fileservice/internal/wire"
)

// QueryWrite begins to upload a version of a file, or continues an interrupted upload. It returns the blocks that the
// server has committed to its disk, in order and without overlaps. They need not be sent again.
//
// The path and the source's version, as [fileservice.VersionOf] returns it, identify an upload; another version starts
// over. If overwrite is false and the file exists, the error is fs.ErrExist. If the server is not writable, or another
// upload to that name is in progress, the error is ErrRefused.
func (c *Client) QueryWrite(
	ctx context.Context, name string, version fileservice.Version, overwrite bool,
) (committed []fileservice.BlockRange, err error) {
	err = c.do(ctx, "write", name, func(call *call) error {
		response, err := call.link.service.QueryWriteStatus(call.ctx, &fileservicepb.QueryWriteStatusRequest{
			Path: call.path, Version: wire.VersionMessage(version), Overwrite: overwrite,
		})
		end := int64(0)
		for _, r := range response.GetCommitted() {
			first, count := r.GetFirstBlock(), r.GetBlocks()
			if first < end || count == 0 || version.CheckBlocks(first, count) != nil {
				return fmt.Errorf("%w: committed blocks are not in the file", fileservice.ErrIntegrity)
			}
			committed = append(committed, fileservice.BlockRange{First: first, Count: count})
			end = first + count
		}
		return err
	})
	return committed, err
}

// WriteBlocks sends consecutive blocks of an upload that QueryWrite has begun, in one call. source must have the
// version of the upload. WriteBlocks calls sum with the hash of each block, in order, before it sends the hash. It
// returns when the server has written and verified the blocks. They are not committed yet: a server that is killed asks
// for them again.
func (c *Client) WriteBlocks(
	ctx context.Context, name string, version fileservice.Version, first, count int64, source io.ReaderAt,
	sum func(block int64, sum fileservice.Sum),
) error {
	if err := version.CheckBlocks(first, count); err != nil {
		return &fs.PathError{Op: "write", Path: name, Err: err}
	}
	return c.do(ctx, "write", name, func(call *call) error {
		return call.writeBlocks(version, first, count, source, sum)
	})
}

func (c *call) writeBlocks(
	version fileservice.Version, first, count int64, source io.ReaderAt, sum func(int64, fileservice.Sum),
) error {
	stream, err := c.link.service.Write(c.ctx)
	if err != nil {
		return err
	}
	fields := &fileservicepb.WriteRequest{Path: c.path, Version: wire.VersionMessage(version), FirstBlock: first}
	for block := first; block < first+count && err == nil; block++ {
		err = c.writeBlock(stream.SendMsg, version, block, source, fields, sum)
		fields = nil
	}
	if err != nil && err != io.EOF {
		return err
	}
	// After io.EOF the answer says why the server has ended the call.
	response, err := stream.CloseAndRecv()
	if err != nil {
		return err
	}
	if n := response.GetBlocks(); n != count {
		return fmt.Errorf("%w: the server accepted %d of %d blocks", fileservice.ErrIntegrity, n, count)
	}
	return nil
}

// freeBuffer is a mem.BufferPool that frees the one buffer of a message.
type freeBuffer struct{ buffer *bytebuf.Buffer }

func (f freeBuffer) Get(int) *[]byte { panic("fileservice: freeBuffer has no buffers") }

func (f freeBuffer) Put(*[]byte) { f.buffer.Free() }

func (c *call) writeBlock(
	send func(any) error, version fileservice.Version, block int64, source io.ReaderAt,
	fields *fileservicepb.WriteRequest, sum func(int64, fileservice.Sum),
) error {
	start := block * fileservice.BlockSize
	size := min(fileservice.BlockSize, version.Size-start)
	var hash fileservice.BlockHash
	hash.Reset(block, version.Size)
	for done := int64(0); done < size; {
		buffer := bytebuf.New()
		data := buffer.Extend(int(min(wire.MessageSize, size-done)))
		if err := osfile.ReadFull(source, data, start+done); err != nil {
			buffer.Free()
			return err
		}
		hash.Write(data)
		done += int64(len(data))
		message := &wire.Outgoing{Data: mem.NewBuffer(&data, freeBuffer{buffer})}
		if fields != nil {
			message.Fields, fields = fields, nil
		}
		if done == size {
			s := hash.Sum()
			sum(block, s)
			message.Hash = &s
		}
		if err := send(message); err != nil {
			return err
		}
		c.advance()
	}
	return nil
}

// FinishWrite completes an upload whose blocks were all sent. The server commits them, verifies root, the hash of the
// whole file, sets the permissions and the time, and gives the file its name. If the hash differs, the error is
// ErrIntegrity; if blocks are missing, it is ErrRefused. If permissions is 0, only the owner, the user that runs the
// server, may access the file.
//
// If overwrite is false and the file exists, the error is fs.ErrExist. Other clients that upload the same version and
// may overwrite can still finish.
//
// Timeout does not limit the time that the server needs to write to its disk.
func (c *Client) FinishWrite(
	ctx context.Context, name string, version fileservice.Version, root fileservice.Sum, permissions fs.FileMode,
	overwrite bool,
) (info *fileservice.Info, err error) {
	err = c.do(ctx, "write", name, func(call *call) error {
		call.pause() // the server writes to its disk
		entry, err := call.link.service.FinishWrite(call.ctx, &fileservicepb.FinishWriteRequest{
			Path: call.path, Version: wire.VersionMessage(version), Root: root[:],
			Permissions: uint32(permissions.Perm()), Overwrite: overwrite,
		})
		if err == nil {
			info, err = wire.InfoOf(entry, call.path)
		}
		return err
	})
	return info, err
}
