package fileservice

import (
	"context"
	"fmt"
	"io"
	"io/fs"

	"culvert/fileservice/internal/fileservicepb"
)

// ReadRange fills p with the bytes from an offset on, of that version of the file. It asks for them in one call on one
// connection. The range must lie within the size of the version; what is beyond is an ErrIntegrity, because a server
// that has the version has the bytes. p is all filled if the error is nil, and of no use otherwise.
func (c *Client) ReadRange(ctx context.Context, name string, version Version, p []byte, offset int64) error {
	call, err := c.begin(ctx, "read", name)
	if err != nil {
		return err
	}
	return call.end(call.readRange(version, p, offset))
}

func (c *clientCall) readRange(version Version, p []byte, offset int64) error {
	stream, err := c.link.service.Read(c.ctx, &fileservicepb.ReadRequest{
		Path: c.name, Version: versionMessage(version), Offset: offset, Length: int64(len(p)),
	})
	if err != nil {
		return err
	}
	message := incoming{}
	for done := 0; done < len(p); done += message.n {
		if err := c.receiveData(stream.RecvMsg, &message, p[done:]); err != nil {
			return err
		}
	}
	return c.finish(stream.RecvMsg)
}

// receiveData takes the next message of a stream of data, which goes to p and may not fill it.
func (c *clientCall) receiveData(next func(any) error, message *incoming, p []byte) error {
	message.into = p
	if err := receive(c, next, message); err != nil {
		return err
	}
	if message.n == 0 {
		return fmt.Errorf("%w: a message without data", ErrIntegrity)
	}
	return nil
}

// finish takes the end of a stream, behind which there is nothing to come.
func (c *clientCall) finish(receive func(any) error) error {
	switch err := receive(&incoming{}); err {
	case io.EOF:
		return nil
	case nil:
		return fmt.Errorf("%w: more than was asked for", ErrIntegrity)
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
	ctx context.Context, name string, version Version, first, count int64, buffer []byte,
	yield func(block int64, data []byte, sum Sum) error,
) error {
	if err := version.checkBlocks(first, count); err != nil {
		return &fs.PathError{Op: "read", Path: name, Err: err}
	}
	if int64(len(buffer)) < min(BlockSize, version.Size) {
		return &fs.PathError{Op: "read", Path: name, Err: io.ErrShortBuffer}
	}
	call, err := c.begin(ctx, "read", name)
	if err != nil {
		return err
	}
	var failed error
	err = call.readBlocks(version, first, count, buffer, func(block int64, data []byte, sum Sum) error {
		failed = yield(block, data, sum)
		return failed
	})
	if err = call.end(err); failed != nil {
		return failed
	}
	return err
}

func (c *clientCall) readBlocks(
	version Version, first, count int64, buffer []byte, yield func(int64, []byte, Sum) error,
) error {
	stream, err := c.link.service.Read(c.ctx, &fileservicepb.ReadRequest{
		Path: c.name, Version: versionMessage(version), Offset: first * BlockSize, Length: count * BlockSize, Hashes: true,
	})
	if err != nil {
		return err
	}
	message := incoming{}
	for block := first; block < first+count; block++ {
		data := buffer[:min(BlockSize, version.Size-block*BlockSize)]
		for done := 0; done < len(data); done += message.n {
			if err := c.receiveData(stream.RecvMsg, &message, data[done:]); err != nil {
				return err
			}
			if last := done+message.n == len(data); last != message.hashed {
				return fmt.Errorf("%w: block %d and its hash do not come together", ErrIntegrity, block)
			}
		}
		if message.hash != SumBlock(data, block, version.Size) {
			return fmt.Errorf("%w: block %d does not have its hash", ErrIntegrity, block)
		}
		c.pause()
		if err := yield(block, data, message.hash); err != nil {
			return err
		}
		c.advance()
	}
	return c.finish(stream.RecvMsg)
}

// Hashes gives the hashes of consecutive blocks of a version of a file, which the server reads for it. It calls yield
// for each in order.
func (c *Client) Hashes(
	ctx context.Context, name string, version Version, first, count int64, yield func(block int64, sum Sum) error,
) error {
	if err := version.checkBlocks(first, count); err != nil {
		return &fs.PathError{Op: "hash", Path: name, Err: err}
	}
	call, err := c.begin(ctx, "hash", name)
	if err != nil {
		return err
	}
	var failed error
	err = call.hashes(version, first, count, func(block int64, sum Sum) error {
		failed = yield(block, sum)
		return failed
	})
	if err = call.end(err); failed != nil {
		return failed
	}
	return err
}

func (c *clientCall) hashes(version Version, first, count int64, yield func(int64, Sum) error) error {
	stream, err := c.link.service.Hash(c.ctx, &fileservicepb.HashRequest{
		Path: c.name, Version: versionMessage(version), FirstBlock: first, Blocks: count,
	})
	if err != nil {
		return err
	}
	for end := first + count; first < end; {
		page := &fileservicepb.HashResponse{}
		if err := receive(c, stream.RecvMsg, page); err != nil {
			return err
		}
		hashes := page.GetHashes()
		blocks := int64(len(hashes) / sumSize)
		if len(hashes)%sumSize != 0 || blocks == 0 || blocks > min(maxHashes, end-first) {
			return fmt.Errorf("%w: a page of %d bytes of hashes", ErrIntegrity, len(hashes))
		}
		c.pause()
		for ; len(hashes) > 0; hashes = hashes[sumSize:] {
			if err := yield(first, Sum(hashes[:sumSize])); err != nil {
				return err
			}
			first++
		}
		c.advance()
	}
	return c.finish(stream.RecvMsg)
}
