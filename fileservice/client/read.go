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

// ReadRange fills p with the bytes from an offset on, of that version of the file. It asks for them in one call on one
// connection. The range must lie within the size of the version; what is beyond is an ErrIntegrity, because a server
// that has the version has the bytes. p is all filled if the error is nil, and of no use otherwise.
func (c *Client) ReadRange(ctx context.Context, name string, version fileservice.Version, p []byte, offset int64) error {
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
	message := wire.Incoming{}
	for done := 0; done < len(p); done += message.N {
		if err := c.receiveData(stream.RecvMsg, &message, p[done:]); err != nil {
			return err
		}
	}
	return c.finish(stream.RecvMsg)
}

// receiveData takes the next message of a stream of data, which goes to p and may not fill it.
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

// finish takes the end of a stream, behind which there is nothing to come.
func (c *call) finish(receive func(any) error) error {
	switch err := receive(&wire.Incoming{}); err {
	case io.EOF:
		return nil
	case nil:
		return fmt.Errorf("%w: more than was asked for", fileservice.ErrIntegrity)
	default:
		return err
	}
}

// ReadBlocks reads consecutive blocks of a version of a file, in order, in one call on one connection. For each block
// it checks that the bytes have the hash that the server has sent with them, and calls yield with its number, its
// bytes and the hash. An error of yield ends the call and is returned as it is.
//
// The bytes are in buffer, which must have the size of a block or of the file if that is smaller; yield may keep
// neither. Several calls at once, of a few blocks each, make full use of a connection; the server waits while yield
// works.
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
	var failed error
	err = call.readBlocks(version, first, count, buffer, func(block int64, data []byte, sum fileservice.Sum) error {
		failed = yield(block, data, sum)
		return failed
	})
	if err = call.end(err); failed != nil {
		return failed
	}
	return err
}

func (c *call) readBlocks(
	version fileservice.Version, first, count int64, buffer []byte, yield func(int64, []byte, fileservice.Sum) error,
) error {
	stream, err := c.link.service.Read(c.ctx, &fileservicepb.ReadRequest{
		Path: c.path, Version: wire.VersionMessage(version), Offset: first * fileservice.BlockSize, Length: count * fileservice.BlockSize, Hashes: true,
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
				return fmt.Errorf("%w: block %d and its hash do not come together", fileservice.ErrIntegrity, block)
			}
		}
		if message.Hash != fileservice.SumBlock(data, block, version.Size) {
			return fmt.Errorf("%w: block %d does not have its hash", fileservice.ErrIntegrity, block)
		}
		c.pause()
		if err := yield(block, data, message.Hash); err != nil {
			return err
		}
		c.advance()
	}
	return c.finish(stream.RecvMsg)
}
