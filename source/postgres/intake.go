package postgres

import (
	"context"
	"encoding/binary"
	"io"
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

// intake reads from a connection for the driver, which holds each message as a whole. Before the driver sees the header
// of a large message, intake waits until there is room for the message.
type intake struct {
	r      io.Reader
	header [5]byte // of a message: its type, and its length without the type
	have   int     // bytes of the header
	size   int     // bytes of the message, without the header
	left   int     // bytes of the message still to come

	ctx  context.Context // of the rows
	room *room           // nil if the rows have a single reader
	held int             // bytes of room
}

// enter makes large messages wait for room until ctx is done.
func (in *intake) enter(ctx context.Context, room *room) { in.ctx, in.room = ctx, room }

// leave ends what enter began. The driver must not hold a large message that is in use.
func (in *intake) leave() {
	in.release()
	in.ctx, in.room = nil, nil
}

func (in *intake) release() {
	if in.held > 0 {
		in.room.release(in.held)
		in.held = 0
	}
}

func (in *intake) Read(p []byte) (int, error) {
	switch {
	case in.left == 0:
		in.release() // the driver reads on when it is done with the last message
	case in.held == 0:
		in.await() // the room was released between two batches
	}
	if 0 < in.left && in.left < len(p) && in.held > 0 {
		p = p[:in.left] // the next message waits until this one has been used
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
func (in *intake) await() {
	if in.size <= largeMessage || in.room == nil {
		return
	}
	in.release()
	if in.room.acquire(in.ctx, in.size) {
		in.held = in.size
	}
}

// room bounds the bytes that several readers hold together.
type room struct {
	first chan struct{} // held by the reader that is next
	freed chan struct{}

	mu   sync.Mutex
	held int
}

func newRoom() *room {
	return &room{first: make(chan struct{}, 1), freed: make(chan struct{}, 1)}
}

// acquire waits until there is room for n bytes, in the order of the calls. If n exceeds the bound, it waits until
// nothing is held. It returns false if ctx is done before.
func (r *room) acquire(ctx context.Context, n int) bool {
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

func (r *room) take(n int) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.held > 0 && n > largeMessages-r.held {
		return false
	}
	r.held += n
	return true
}

func (r *room) release(n int) {
	r.mu.Lock()
	r.held -= n
	r.mu.Unlock()
	select {
	case r.freed <- struct{}{}:
	default:
	}
}
