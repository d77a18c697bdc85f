package client

import (
	"sync"

	"google.golang.org/grpc/mem"
)

// frameSize is gRPC's longest frame. Buffers of up to smallFrame bytes come from gRPC's own pool.
const (
	frameSize  = 16 << 10
	smallFrame = 4 << 10
)

// framePool keeps the buffers into which one end's gRPC reads frames. gRPC's own pool releases its buffers at every
// second garbage collection, so that a transfer would allocate the windows of its connections again and again; it also
// clears them.
//
// There are never more buffers than the windows allow, and frames above smallFrame fill at least a quarter of their
// buffer.
type framePool struct {
	maxFree int

	mu   sync.Mutex
	free []*[]byte // the last one was used last
}

// Get returns a buffer with arbitrary content.
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

// Put returns a buffer to the pool.
func (p *framePool) Put(buffer *[]byte) {
	if cap(*buffer) != frameSize {
		mem.DefaultBufferPool().Put(buffer)
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.free) < p.maxFree {
		p.free = append(p.free, buffer)
	}
}
