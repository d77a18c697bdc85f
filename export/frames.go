package export

import (
	"container/list"
	"errors"
	"io/fs"
	"math/bits"
	"sync"

	"culvert/internal/compress"
)

// frames decodes frames and keeps the last ones. It counts all its memory: texts, compressed frames being decoded, and
// spare buffers.
type frames struct {
	decoder *compress.FrameDecoder
	limit   int64

	mu     sync.Mutex
	freed  *sync.Cond // memory may be available
	used   int64      // of limit
	byKey  map[frameKey]*keptFrame
	unused list.List          // of *keptFrame without readers, the next to be dropped at the front
	spare  map[int64][][]byte // by capacity
}

type frameKey struct {
	file   any
	offset int64
}

// keptFrame is a frame that is decoded or being decoded.
type keptFrame struct {
	key     frameKey
	buffer  []byte
	element *list.Element // in unused
	readers int
	passed  int // bytes that were read one after the other

	ready chan struct{} // closed when the following are set
	text  []byte
	err   error
}

func newFrames(limit int64, decoder *compress.FrameDecoder) *frames {
	c := &frames{decoder: decoder, limit: limit, byKey: map[frameKey]*keptFrame{}, spare: map[int64][][]byte{}}
	c.freed = sync.NewCond(&c.mu)
	return c
}

// fits reports whether a frame can be decoded while another one is.
func (c *frames) fits(frame compress.Frame) bool {
	return bufferSize(compress.FrameBuffer(frame.TextSize))+bufferSize(frame.Size) <= c.limit/2
}

// bufferSize rounds up, by a quarter at most, so that buffers can be reused for other frames.
func bufferSize(n int64) int64 {
	const least = 4 << 10
	step := int64(1) << max(0, bits.Len64(uint64(max(n, least)-1))-3)
	return (max(n, least) + step - 1) / step * step
}

// read copies text of a frame, from an offset in it on.
func (c *frames) read(file *ReaderAt, frame compress.Frame, p []byte, skip int64) (int, error) {
	for {
		n, mine, err := c.tryRead(file, frame, p, skip)
		if mine || !errors.Is(err, fs.ErrClosed) {
			return n, err
		}
		// The file of the reader that decoded the frame was closed, but this file is open.
	}
}

// tryRead is read, and reports whether it decoded the frame itself.
func (c *frames) tryRead(file *ReaderAt, frame compress.Frame, p []byte, skip int64) (n int, mine bool, err error) {
	kept, packed := c.hold(frameKey{file.key, frame.Offset}, frame)
	defer func() { c.release(kept, skip, n) }()
	mine = packed != nil
	if mine {
		c.decode(kept, packed, file, frame)
	}
	<-kept.ready
	if kept.err != nil {
		return 0, mine, kept.err
	}
	return copy(p, kept.text[skip:]), mine, nil
}

// hold returns a frame that is kept until it is released. If it also returns a buffer for the compressed frame, the
// caller must decode the frame; otherwise another reader does. A reader that waits for memory holds no frame, so
// readers that hold frames can finish.
func (c *frames) hold(key frameKey, frame compress.Frame) (kept *keptFrame, packed []byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for {
		if kept := c.byKey[key]; kept != nil {
			if kept.readers++; kept.element != nil {
				c.unused.Remove(kept.element)
				kept.element = nil
			}
			return kept, nil
		}
		buffer := c.take(compress.FrameBuffer(frame.TextSize))
		packed := c.take(frame.Size)
		if buffer != nil && packed != nil {
			kept := &keptFrame{key: key, buffer: buffer, readers: 1, ready: make(chan struct{})}
			c.byKey[key] = kept
			return kept, packed
		}
		c.giveBack(buffer)
		c.giveBack(packed)
		c.freed.Wait()
	}
}

// errPanic is the error of readers that wait for a frame while another reader, which decodes it, panics.
var errPanic = errors.New("export: panic while a frame was decoded")

// decode reads and decodes a frame. If it fails, only the readers that wait already get the error.
func (c *frames) decode(kept *keptFrame, packed []byte, file *ReaderAt, frame compress.Frame) {
	kept.err = errPanic
	defer func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.giveBack(packed)
		c.freed.Broadcast()
		if kept.err != nil {
			delete(c.byKey, kept.key)
		}
		close(kept.ready)
	}()
	err := file.withFrame(packed[:frame.Size], frame, func(data []byte) {
		kept.text, kept.err = c.decoder.Decode(kept.buffer, data, frame.TextSize)
	})
	if err != nil {
		kept.err = err
	}
}

// release ends what hold has begun, after n bytes at an offset in the frame were read. A frame that was read from its
// beginning to its end is the first to be dropped: a reader that goes on does not need it.
func (c *frames) release(kept *keptFrame, skip int64, n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if skip == int64(kept.passed) {
		kept.passed += n
	}
	if kept.readers--; kept.readers > 0 {
		return
	}
	switch {
	case kept.err != nil:
		c.giveBack(kept.buffer)
	case kept.passed == len(kept.text):
		kept.element = c.unused.PushFront(kept)
	default:
		kept.element = c.unused.PushBack(kept)
	}
	c.freed.Broadcast()
}

// take returns a buffer for n bytes, or nil if all memory is in use.
func (c *frames) take(n int64) []byte {
	size := bufferSize(n)
	for {
		if len(c.spare[size]) > 0 {
			return c.pop(size)
		}
		if c.used+size <= c.limit {
			c.used += size
			return make([]byte, 0, size)
		}
		if !c.makeRoom(size) {
			return nil
		}
	}
}

// makeRoom frees memory that is not in use. It prefers an unused frame whose buffer has the needed size, because the
// buffer can be reused, and then spare buffers of other sizes.
func (c *frames) makeRoom(size int64) bool {
	oldest := c.unused.Front()
	if oldest == nil || int64(cap(oldest.Value.(*keptFrame).buffer)) != size {
		for size, spare := range c.spare {
			if len(spare) == 0 {
				continue
			}
			c.pop(size)
			c.used -= size
			return true
		}
	}
	if oldest == nil {
		return false
	}
	kept := c.unused.Remove(oldest).(*keptFrame)
	delete(c.byKey, kept.key)
	c.giveBack(kept.buffer)
	return true
}

// pop takes a buffer of this size that is not in use.
func (c *frames) pop(size int64) []byte {
	spare := c.spare[size]
	buffer := spare[len(spare)-1]
	spare[len(spare)-1] = nil
	c.spare[size] = spare[:len(spare)-1]
	return buffer
}

// giveBack keeps a buffer for its next use.
func (c *frames) giveBack(buffer []byte) {
	if buffer != nil {
		size := int64(cap(buffer))
		c.spare[size] = append(c.spare[size], buffer[:0])
	}
}
