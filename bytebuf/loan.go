package bytebuf

import "sync"

// class is the part of a Pool that has one size.
type class struct {
	size int
	lent chan struct{} // a token for each that is lent

	mu    sync.Mutex
	loans []*loan // all that were ever needed
	idle  []int   // those that are not lent, the last used at the end
}

// loan is a Buffer of a Pool with its memory.
type loan struct {
	class  *class
	slot   int // among the loans of the class
	memory []byte
	buffer Buffer
	lent   bool // guarded by the mutex of the class
}

// lend gives an idle Buffer, or makes one. There is room for it.
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
		// Whoever has freed the Buffer holds another one, and other memory, than whoever gets it now.
		l = &loan{class: c, slot: l.slot, memory: make([]byte, c.size)}
		c.loans[l.slot] = l
	}
	l.lent = true
	l.buffer = Buffer{buf: l.memory[:0], memory: lent, loan: l}
	return &l.buffer
}

// end takes the Buffer back. Its slot and not its address goes on the list, so that to free a Buffer does not count as
// keeping it, and one of New can be on the stack.
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
