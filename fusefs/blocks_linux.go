package fusefs

import "container/list"

// block is a part of a file that is read ahead. It ends at a multiple of blockSize, or at the end of the file.
// buffers.mu guards its fields, except that its bytes belong to the fetch until done is closed.
type block struct {
	reader     *reader
	start, end int64
	buffer     []byte
	done       chan struct{} // closed when it was read
	ready      bool          // done is closed
	failed     bool
	dropped    bool  // it is no longer in the reader
	users      int   // requests that wait for it or return its bytes
	served     int64 // bytes returned so far

	idle *list.Element // in buffers.idle, or nil
}

// drop removes a block from its reader, and frees its buffer once nothing uses it. All methods below need b.mu.
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

// setIdle sets whether requests may take the buffer of a block.
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

// use pins the blocks that hold a range, and returns nil unless they hold all of it.
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
// block does not arrive soon, the kernel's own read-ahead is enough.
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
		if k := r.blocks[start/blockSize]; k == nil {
			buffer := b.large.take()
			if buffer == nil {
				return
			}
			r.begin(start, end, buffer)
		}
		start = end
	}
}

// begin reads one block in another goroutine.
func (r *reader) begin(start, end int64, buffer []byte) {
	b := r.m.buffers
	k := &block{reader: r, start: start, end: end, buffer: buffer, done: make(chan struct{})}
	if len(r.blocks) == 0 {
		b.streams++
	}
	r.blocks[start/blockSize] = k
	r.fetches++
	r.m.workers.start(func() {
		err := r.fetch(buffer[:end-start], start)
		b.mu.Lock()
		defer b.mu.Unlock()
		k.ready, k.failed = true, err != nil
		close(k.done)
		r.fetched()
		switch {
		case k.failed, k.dropped:
			// Requests that wait for it read for themselves, and return the error if it persists.
			b.drop(k)
		case k.users == 0:
			b.setIdle(k, true)
		}
	})
}

// dropBehind drops blocks that a run has passed without reading all of them.
func (r *reader) dropBehind(sequence run) {
	for _, k := range r.blocks {
		if k.end <= sequence.end-4*maxRequest && k.users == 0 && k.ready {
			r.m.buffers.drop(k)
		}
	}
}
