package exchange

import (
	"errors"
	"time"

	"culvert/fileservice"
)

// answers gathers the answers to small requests, and writes them together.
type answers struct {
	session *Session
	memory  Memory // nil if there are none
	used    int
}

// get appends the answer to a small request.
func (a *answers) get(id uint32, r *Request, start time.Time) error {
	content, err := a.session.handler.Get(r)
	if err != nil {
		return a.fail(id, r, start, err)
	}
	head := len(content.Head)
	if r.Summed {
		head += fileservice.SumSize
	}
	p, err := a.room(headerSize + head + content.Length)
	if err != nil {
		err = errors.Join(err, content.close())
		a.session.handler.Ended(r, start, 0, err)
		return err
	}
	data := p[headerSize+head:]
	if content.File != nil {
		var done bool
		if done, err = content.File.ReadCached(data, content.Offset); !done && err == nil {
			if err = a.flush(); err == nil { // before a wait
				a.getSlowly(id, *r, start, content, p, data)
				return nil
			}
		}
	}
	if err = errors.Join(err, content.close()); err != nil {
		return a.fail(id, r, start, err)
	}
	finish(p, data, id, r, &content)
	a.used += len(p)
	a.session.handler.Ended(r, start, len(data), nil)
	return nil
}

// finish completes the message p, which ends with the data.
func finish(p, data []byte, id uint32, r *Request, content *Content) {
	h := header{id: id, kind: end, head: len(p) - headerSize - len(data), data: len(data)}
	p = h.append(p[:0])
	if r.Summed {
		sum := fileservice.SumBlock(data, r.Offset/fileservice.BlockSize)
		p = append(p, sum[:]...)
	}
	_ = append(p, content.Head...)
}

// getSlowly answers a small request in a goroutine of its own, because its data must come from the disk. It takes over
// the memory, and so the number of such goroutines is bounded by the memory that the handler lends.
func (a *answers) getSlowly(id uint32, r Request, start time.Time, content Content, p, data []byte) {
	s, memory := a.session, a.memory
	a.memory = nil
	s.worker.Go(func() {
		defer memory.Free()
		err := errors.Join(content.File.ReadAt(data, content.Offset), content.close())
		if err != nil {
			data, p = nil, endOf(id, nil, 0, err)
		} else {
			finish(p, data, id, &r, &content)
		}
		s.handler.Ended(&r, start, len(data), err)
		_ = s.write(p, nil) // if it fails, reading fails
	})
}

// fail appends a FAILED.
func (a *answers) fail(id uint32, r *Request, start time.Time, err error) error {
	a.session.handler.Ended(r, start, 0, err)
	message := endOf(id, nil, 0, err)
	p, err := a.room(len(message))
	if err == nil {
		a.used += copy(p, message)
	}
	return err
}

// room returns memory for n more bytes, at most MaxPart.
func (a *answers) room(n int) ([]byte, error) {
	if a.memory != nil && len(a.memory.Bytes())-a.used < n {
		if err := a.flush(); err != nil {
			return nil, err
		}
	}
	if a.memory == nil {
		var err error
		if a.memory, err = a.session.handler.Answers(); err != nil {
			return nil, err
		}
	}
	return a.memory.Bytes()[a.used : a.used+n : a.used+n], nil
}

// before writes what was gathered, and returns the memory, if reading n bytes may have to wait for the client.
func (a *answers) before(n int) error {
	if a.session.reader.Buffered() >= n {
		return nil
	}
	err := a.flush()
	a.free()
	return err
}

// flush writes what was gathered.
func (a *answers) flush() error {
	if a.used == 0 {
		return nil
	}
	err := a.session.write(a.memory.Bytes()[:a.used], nil)
	a.used = 0
	return err
}

// free returns the memory.
func (a *answers) free() {
	if a.memory != nil {
		a.memory.Free()
		a.memory, a.used = nil, 0
	}
}
