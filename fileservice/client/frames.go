package client

import (
	"sync"

	"google.golang.org/grpc/mem"
)

// frameSize is the longest frame that gRPC takes, and smallFrame what takes no buffer of that size.
const (
	frameSize  = 16 << 10
	smallFrame = 4 << 10
)

// framePool keeps the buffers that gRPC reads frames into, for one end. The pool of gRPC gives its buffers up at every
// second collection, so that a transfer allocates the windows of its connections again and again; and it clears them.
//
// There are never more buffers than the windows have room for, and frames that are not small fill a quarter of theirs
// at least.
type framePool struct {
	most int // that are kept

	mu   sync.Mutex
	free []*[]byte // the last one was used last
}

// newFramePool makes a pool that keeps the frames of so many bytes.
func newFramePool(size int) *framePool { return &framePool{most: size / frameSize} }

// Get gives a buffer, in which there may be anything.
func (p *framePool) Get(size int) *[]byte {
	if size <= smallFrame || size > frameSize {
		return mem.DefaultBufferPool().Get(size)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if last := len(p.free) - 1; last >= 0 {
		buffer := p.free[last]
		p.free[last] = nil
		p.free = p.free[:last]
		*buffer = (*buffer)[:size]
		return buffer
	}
	buffer := make([]byte, size, frameSize)
	return &buffer
}

// Put takes a buffer back.
func (p *framePool) Put(buffer *[]byte) {
	if cap(*buffer) != frameSize {
		mem.DefaultBufferPool().Put(buffer)
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.free) < p.most {
		p.free = append(p.free, buffer)
	}
}
