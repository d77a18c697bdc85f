package bytebuf

import "sync"

// class holds the Buffers of a Pool that have one size.
type class struct {
	size int
	lent chan struct{} // a token for each lent Buffer

	mu    sync.Mutex
	loans []*loan // made on demand
	idle  []int   // slots that are not lent, the last used at the end
}

// loan is a Buffer of a Pool with its memory.
type loan struct {
	class  *class
	slot   int // index in the loans of the class
	memory []byte
	buffer Buffer
	lent   bool // guarded by the mutex of the class
}

// lend returns an idle Buffer, or a new one. The caller has sent a token to lent.
func (c *class) lend() *Buffer {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.idle) == 0 {
		made := &loan{class: c, slot: len(c.loans), memory: make([]byte, c.size)}
		c.loans, c.idle = append(c.loans, made), append(c.idle, made.slot)
	}
	last := len(c.idle) - 1
	l := c.loans[c.idle[last]]
	c.idle = c.idle[:last]
	if debug {
		// The next borrower must not share the Buffer or its memory with the last one.
		l = &loan{class: c, slot: l.slot, memory: make([]byte, c.size)}
		c.loans[l.slot] = l
	}
	l.lent = true
	l.buffer = Buffer{buf: l.memory[:0], memory: lent, loan: l}
	return &l.buffer
}

// end takes the Buffer back. It stores the slot instead of the address, so that a Buffer does not escape in Free, and
// a Buffer from New can stay on the stack.
func (l *loan) end() {
	c := l.class
	c.mu.Lock()
	defer c.mu.Unlock()
	if !l.lent {
		if debug {
			panic("bytebuf: Buffer of a Pool freed twice")
		}
		return
	}
	poison(l.memory)
	l.lent = false
	c.idle = append(c.idle, l.slot)
	<-c.lent
}
