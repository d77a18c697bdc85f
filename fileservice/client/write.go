package client

import (
	"context"
	"fmt"
	"io"
	"io/fs"

	"culvert/bytebuf"
	"culvert/fileservice"
	"culvert/fileservice/internal/exchange"
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
//
// Timeout does not limit the time in which the server reads what it has of an interrupted upload.
func (c *Client) QueryWrite(
	ctx context.Context, name string, version fileservice.Version, overwrite bool,
) (committed []fileservice.BlockRange, err error) {
	err = c.do(ctx, "write", name, func(call *call) error {
		call.pause() // the server reads what it has
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

// WriteBlocks sends consecutive blocks of an upload that QueryWrite has begun. source must have the version of the
// upload. WriteBlocks calls sum with each block and its sum, in order, before it sends the block; sum must not retain
// data. WriteBlocks returns when the server has verified and written the blocks. They are not committed yet: a server
// that is killed asks for them again.
func (c *Client) WriteBlocks(
	ctx context.Context, name string, version fileservice.Version, first, count int64, source io.ReaderAt,
	sum func(block int64, data []byte, sum fileservice.Sum),
) error {
	target, err := c.checkName("write", name)
	if err != nil {
		return err
	}
	if err = version.CheckBlocks(first, count); err == nil {
		err = c.writeBlocks(ctx, target, version, first, first+count, source, sum)
	}
	return fault("write", name, err)
}

func (c *Client) writeBlocks(
	ctx context.Context, target string, version fileservice.Version, block, end int64, source io.ReaderAt,
	sum func(int64, []byte, fileservice.Sum),
) error {
	writes := requests{client: c, ctx: ctx}
	defer writes.close()
	for ; block < end || len(writes.queue) > 0; block++ {
		if block >= end || len(writes.queue) == c.blocksAhead() {
			if _, err := writes.next(); err != nil {
				return err
			}
		}
		if block >= end {
			continue
		}
		offset := block * fileservice.BlockSize
		buffer := bytebuf.New()
		data := buffer.Extend(int(min(fileservice.BlockSize, version.Size-offset)))
		if err := osfile.ReadFull(source, data, offset); err != nil {
			buffer.Free()
			return err
		}
		r := exchange.Request{Kind: exchange.PutBlock, Target: target, Version: version, Offset: offset}
		r.Sum = fileservice.SumBlock(data, block)
		sum(block, data, r.Sum)
		writes.add(exchange.Call{Request: r, Data: data}, buffer)
		writes.send()
	}
	return nil
}

// AbandonWrite ends an upload with which this client does not go on for now. Without it, the server keeps the upload
// open for a while, and refuses other versions of the file. If discard is set, the server removes what it has received;
// otherwise QueryWrite finds it later. If the file has the size and time of the version under its name by then, the
// server removes what any upload has left. An upload that another client has begun too stays. A server that is older
// than this call refuses it.
func (c *Client) AbandonWrite(ctx context.Context, name string, version fileservice.Version, discard bool) error {
	return c.do(ctx, "write", name, func(call *call) error {
		_, err := call.link.service.AbandonWrite(call.ctx, &fileservicepb.AbandonWriteRequest{
			Path: call.path, Version: wire.VersionMessage(version), Discard: discard,
		})
		return err
	})
}

// FinishWrite completes an upload whose blocks were all sent. The server commits them, verifies sum, the sum of the
// whole file, sets the permissions and the time, and gives the file its name. If the sum differs, the error is
// ErrIntegrity; if blocks are missing, it is ErrRefused. If permissions is 0, only the owner, the user that runs the
// server, may access the file.
//
// If overwrite is false and the file exists, the error is fs.ErrExist. Other clients that upload the same version and
// may overwrite can still finish.
//
// Timeout does not limit the time that the server needs to write to its disk.
func (c *Client) FinishWrite(
	ctx context.Context, name string, version fileservice.Version, sum fileservice.Sum, permissions fs.FileMode,
	overwrite bool,
) (info *fileservice.Info, err error) {
	err = c.do(ctx, "write", name, func(call *call) error {
		call.pause() // the server writes to its disk
		entry, err := call.link.service.FinishWrite(call.ctx, &fileservicepb.FinishWriteRequest{
			Path: call.path, Version: wire.VersionMessage(version), Hash: sum[:],
			Permissions: uint32(permissions.Perm()), Overwrite: overwrite,
		})
		if err == nil {
			info, err = wire.InfoOf(entry, call.path)
		}
		return err
	})
	return info, err
}
