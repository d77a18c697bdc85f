// Package budget bounds the memory of large rows. A [Reader] stands between a connection and the driver, which holds
// each message of the server as a whole: it does not let the driver see the header of a large message before there is
// room for the message in the [Room] that several readers share. Small rows do not have to pass the driver: see
// [Reader.Row].
package budget

import (
	"bufio"
	"cmp"
	"context"
	"encoding/binary"
	"runtime/debug"
	"sync"
)

const (
	// largeMessage is the size above which a message, such as a row, is large.
	largeMessage = 1 << 20

	// largeMessages is the most bytes of large messages that the connections that share a table hold together, unless a
	// single message is larger.
	largeMessages = 16 << 20

	// hugeMessage is the size above which the memory of earlier messages is freed before the next one. The driver may
	// hold two older buffers in its pool, so without that an export would hold three messages at a time.
	hugeMessage = 8 << 20
)

// Reader reads from a connection for the driver. It is used by one goroutine at a time.
type Reader struct {
	r      *bufio.Reader
	header [5]byte // of a message: its type, and its length without the type
	have   int     // bytes of the header
	size   int     // bytes of the message, without the header
	left   int     // bytes of the message still to come
	single bool    // the driver does not see the next message before it has asked for it

	ctx  context.Context // of the rows
	room *Room           // nil if the rows have a single reader
	held int             // bytes of room
}

// Reset begins to read from a connection.
func (in *Reader) Reset(connection *bufio.Reader) { *in = Reader{r: connection} }

// Begin precedes a statement whose rows are read by Row. The driver holds no message that it has not returned until
// Leave is called.
func (in *Reader) Begin() { in.single = true }

// Row returns the next message if it is a row that has arrived, without its header. It is valid until the next call of
// any method. Otherwise, which includes all large rows, the driver must receive the message. To pass each row through
// the driver would take half as long again.
func (in *Reader) Row() (row []byte, ok bool) {
	if !in.single || in.have > 0 || in.left > 0 || in.r.Buffered() < len(in.header) {
		return nil, false
	}
	const dataRow = 'D'
	header, _ := in.r.Peek(len(in.header)) // it is there
	size := int(int32(binary.BigEndian.Uint32(header[1:]))) - 4
	if header[0] != dataRow || size < 0 || in.r.Buffered() < len(in.header)+size {
		return nil, false
	}
	in.Release()
	message, _ := in.r.Peek(len(in.header) + size)
	_, _ = in.r.Discard(len(message))
	return message[len(in.header):], true
}

// Enter makes large messages wait for room until ctx is done.
func (in *Reader) Enter(ctx context.Context, room *Room) { in.ctx, in.room = ctx, room }

// Leave ends what Enter began. The driver must not hold a large message that is in use.
func (in *Reader) Leave() {
	in.Release()
	in.ctx, in.room, in.single = nil, nil, false
}

// Release gives back the room of the last message, which is no longer in use.
func (in *Reader) Release() {
	if in.held > 0 {
		in.room.release(in.held)
		in.held = 0
	}
}

// Read implements io.Reader.
func (in *Reader) Read(p []byte) (int, error) {
	switch {
	case in.left == 0:
		in.Release() // the driver reads on when it is done with the last message
	case in.held == 0:
		in.await() // the room was released between two batches
	}
	if 0 < in.left && in.left < len(p) && in.held > 0 {
		p = p[:in.left] // the next message waits until this one has been used
	} else if in.single {
		p = p[:min(len(p), cmp.Or(in.left, len(in.header)-in.have))]
	}
	n, err := in.r.Read(p)
	for rest := p[:n]; len(rest) > 0; {
		if in.left > 0 {
			skipped := min(in.left, len(rest))
			in.left -= skipped
			rest = rest[skipped:]
			continue
		}
		taken := copy(in.header[in.have:], rest)
		rest = rest[taken:]
		if in.have += taken; in.have == len(in.header) {
			in.have = 0
			// The driver refuses an invalid length.
			in.size = max(0, int(int32(binary.BigEndian.Uint32(in.header[1:])))-4)
			in.left = in.size
			in.await()
			if in.size > hugeMessage {
				debug.FreeOSMemory()
			}
		}
	}
	return n, err
}

// await waits for room for a message, if it is large.
func (in *Reader) await() {
	if in.size <= largeMessage || in.room == nil {
		return
	}
	in.Release()
	if in.room.acquire(in.ctx, in.size) {
		in.held = in.size
	}
}

// Room bounds the bytes that several readers hold together.
type Room struct {
	first chan struct{} // held by the reader that is next
	freed chan struct{}

	mu   sync.Mutex
	held int
}

// NewRoom returns a Room in which nothing is held.
func NewRoom() *Room {
	return &Room{first: make(chan struct{}, 1), freed: make(chan struct{}, 1)}
}

// acquire waits until there is room for n bytes, in the order of the calls. If n exceeds the bound, it waits until
// nothing is held. It returns false if ctx is done before.
func (r *Room) acquire(ctx context.Context, n int) bool {
	select {
	case r.first <- struct{}{}:
	case <-ctx.Done():
		return false
	}
	defer func() { <-r.first }()
	for !r.take(n) {
		select {
		case <-r.freed:
		case <-ctx.Done():
			return false
		}
	}
	return true
}

func (r *Room) take(n int) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.held > 0 && n > largeMessages-r.held {
		return false
	}
	r.held += n
	return true
}

func (r *Room) release(n int) {
	r.mu.Lock()
	r.held -= n
	r.mu.Unlock()
	select {
	case r.freed <- struct{}{}:
	default:
	}
}
