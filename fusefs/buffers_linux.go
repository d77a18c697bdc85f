package fusefs

import (
	"container/list"
	"sync"
	"syscall"
)

const (
	blockSize = 1 << 20 // of what is read ahead, and the largest request
	smallSize = 64 << 10

	// smallShare is the part of the memory that is for small requests, which never wait for large ones.
	smallShare = 8
)

// buffers are the memory of all reads of a mount: a fixed number of each size. A read holds one from before it asks the
// file system until the kernel has taken the bytes. One that does not come back holds it as long; so there are never
// more of them than buffers.
type buffers struct {
	mu      sync.Mutex // guards all readers too, and their blocks
	small   shelf
	large   shelf
	idle    list.List     // of *block, the one that has waited longest first: read, and give way to requests
	streams int           // readers that have blocks
	waiting int           // requests that wait for changed
	changed chan struct{} // closed when a buffer is put back, or a block becomes idle
}

// shelf has the buffers of one size.
type shelf struct {
	size  int
	count int // in all
	left  int // not made yet
	free  [][]byte
}

func newBuffers(memory int64) *buffers {
	small := int(memory / smallShare / smallSize)
	large := int((memory - memory/smallShare) / blockSize)
	return &buffers{
		small:   shelf{size: smallSize, count: small, left: small},
		large:   shelf{size: blockSize, count: large, left: large},
		changed: make(chan struct{}),
	}
}

func (s *shelf) take() []byte {
	if last := len(s.free) - 1; last >= 0 {
		buffer := s.free[last]
		s.free = s.free[:last]
		return buffer
	}
	if s.left == 0 {
		return nil
	}
	s.left--
	return make([]byte, s.size)
}

// take gives a buffer with room for length bytes. If there is none it takes the one of the block that has waited
// longest, and else waits.
func (b *buffers) take(d *deadline, length int) ([]byte, syscall.Errno) {
	for {
		b.mu.Lock()
		if length <= smallSize {
			if buffer := b.small.take(); buffer != nil {
				b.mu.Unlock()
				return buffer, 0
			}
		}
		buffer := b.large.take()
		if oldest := b.idle.Front(); buffer == nil && oldest != nil {
			b.drop(oldest.Value.(*block))
			buffer = b.large.take()
		}
		if buffer != nil {
			b.mu.Unlock()
			return buffer, 0
		}
		b.waiting++
		changed := b.changed
		b.mu.Unlock()
		_, errno := wait(d, changed)
		b.mu.Lock()
		b.waiting--
		b.mu.Unlock()
		if errno != 0 {
			return nil, errno
		}
	}
}

// put takes a buffer back.
func (b *buffers) put(buffer []byte) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.putLocked(buffer)
}

func (b *buffers) putLocked(buffer []byte) {
	if cap(buffer) == smallSize {
		b.small.free = append(b.small.free, buffer)
	} else {
		b.large.free = append(b.large.free, buffer)
	}
	b.wake()
}

func (b *buffers) wake() {
	if b.waiting > 0 {
		close(b.changed)
		b.changed = make(chan struct{})
	}
}
