package compress

import (
	"bufio"
	"bytes"
	"io"
	"runtime"
	"slices"
	"sync"

	"github.com/klauspost/compress/zstd"

	"culvert/internal/ordered"
)

// maxSmall is the largest size of a frame, and of its text, that a worker decodes as a whole. Frames of this package
// have a third of it.
const maxSmall = 4 << 20

// maxWorkers bounds the memory. Eight workers decode faster than later stages write.
const maxWorkers = 8

// zstdPieces returns the text of zstd frames. Workers decode small frames as a whole, in the items of a queue. Before
// any other frame the queue is emptied. Then a large frame is decoded as a stream, and a skippable frame is skipped, or
// checked if it is a seek table.
//
// No goroutine is needed for reading: next waits for an item only when all items are in use.
type zstdPieces struct {
	src     *source
	split   splitter
	queue   *ordered.Queue[*frameItem]
	account account

	items   []*frameItem              // in the queue; nil once it is closed
	waiting int                       // items put and not yet taken
	given   *ordered.Item[*frameItem] // its text was returned last
	stage   stage
	err     error // follows the waiting items

	large     *zstd.Decoder             // made for the first large frame
	largeHead *ordered.Item[*frameItem] // beginning of a large frame
	largeText int64                     // size of the large frame's text so far
	buf       []byte                    // for large frames
}

// stage is what the splitter reads next.
type stage uint8

const (
	atSmall     stage = iota // a new frame, small unless it turns out otherwise
	atSkippable              // a skippable frame
	atLarge                  // the rest of a large frame
	inLarge                  // the same, and its decoder has begun
)

// frameItem is a frame that a worker decodes.
type frameItem struct {
	frame []byte
	text  []byte
	err   error
}

func newZstdPieces(s *source, buffered *bufio.Reader, workers int) *zstdPieces {
	most := min(runtime.GOMAXPROCS(0), maxWorkers)
	if workers <= 0 || workers > most {
		workers = most
	}
	items := make([]*frameItem, 1)
	if workers > 1 {
		// One more for the text that was returned, and one to read into.
		items = make([]*frameItem, workers+2)
	}
	for i := range items {
		items[i] = frames.Get().(*frameItem)
	}
	decoder := smallDecoder()
	queue := ordered.New(items, workers, func(it *frameItem) {
		it.text, it.err = decoder.DecodeAll(it.frame, it.text[:0])
	})
	return &zstdPieces{src: s, split: splitter{src: buffered}, queue: queue, items: items}
}

// What past Readers have used: for a small file, new ones would take most of the time. All Readers share the decoder of
// small frames, which has a place for each core.
var (
	frames       = sync.Pool{New: func() any { return new(frameItem) }}
	tables       = sync.Pool{New: func() any { return new([pieceSize]byte) }}
	smallDecoder = sync.OnceValue(func() *zstd.Decoder { return newDecoder(min(runtime.GOMAXPROCS(0), maxWorkers)) })
)

// keptSize is the largest buffer of a frame that is used again.
const keptSize = maxSmall / 2

// free gives the item to later Readers, without what is large in it.
func (it *frameItem) free() {
	if cap(it.frame) > keptSize {
		it.frame = nil
	}
	if cap(it.text) > keptSize {
		it.text = nil
	}
	it.err = nil
	frames.Put(it)
}

// newDecoder returns a decoder for up to concurrency frames at once. Streams use one with concurrency 1: more would not
// be faster, and would start goroutines.
func newDecoder(concurrency int, more ...zstd.DOption) *zstd.Decoder {
	d, err := zstd.NewReader(nil, append(more,
		zstd.WithDecoderConcurrency(concurrency),
		zstd.WithDecoderMaxWindow(maxWindow),
		zstd.WithDecoderLowmem(true),
	)...)
	if err != nil {
		panic("compress: " + err.Error()) // the options are constants
	}
	return d
}

func (z *zstdPieces) next() ([]byte, error) {
	z.release()
	for {
		for z.err == nil && z.stage == atSmall && z.waiting < len(z.items) {
			z.err = z.readFrame()
		}
		switch {
		case z.waiting > 0:
			return z.take()
		case z.err != nil:
			return nil, z.err
		case z.stage == atSkippable:
			z.err = z.skip()
		default:
			return z.stream()
		}
	}
}

func (z *zstdPieces) close() {
	z.queue.Stop()
	z.queue.Wait()
	for _, it := range z.items {
		it.free()
	}
	z.items = nil
	freeInput(z.split.src)
	z.split.src = nil
	if z.large != nil {
		z.large.Close()
	}
	if z.err == nil {
		z.err = errClosed
	}
}

// readFrame advances to the next frame and, if it is small, puts it into the queue.
func (z *zstdPieces) readFrame() error {
	if err := z.split.next(); err != nil {
		return err
	}
	if z.split.header.Skippable {
		z.stage = atSkippable
		return nil
	}
	it := z.queue.Get()
	frame, small, err := z.split.appendSmall(it.Value.frame[:0])
	it.Value.frame = frame
	switch {
	case err != nil:
		z.queue.Free(it)
		return err
	case small:
		z.queue.Put(it)
		z.waiting++
	default:
		z.largeHead, z.stage = it, atLarge
	}
	return nil
}

// appendSmall appends the current frame to dst. If the frame turns out to be large, it stops and returns false.
func (s *splitter) appendSmall(dst []byte) (frame []byte, small bool, err error) {
	for {
		if s.textBound() > maxSmall || len(dst) == maxSmall {
			return dst, false, nil
		}
		if len(dst) == cap(dst) {
			// Double the capacity, as append would, but never beyond maxSmall.
			dst = slices.Grow(dst, min(max(len(dst), pieceSize), maxSmall-len(dst)))
		}
		n, err := s.Read(dst[len(dst):min(cap(dst), maxSmall)])
		dst = dst[:len(dst)+n]
		if err == io.EOF {
			return dst, true, nil
		}
		if err != nil {
			return dst, false, err
		}
	}
}

// take returns the text of the next item.
func (z *zstdPieces) take() ([]byte, error) {
	it := z.queue.Next()
	z.waiting--
	z.given = it
	if it.Value.err != nil {
		z.queue.Stop()
		z.waiting, z.err = 0, corrupt(Zstd, it.Value.err)
		return nil, z.err
	}
	z.account.add(int64(len(it.Value.frame)), int64(len(it.Value.text)))
	return it.Value.text, nil
}

// release frees the item whose text was returned last.
func (z *zstdPieces) release() {
	if z.given != nil {
		z.queue.Free(z.given)
		z.given = nil
	}
}

// stream returns the next text of a large frame.
func (z *zstdPieces) stream() ([]byte, error) {
	if z.stage == atLarge {
		if z.large == nil {
			z.large = newDecoder(1)
		}
		z.stage = inLarge
		if err := z.large.Reset(io.MultiReader(bytes.NewReader(z.largeHead.Value.frame), &z.split)); err != nil {
			z.err = z.src.explain(Zstd, err)
			return nil, z.err
		}
		z.largeText = 0
	}
	n, err := z.large.Read(z.largeBuf())
	z.largeText += int64(n)
	switch {
	case err == io.EOF:
		z.account.add(z.split.size, z.largeText)
		z.queue.Free(z.largeHead)
		z.stage = atSmall
	case err != nil:
		z.err = z.src.explain(Zstd, err)
	}
	return z.buf[:n], z.err
}

// skip reads a skippable frame to its end.
func (z *zstdPieces) skip() error {
	z.stage = atSmall
	var head [skippableSize]byte
	if _, err := io.ReadFull(&z.split, head[:]); err != nil {
		return err
	}
	length := int64(z.split.header.SkippableSize)
	if z.split.header.SkippableID == skippableMagic&0xf && length >= footerSize {
		buf := tables.Get().(*[pieceSize]byte)
		defer tables.Put(buf)
		return z.account.addTable(&z.split, length, buf[:])
	}
	if _, err := io.Copy(io.Discard, &z.split); err != nil {
		return err
	}
	z.account.add(z.split.size, 0)
	return nil
}

// largeBuf returns the buffer for frames that workers do not decode.
func (z *zstdPieces) largeBuf() []byte {
	if z.buf == nil {
		z.buf = make([]byte, pieceSize)
	}
	return z.buf
}
