package client

import (
	"context"
	"fmt"
	"io"
	"io/fs"

	"culvert/fileservice"
	"culvert/fileservice/internal/fileservicepb"
	"culvert/fileservice/internal/wire"
)

// ReadRange fills p with the bytes of a version of the file from offset on, in one call. The range must lie within the
// version's size; otherwise the error is ErrIntegrity. After an error the content of p is undefined.
func (c *Client) ReadRange(
	ctx context.Context, name string, version fileservice.Version, p []byte, offset int64,
) error {
	call, err := c.begin(ctx, "read", name)
	if err != nil {
		return err
	}
	return call.end(call.readRange(version, p, offset))
}

func (c *call) readRange(version fileservice.Version, p []byte, offset int64) error {
	stream, err := c.link.service.Read(c.ctx, &fileservicepb.ReadRequest{
		Path: c.path, Version: wire.VersionMessage(version), Offset: offset, Length: int64(len(p)),
	})
	if err != nil {
		return err
	}
	return c.fill(stream.RecvMsg, p)
}

// fill fills p with the data of a stream, and expects its end.
func (c *call) fill(next func(any) error, p []byte) error {
	message := wire.Incoming{}
	for done := 0; done < len(p); done += message.N {
		if err := c.receiveData(next, &message, p[done:]); err != nil {
			return err
		}
	}
	return c.finish(next)
}

// receiveData receives the next message of a stream of data into p, and may fill it only partly.
func (c *call) receiveData(next func(any) error, message *wire.Incoming, p []byte) error {
	message.Into = p
	if err := receive(c, next, message); err != nil {
		return err
	}
	if message.N == 0 {
		return fmt.Errorf("%w: a message without data", fileservice.ErrIntegrity)
	}
	return nil
}

// finish expects the end of a stream.
func (c *call) finish(receive func(any) error) error {
	switch err := receive(&wire.Incoming{}); err {
	case io.EOF:
		return nil
	case nil:
		return fmt.Errorf("%w: more data than requested", fileservice.ErrIntegrity)
	default:
		return err
	}
}

// ReadBlocks reads consecutive blocks of a version of a file, in order, in one call. It verifies the hash of each
// block, and calls yield with the block's number, bytes and hash. If yield fails, ReadBlocks returns that error
// unchanged.
//
// data lies in buffer, which must hold a block, or the file if that is smaller; yield must not retain it. Several
// concurrent calls of a few blocks each fully use a connection. The server waits while yield runs.
func (c *Client) ReadBlocks(
	ctx context.Context, name string, version fileservice.Version, first, count int64, buffer []byte,
	yield func(block int64, data []byte, sum fileservice.Sum) error,
) error {
	if err := version.CheckBlocks(first, count); err != nil {
		return &fs.PathError{Op: "read", Path: name, Err: err}
	}
	if int64(len(buffer)) < min(fileservice.BlockSize, version.Size) {
		return &fs.PathError{Op: "read", Path: name, Err: io.ErrShortBuffer}
	}
	call, err := c.begin(ctx, "read", name)
	if err != nil {
		return err
	}
	return call.end(call.readBlocks(version, first, count, buffer, yield))
}

func (c *call) readBlocks(
	version fileservice.Version, first, count int64, buffer []byte, yield func(int64, []byte, fileservice.Sum) error,
) error {
	stream, err := c.link.service.Read(c.ctx, &fileservicepb.ReadRequest{
		Path: c.path, Version: wire.VersionMessage(version), Hashes: true,
		Offset: first * fileservice.BlockSize, Length: count * fileservice.BlockSize,
	})
	if err != nil {
		return err
	}
	message := wire.Incoming{}
	for block := first; block < first+count; block++ {
		data := buffer[:min(fileservice.BlockSize, version.Size-block*fileservice.BlockSize)]
		for done := 0; done < len(data); done += message.N {
			if err := c.receiveData(stream.RecvMsg, &message, data[done:]); err != nil {
				return err
			}
			if last := done+message.N == len(data); last != message.Hashed {
				return fmt.Errorf("%w: block %d came without its hash", fileservice.ErrIntegrity, block)
			}
		}
		if message.Hash != fileservice.SumBlock(data, block, version.Size) {
			return fmt.Errorf("%w: the hash of block %d does not match", fileservice.ErrIntegrity, block)
		}
		c.pause()
		if err := yield(block, data, message.Hash); err != nil {
			return yieldError{err}
		}
		c.advance()
	}
	return c.finish(stream.RecvMsg)
}
