package client

import (
	"context"
	"fmt"

	"culvert/bytebuf"
	"culvert/fileservice"
	"culvert/fileservice/internal/exchange"
)

// ReadRange fills p with the bytes of a version of the file from offset on. The range must lie within the version's
// size; otherwise the error is ErrIntegrity. After an error the content of p is undefined.
func (c *Client) ReadRange(
	ctx context.Context, name string, version fileservice.Version, p []byte, offset int64,
) error {
	path, err := c.checkName("read", name)
	if err != nil {
		return err
	}
	r := exchange.Request{Kind: exchange.Get, Target: path, Version: version, Offset: offset}
	return fault("read", name, c.readRange(ctx, r, p))
}

// readRange fills p, by several calls at once if it is large.
func (c *Client) readRange(ctx context.Context, r exchange.Request, p []byte) error {
	if len(p) <= exchange.MaxLength {
		r.Length = len(p)
		call, err := c.get(ctx, r, p)
		if err == nil {
			err = checkLength(call)
		}
		return err
	}
	reads := requests{client: c, ctx: ctx}
	defer reads.close()
	for done := 0; done < len(p); done += r.Length {
		r.Length = min(len(p)-done, exchange.MaxLength)
		reads.add(exchange.Call{Request: r, Into: p[done : done+r.Length]}, nil)
		reads.send() // each to the connection with the least to do
		r.Offset += int64(r.Length)
	}
	for len(reads.queue) > 0 {
		read, err := reads.next()
		if err == nil {
			err = checkLength(&read.Call)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// The number of blocks that ReadBlocks and WriteBlocks have under way. From a near server, more only take memory.
const (
	nearBlocks = 2
	farBlocks  = 4
)

func (c *core) blocksAhead() int {
	if c.isNear() {
		return nearBlocks
	}
	return farBlocks
}

// ReadBlocks reads consecutive blocks of a version of a file, in order. It verifies the sum of each block, and calls
// yield with the block's number, bytes and sum. If yield fails, ReadBlocks returns that error unchanged.
//
// yield must not retain data. ReadBlocks requests up to 4 blocks ahead, which it holds in memory while yield runs.
// Several concurrent calls fully use the connections.
func (c *Client) ReadBlocks(
	ctx context.Context, name string, version fileservice.Version, first, count int64,
	yield func(block int64, data []byte, sum fileservice.Sum) error,
) error {
	path, err := c.checkName("read", name)
	if err != nil {
		return err
	}
	if err = version.CheckBlocks(first, count); err == nil {
		err = c.readBlocks(ctx, path, version, first, first+count, yield)
	}
	return fault("read", name, err)
}

func (c *Client) readBlocks(
	ctx context.Context, path string, version fileservice.Version, block, end int64,
	yield func(int64, []byte, fileservice.Sum) error,
) error {
	reads := requests{client: c, ctx: ctx}
	defer reads.close()
	for next := block; block < end; block++ {
		for ; next < min(end, block+int64(c.blocksAhead())); next++ {
			offset := next * fileservice.BlockSize
			buffer := bytebuf.New()
			into := buffer.Extend(int(min(fileservice.BlockSize, version.Size-offset)))
			r := exchange.Request{Kind: exchange.Get, Target: path, Version: version, Offset: offset}
			r.Length, r.Summed = len(into), true
			reads.add(exchange.Call{Request: r, Into: into}, buffer)
		}
		read, err := reads.next()
		if err != nil {
			return err
		}
		err = c.yieldBlock(read, block, yield)
		read.free()
		if err != nil {
			return err
		}
	}
	return nil
}

func (c *Client) yieldBlock(
	read *request, block int64, yield func(int64, []byte, fileservice.Sum) error,
) error {
	if err := checkLength(&read.Call); err != nil {
		return err
	}
	sum := fileservice.SumBlock(read.Into, block)
	if string(read.Head) != string(sum[:]) {
		return fmt.Errorf("%w: block %d does not have its sum", fileservice.ErrIntegrity, block)
	}
	if err := yield(block, read.Into, sum); err != nil {
		return yieldError{err}
	}
	return nil
}
