package fusefs

import (
	"container/list"
	"sync"
	"syscall"
)

const (
	blockSize = 1 << 20 // the unit of read-ahead, and the largest request
	smallSize = 64 << 10

	// smallShare is the share of the memory for small requests, which never wait for large ones.
	smallShare = 8
)

// buffers is the memory for the reads, or the writes, of a mount: a fixed number of buffers of each size. A read holds
// one from before it asks the file system until the kernel has the bytes. A call that does not return keeps its buffer,
// so the number of such calls is bounded too.
type buffers struct {
	mu      sync.Mutex // guards all readers too, and their blocks
	small   shelf
	large   shelf
	idle    list.List     // of *block: unused ones whose buffers requests may take, oldest first
	streams int           // readers that have blocks
	waiting int           // requests that wait on changed
	changed chan struct{} // closed when a buffer is freed, or a block becomes idle
}

// shelf holds the buffers of one size.
type shelf struct {
	size  int
	count int // in total
	left  int // not allocated yet
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

// take returns a buffer of at least length bytes. If none is free, it waits.
func (b *buffers) take(d *deadline, length int) ([]byte, syscall.Errno) {
	for {
		b.mu.Lock()
		if length <= smallSize {
			if buffer := b.small.take(); buffer != nil {
				b.mu.Unlock()
				return buffer, 0
			}
		}
		if buffer := b.takeLarge(); buffer != nil {
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

// takeLarge returns a large buffer, if need be that of the oldest idle block, or nil. It needs b.mu.
func (b *buffers) takeLarge() []byte {
	buffer := b.large.take()
	if oldest := b.idle.Front(); buffer == nil && oldest != nil {
		b.drop(oldest.Value.(*block))
		buffer = b.large.take()
	}
	return buffer
}

// takeSmall returns a small buffer, or nil if none is free.
func (b *buffers) takeSmall() []byte {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.small.take()
}

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
