package client

import (
	"cmp"
	"context"
	"errors"
	"sync"

	"culvert/bytebuf"
	"culvert/fileservice/internal/exchange"
)

// draftPart is the most data in one call, which lies in one part of the file of that size. Consecutive writes are
// gathered up to it.
const draftPart = 256 << 10

// Limits of bytes that are written and that the server has not confirmed: of one file, and of all files of a client,
// beyond which each file waits for its own.
const (
	maxFilePending  = 8 << 20
	maxDraftPending = 16 << 20
)

// draftWriter sends the writes to a file. The lock of the file guards the fields up to mu.
type draftWriter struct {
	file    *WritableFile
	pending *bytebuf.Buffer // consecutive writes not sent yet; nil if there are none
	start   int64           // the offset of pending
	used    bool            // since the last call of rest

	mu      sync.Mutex
	changed sync.Cond             // signals that a write has ended
	writes  map[int64]*draftWrite // the last one in progress of each part
	flying  int                   // bytes of those in progress
	err     error                 // of a write
}

// draftWrite is a write in progress.
type draftWrite struct {
	call      exchange.Call
	data      *bytebuf.Buffer
	conn      *exchange.Conn // guarded by mu of the draftWriter
	mayRepeat bool           // it follows no other write, and repeats none
}

func (w *draftWriter) init(file *WritableFile) {
	w.file, w.changed.L, w.writes = file, &w.mu, map[int64]*draftWrite{}
}

// write copies p and sends full parts.
func (w *draftWriter) write(p []byte, offset int64) error {
	w.used = true
	for len(p) > 0 {
		if w.pending != nil && w.start+int64(w.pending.Len()) != offset {
			if err := w.flush(); err != nil {
				return err
			}
		}
		if w.pending == nil {
			w.pending, w.start = bytebuf.New(), offset
			w.file.keeper.Reset(min(w.file.keepInterval(), maxWriteRest)) // sends it
		}
		n := int(min(int64(len(p)), draftPart-offset%draftPart))
		_, _ = w.pending.Write(p[:n]) // it never fails
		w.file.client.pending.Add(int64(n))
		p = p[n:]
		offset += int64(n)
		if offset%draftPart == 0 || w.file.client.pending.Load() > maxDraftPending {
			if err := w.flush(); err != nil {
				return err
			}
		}
	}
	return nil
}

// hasRoom reports whether write would only copy length bytes and send nothing.
func (w *draftWriter) hasRoom(length int, offset int64) bool {
	return offset >= 0 && offset%draftPart+int64(length) < draftPart &&
		(w.pending == nil || w.start+int64(w.pending.Len()) == offset) &&
		w.file.client.pending.Load()+int64(length) <= maxDraftPending
}

// flush sends pending writes.
func (w *draftWriter) flush() error {
	data := w.pending
	if data == nil {
		return nil
	}
	w.pending = nil
	this := w.newWrite(data, w.start)
	this.mayRepeat = true
	limit := maxFilePending
	if w.file.client.pending.Load() > maxDraftPending {
		limit = 0
	}
	var conn *exchange.Conn
	err := w.await(limit)
	if err == nil {
		conn, err = w.follow(this)
	}
	if err != nil {
		w.release(data)
		return err
	}
	w.mu.Lock()
	w.writes[this.part()] = this
	w.flying += data.Len()
	w.mu.Unlock()
	return w.send(this, conn)
}

func (w *draftWriter) newWrite(data *bytebuf.Buffer, offset int64) *draftWrite {
	this := &draftWrite{data: data}
	this.call = exchange.Call{
		Request: exchange.Request{Kind: exchange.PutDraft, Target: string(w.file.id), Offset: offset},
		Data:    data.Bytes(), Done: func(err error) { w.ended(this, err) },
	}
	return this
}

func (w *draftWriter) release(data *bytebuf.Buffer) {
	w.file.client.pending.Add(-int64(data.Len()))
	data.Free()
}

// part identifies the part of the file that a write lies in.
func (d *draftWrite) part() int64 { return d.call.Offset / draftPart }

// follow returns the connection of the writes in progress to the same part, or nil if there are none. The server
// executes the writes of a connection in their order. If the write before is being repeated, follow waits for its end.
func (w *draftWriter) follow(this *draftWrite) (conn *exchange.Conn, err error) {
	w.mu.Lock()
	before := w.writes[this.part()]
	if before != nil {
		conn, this.mayRepeat = before.conn, false
	}
	w.mu.Unlock()
	if before != nil && conn == nil {
		err = w.await(0)
	}
	return conn, err
}

// send starts a write on a connection, or on any if that is nil.
func (w *draftWriter) send(this *draftWrite, conn *exchange.Conn) (err error) {
	if conn != nil {
		err = conn.Start(&this.call)
	} else {
		conn, err = w.file.client.start(w.file.ctx, &this.call)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if err != nil {
		w.finish(this, err)
		return w.file.fault("write", err)
	}
	this.conn = conn
	return nil
}

// ended ends a write, or sends another in its place if its connection has ended before the server has executed it. The
// write may end before send has recorded its connection.
func (w *draftWriter) ended(this *draftWrite, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !errors.Is(err, exchange.ErrBye) || !this.mayRepeat {
		w.finish(this, err)
		return
	}
	again := w.newWrite(this.data, this.call.Offset)
	if w.writes[this.part()] == this {
		w.writes[this.part()] = again
	}
	go func() { _ = w.send(again, nil) }() // the next call returns the error
}

// finish ends a write. mu is held.
func (w *draftWriter) finish(this *draftWrite, err error) {
	if w.writes[this.part()] == this {
		delete(w.writes, this.part())
	}
	w.flying -= len(this.call.Data)
	w.release(this.data)
	w.err = cmp.Or(w.err, unreachable(err))
	w.changed.Broadcast()
}

// await waits until at most limit bytes are on their way.
func (w *draftWriter) await(limit int) error {
	stop := context.AfterFunc(w.file.ctx, func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.changed.Broadcast()
	})
	defer stop()
	w.mu.Lock()
	defer w.mu.Unlock()
	for w.flying > limit && w.err == nil && w.file.ctx.Err() == nil {
		w.changed.Wait()
	}
	switch {
	case w.err != nil:
		return w.file.fault("write", w.err)
	case w.flying > limit:
		return w.file.fault("write", context.Cause(w.file.ctx))
	}
	return nil
}

// wait waits until the server has executed all writes.
func (w *draftWriter) wait() error {
	if err := w.flush(); err != nil {
		return err
	}
	return w.await(0)
}

// rest sends pending writes, and reports whether nothing was written since its last call.
func (w *draftWriter) rest() bool {
	used := w.used
	w.used = false
	if err := w.flush(); err != nil {
		_ = w.file.fail(err) // the next call returns it
	}
	return !used
}

// abort drops pending writes. Those that are on their way are not waited for.
func (w *draftWriter) abort() {
	if w.pending != nil {
		w.release(w.pending)
		w.pending = nil
	}
}
