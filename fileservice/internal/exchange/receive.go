package exchange

import (
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"culvert/fileservice/internal/traffic"
	"culvert/fileservice/internal/wire"
)

// read receives answers until the connection ends.
func (c *Conn) read() {
	defer close(c.done)
	var err error
	for err == nil {
		err = c.readAnswer()
	}
	if !errors.Is(err, ErrMessage) && !errors.Is(err, ErrEnded) {
		err = fmt.Errorf("%w: %w", ErrEnded, err)
	}
	c.end(err)
	traffic.Cut(c.conn)
	c.mu.Lock()
	for c.sending {
		c.changed.Wait() // callers may change their data after Done
	}
	calls := c.calls
	c.calls, c.asked = nil, 0
	err = c.err
	c.mu.Unlock()
	for _, call := range calls {
		if !call.left {
			call.Done(err)
		}
	}
}

func (c *Conn) readAnswer() error {
	var b [headerSize]byte
	if err := c.readFull(b[:]); err != nil {
		return err
	}
	var h header
	h.parse(b[:])
	if err := h.checkAnswer(); err != nil {
		return err
	}
	if h.kind == bye {
		return ErrBye
	}
	c.mu.Lock()
	if h.kind == alive {
		c.hear(&h)
		c.mu.Unlock()
		return nil
	}
	c.deaf = deafness{} // what is on the way back may be late
	call := c.calls[h.id]
	c.mu.Unlock()
	if call == nil || h.data > call.Length-call.N {
		return fmt.Errorf("%w: more data than requested", ErrMessage)
	}
	if err := c.fill(call, &h); err != nil {
		return noEOF(err)
	}
	if h.kind == more {
		return nil
	}
	c.mu.Lock()
	for !call.sent && c.err == nil {
		c.changed.Wait() // the caller may change the data after Done
	}
	if !call.sent {
		err := c.err
		c.mu.Unlock()
		return err // ends all calls
	}
	delete(c.calls, h.id)
	c.asked -= call.Cost()
	if len(call.Data) > 0 {
		c.puts--
	}
	left := call.left
	c.mu.Unlock()
	if left {
		return nil
	}
	if h.kind == failed {
		call.Done(errorOf(call.Head))
	} else {
		call.Done(nil)
	}
	return nil
}

// errorOf decodes the error of a FAILED.
func errorOf(head []byte) error {
	remote, err := wire.UnmarshalError(head)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrMessage, err)
	}
	return remote
}

// fill receives the head and the data of an answer.
func (c *Conn) fill(call *Call, h *header) error {
	if h.head > 0 {
		call.Head = make([]byte, h.head)
		if err := c.readFull(call.Head); err != nil {
			return err
		}
	}
	var scratch []byte
	for n := h.data; n > 0; {
		c.mu.Lock()
		call.filling = !call.left
		c.mu.Unlock()
		var p []byte
		if call.filling {
			p = call.Into[call.N : call.N+n]
		} else {
			if scratch == nil {
				scratch = make([]byte, min(n, MaxInline))
			}
			p = scratch[:min(n, len(scratch))]
		}
		got, err := io.ReadFull(c.reader, p)
		c.mu.Lock()
		call.filling = false
		c.changed.Broadcast() // Leave may wait
		c.mu.Unlock()
		call.N += got
		n -= got
		if err = c.resume(err); err != nil {
			return err
		}
	}
	return nil
}

// readFull fills p.
func (c *Conn) readFull(p []byte) error {
	for {
		n, err := io.ReadFull(c.reader, p)
		p = p[n:]
		if len(p) == 0 {
			return nil
		}
		if err = c.resume(err); err != nil {
			return err
		}
	}
}

// resume continues after a deadline that Leave has set.
func (c *Conn) resume(err error) error {
	if !errors.Is(err, os.ErrDeadlineExceeded) {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err != nil {
		return c.err
	}
	return c.conn.SetReadDeadline(time.Time{})
}
