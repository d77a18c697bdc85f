package fusefs

import (
	"context"
	"syscall"
	"time"

	"github.com/hanwen/go-fuse/v2/fuse"
)

// pending is a read of a program. If it only needs a few bytes from the file system, no goroutine waits for it: the one
// that receives the bytes also sends them to the kernel, unless a timer has answered before.
type pending struct {
	fuse.ReadResult // nil: go-fuse only passes a pending read on
	handle          *handle
	length          int
	offset          int64

	device *device
	number uint64   // of the request
	blocks []*block // which hold it; nil if it must be read

	// Guarded by device.mu:
	limit  limit
	timer  *time.Timer        // nil if a goroutine waits
	cancel context.CancelFunc // ends its wait
}

// begin starts a read without waiting for it.
func (p *pending) begin(d *device, number uint64) {
	p.device, p.number = d, number
	h, m := p.handle, d.m
	if !m.config.ReadWrite {
		if errno := h.reader.plan(p); errno != 0 || p.length == 0 {
			d.answer(number, orStale(errno), nil)
			return
		}
		if p.blocks == nil && p.length <= smallSize {
			if buffer := m.buffers.takeSmall(); buffer != nil {
				p.start(buffer)
				return
			}
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	p.cancel = cancel
	d.add(number, p)
	go func() {
		defer cancel()
		var got *result
		var errno syscall.Errno
		_, err := guarded(m, func() (none struct{}, _ error) {
			got, errno = h.read(ctx, p)
			return
		})
		if err != nil {
			errno = m.errno(err)
		}
		if d.take(number) {
			p.answer(errno, got)
		}
	}()
}

// start reads into a small buffer.
func (p *pending) start(buffer []byte) {
	d := p.device
	own := newBlock(buffer, p.offset, p.length)
	p.blocks = []*block{own}
	p.limit = d.m.limit()
	d.add(p.number, p)
	d.mu.Lock()
	p.timer = time.AfterFunc(p.limit.part(), p.expire)
	d.mu.Unlock()
	p.handle.reader.fill(own, func(err error) {
		switch {
		case !d.take(p.number):
		case err != nil:
			d.m.buffers.giveUp(p.blocks)
			p.answer(d.m.errno(err), nil)
		default:
			p.answer(0, d.m.buffers.lend(p.blocks, p.offset, p.length))
		}
	})
}

// expire waits on, or answers that the time is up.
func (p *pending) expire() {
	d := p.device
	d.mu.Lock()
	left := p.limit.next()
	if left > 0 {
		p.timer.Reset(left)
	}
	d.mu.Unlock()
	if left == 0 && d.take(p.number) {
		d.m.buffers.giveUp(p.blocks)
		p.answer(p.limit.errno(), nil)
	}
}

// interrupt shortens the wait. The caller holds device.mu.
func (p *pending) interrupt() {
	if p.timer == nil {
		p.cancel()
	} else if !p.limit.interrupted {
		p.timer.Reset(p.limit.interrupt())
	}
}

// answer sends the answer of a read that was taken from the device.
func (p *pending) answer(errno syscall.Errno, got *result) {
	if p.timer != nil {
		p.timer.Stop()
	}
	p.device.answer(p.number, orStale(errno), got)
	p.device.running.Done()
}

// orStale replaces ENOENT: the file was removed, and a program that has it open does not expect that error.
func orStale(errno syscall.Errno) syscall.Errno {
	if errno == syscall.ENOENT {
		return syscall.ESTALE
	}
	return errno
}

// read returns the result of a read.
func (h *handle) read(ctx context.Context, p *pending) (*result, syscall.Errno) {
	if !h.node.m.config.ReadWrite {
		return h.reader.wait(h.node.m.deadline(ctx), p)
	}
	for {
		before := h.node.writeState()
		if result, errno, is := h.node.readDraft(ctx, p.length, p.offset); is {
			return result, errno
		}
		result, errno := h.readLatest(ctx, p.length, p.offset)
		if errno != syscall.ESTALE || h.node.writeState() == before {
			return result, errno
		}
		// A program here began, or ended, to write it in place.
	}
}
