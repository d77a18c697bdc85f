package fusefs

import (
	"container/list"
	"syscall"
)

// block is a part of a file that is read ahead, and then ends at a multiple of blockSize or at the end of the file; or
// what one request reads for itself. buffers.mu guards its fields, except that its bytes belong to the fetch until done
// is closed, and do not change afterwards.
type block struct {
	reader     *reader // nil if it is of a draft
	start, end int64
	buffer     []byte
	done       chan struct{} // closed when it was read, or err is set
	err        error
	ready      bool  // done is closed
	dropped    bool  // it is not in the reader
	users      int   // requests that wait for it or return its bytes
	served     int64 // bytes returned so far

	idle *list.Element // in buffers.idle, or nil
}

// newBlock returns a block for one request.
func newBlock(buffer []byte, offset int64, length int) *block {
	return &block{
		start: offset, end: offset + int64(length), buffer: buffer, done: make(chan struct{}), dropped: true, users: 1,
	}
}

// drop removes a block from its reader, and frees its buffer once nothing uses it. It needs b.mu.
func (b *buffers) drop(k *block) {
	if !k.dropped {
		k.dropped = true
		b.setIdle(k, false)
		delete(k.reader.blocks, k.start/blockSize)
		if len(k.reader.blocks) == 0 {
			b.streams--
		}
	}
	if k.ready && k.users == 0 && k.buffer != nil {
		b.putLocked(k.buffer)
		k.buffer = nil
	}
}

// setIdle sets whether requests may take the buffer of a block. It needs b.mu.
func (b *buffers) setIdle(k *block, idle bool) {
	if k.idle != nil {
		b.idle.Remove(k.idle)
		k.idle = nil
	}
	if idle {
		k.idle = b.idle.PushBack(k)
		b.wake()
	}
}

// landed notes that a block was read, or that this failed.
func (b *buffers) landed(k *block, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	k.ready, k.err = true, err
	close(k.done)
	if k.reader != nil {
		k.reader.fetches.Done()
	}
	switch {
	case k.dropped, err != nil:
		// Requests that wait for it read for themselves, and return the error if it persists.
		b.drop(k)
	case k.users == 0:
		b.setIdle(k, true)
	}
}

// use pins the blocks that hold a range, and returns nil unless they hold all of it. It needs b.mu.
func (r *reader) use(start, end int64) []*block {
	var used []*block
	for at := start; at < end; {
		k := r.blocks[at/blockSize]
		if k == nil || at < k.start || at >= k.end {
			return nil
		}
		used = append(used, k)
		at = k.end
	}
	for _, k := range used {
		k.users++
		r.m.buffers.setIdle(k, false)
	}
	return used
}

// unuse unpins blocks. A block that was returned as a whole is not needed again: the kernel has its pages.
func (b *buffers) unuse(used []*block) {
	for _, k := range used {
		k.users--
		switch {
		case k.dropped, k.served >= k.end-k.start:
			b.drop(k)
		case k.users == 0 && k.ready:
			b.setIdle(k, true)
		}
	}
}

// readAhead starts reads behind a run, for as many bytes as the run has, but no more than arrive soon. If even one
// block does not arrive soon, the kernel's own read-ahead is enough. It needs b.mu.
func (r *reader) readAhead(sequence run) {
	b := r.m.buffers
	soon := r.m.link.share(b.streams)
	if soon < blockSize {
		return
	}
	// A quarter of the memory is kept for other requests.
	fair := int64(b.large.count*3/4/max(b.streams, 1)) * blockSize
	ahead := min(sequence.end-sequence.start, maxAhead, soon, max(fair, blockSize))
	until := min(sequence.end+ahead, r.size)
	for start := sequence.end; start < until; {
		end := min((start/blockSize+1)*blockSize, r.size)
		if r.blocks[start/blockSize] == nil {
			buffer := b.takeLarge()
			if buffer == nil {
				return
			}
			r.begin(&block{reader: r, start: start, end: end, buffer: buffer, done: make(chan struct{})})
		}
		start = end
	}
}

// begin reads one block ahead in another goroutine.
func (r *reader) begin(k *block) {
	b := r.m.buffers
	if len(r.blocks) == 0 {
		b.streams++
	}
	r.blocks[k.start/blockSize] = k
	r.fetches.Add(1)
	into := k.buffer[:k.end-k.start]
	go func() { b.landed(k, r.fetch(into, k.start)) }()
}

// result is an answer whose bytes go to the kernel without a copy.
type result struct {
	buffers *buffers
	blocks  []*block
	slices  [][]byte
}

func (r *result) free() {
	if r.buffers != nil {
		r.buffers.giveUp(r.blocks)
	}
}

// await returns a range when the blocks that hold it were read.
func (m *mount) await(d *deadline, used []*block, offset int64, length int) (*result, syscall.Errno) {
	for _, k := range used {
		_, errno := wait(d, k.done)
		if errno == 0 {
			errno = m.errno(k.err)
		}
		if errno != 0 {
			m.buffers.giveUp(used)
			return nil, errno
		}
	}
	return m.buffers.lend(used, offset, length), 0
}

// lend returns a range of blocks that were read.
func (b *buffers) lend(used []*block, offset int64, length int) *result {
	b.mu.Lock()
	defer b.mu.Unlock()
	answer := &result{buffers: b, blocks: used, slices: make([][]byte, 0, len(used))}
	for _, k := range used {
		part := k.buffer[max(offset, k.start)-k.start : min(offset+int64(length), k.end)-k.start]
		k.served += int64(len(part))
		answer.slices = append(answer.slices, part)
	}
	return answer
}

// giveUp unpins blocks.
func (b *buffers) giveUp(used []*block) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.unuse(used)
}
