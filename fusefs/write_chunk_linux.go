package fusefs

import (
	"slices"
	"sync"
	"syscall"
)

const (
	// chunkSize is how much is collected before it is given to the file system.
	chunkSize = maxRequest

	// leastChunks is enough for a writer to fill one while others are on their way.
	leastChunks = 4
)

// chunk is a part of a file that was written and that the file system does not have yet.
type chunk struct {
	offset int64
	data   []byte
	done   chan struct{} // closed when the file system has it, or has refused it
}

func (c *chunk) end() int64 { return c.offset + int64(len(c.data)) }

func (c *chunk) overlaps(other *chunk) bool { return c.offset < other.end() && other.offset < c.end() }

// chunkPool has the chunks of all files of a mount.
type chunkPool struct {
	free chan *chunk

	mu      sync.Mutex
	filling []*draft // that may hold a chunk which is not full, oldest first
}

func newChunkPool(memory int64) *chunkPool {
	p := &chunkPool{free: make(chan *chunk, max(leastChunks, memory/chunkSize))}
	for range cap(p.free) {
		p.free <- &chunk{}
	}
	return p
}

// get waits for a chunk. If none is free, one that another file is still filling is sent as it is.
func (p *chunkPool) get(d *deadline) (*chunk, syscall.Errno) {
	select {
	case c := <-p.free:
		return c, 0
	default:
	}
	for oldest := p.oldest(); oldest != nil && !oldest.send(); oldest = p.oldest() {
	}
	return wait(d, p.free)
}

// oldest takes the draft that has been filling its chunk for longest from the list.
func (p *chunkPool) oldest() *draft {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.filling) == 0 {
		return nil
	}
	oldest := p.filling[0]
	p.filling = slices.Delete(p.filling, 0, 1)
	return oldest
}

// put takes a chunk back.
func (p *chunkPool) put(c *chunk) {
	c.data = c.data[:0]
	p.free <- c
}

// note keeps in mind that a draft may hold a chunk that is not full.
func (p *chunkPool) note(d *draft) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !slices.Contains(p.filling, d) {
		p.filling = append(p.filling, d)
	}
}

// forget takes a draft from the list that holds no chunk any more.
func (p *chunkPool) forget(d *draft) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.filling = slices.DeleteFunc(p.filling, func(other *draft) bool { return other == d })
}
