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

// QueryWrite begins the upload of one version of a file, or finds the one that was broken off, and gives the blocks
// that the server has committed: they are on its disk, and need not be sent again. They are in order and do not
// overlap.
//
// An upload is named by its path and the version of the source, as VersionOf gives it; with another version it begins
// afresh. If overwrite is false and there is a file of that name it fails with fs.ErrExist, and with ErrRefused if the
// server is not writable or another upload to that name is under way.
func (c *Client) QueryWrite(ctx context.Context, name string, version fileservice.Version, overwrite bool) ([]fileservice.BlockRange, error) {
	call, err := c.begin(ctx, "write", name)
	if err != nil {
		return nil, err
	}
	response, err := call.link.service.QueryWriteStatus(call.ctx, &fileservicepb.QueryWriteStatusRequest{
		Path: call.path, Version: wire.VersionMessage(version), Overwrite: overwrite,
	})
	if err != nil {
		return nil, call.end(err)
	}
	ranges, err := committedRanges(response, version)
	return ranges, call.end(err)
}

func committedRanges(response *fileservicepb.QueryWriteStatusResponse, version fileservice.Version) ([]fileservice.BlockRange, error) {
	ranges := make([]fileservice.BlockRange, 0, len(response.GetCommitted()))
	end := int64(0)
	for _, r := range response.GetCommitted() {
		first, count := r.GetFirstBlock(), r.GetBlocks()
		if first < end || count == 0 || version.CheckBlocks(first, count) != nil {
			return nil, fmt.Errorf("%w: blocks that are not in the file", fileservice.ErrIntegrity)
		}
		ranges = append(ranges, fileservice.BlockRange{First: first, Count: count})
		end = first + count
	}
	return ranges, nil
}

// WriteBlocks sends consecutive blocks of an upload that QueryWrite has begun, in one call on one connection. It reads
// them from source, which has the version of the upload, with the block's offset in the file. It ends when the server
// has them all in its file and has found that they have their hashes. That is before they are committed: a server that
// is killed then asks for them again. Sum gets the hash of each block, in order, before it is sent.
func (c *Client) WriteBlocks(
	ctx context.Context, name string, version fileservice.Version, first, count int64, source io.ReaderAt,
	sum func(block int64, sum fileservice.Sum),
) error {
	if err := version.CheckBlocks(first, count); err != nil {
		return &fs.PathError{Op: "write", Path: name, Err: err}
	}
	call, err := c.begin(ctx, "write", name)
	if err != nil {
		return err
	}
	return call.end(call.writeBlocks(version, first, count, source, sum))
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
	if response.GetBlocks() != count {
		return fmt.Errorf("%w: it has taken %d blocks of %d", fileservice.ErrIntegrity, response.GetBlocks(), count)
	}
	return nil
}

// freeBuffer is the pool of a message that frees its buffer.
type freeBuffer struct{ buffer *bytebuf.Buffer }

func (f freeBuffer) Get(int) *[]byte { panic("fileservice: a buffer is not a pool") }

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

// FinishWrite ends an upload of which all blocks were sent. The server commits them, checks that their hashes give this
// one, sets permissions and time, and gives the file its name. It gives ErrIntegrity if they give another one, and
// ErrRefused if blocks are missing. With permissions of 0 the file is for the owner of the server's process alone.
//
// If overwrite is false and there is a file of that name, it fails with fs.ErrExist, even if other clients that send
// the same version may overwrite; they go on.
//
// The server writes to its disk before it answers, for which Timeout does not count.
func (c *Client) FinishWrite(
	ctx context.Context, name string, version fileservice.Version, root fileservice.Sum, permissions fs.FileMode, overwrite bool,
) (*fileservice.Info, error) {
	call, err := c.begin(ctx, "write", name)
	if err != nil {
		return nil, err
	}
	call.pause()
	entry, err := call.link.service.FinishWrite(call.ctx, &fileservicepb.FinishWriteRequest{
		Path: call.path, Version: wire.VersionMessage(version), Root: root[:], Permissions: uint32(permissions.Perm()),
		Overwrite: overwrite,
	})
	if err != nil {
		return nil, call.end(err)
	}
	info, err := wire.InfoOf(entry, call.path)
	return info, call.end(err)
}
