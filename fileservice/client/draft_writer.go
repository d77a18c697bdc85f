package client

import (
	"fmt"
	"io"

	"google.golang.org/grpc"
	"google.golang.org/grpc/mem"

	"culvert/bytebuf"
	"culvert/fileservice"
	"culvert/fileservice/internal/fileservicepb"
	"culvert/fileservice/internal/wire"
)

// The writes to a file go out in several streams, on several connections. Each stripe of draftStripe bytes always uses
// the same stream, so that overlapping writes keep their order.
const (
	draftStreams = 4
	draftStripe  = 4 * wire.MessageSize
)

// The limits of all files of a client together: open streams for each connection, and pending bytes. Beyond them,
// writes are sent and waited for.
const (
	maxDraftStreams = 16
	maxDraftPending = 8 << 20
)

// draftWriter sends the writes to a file. The lock of the file guards it.
type draftWriter struct {
	file    *WritableFile
	streams [draftStreams]*draftStream // nil if not open
	pending *bytebuf.Buffer            // consecutive writes not sent yet; nil if there are none
	start   int64                      // the offset of pending
	used    bool                       // since the last call of rest
}

type draftStream struct {
	call   *call
	stream grpc.ClientStreamingClient[fileservicepb.WriteDraftRequest, fileservicepb.WriteDraftResponse]
	sent   int64
}

// write copies and sends p.
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
			w.file.keeper.Reset(min(w.file.keepInterval(), maxStreamRest)) // sends it
		}
		// A message goes up to a multiple of its size, so that none lies in two stripes.
		n := int(min(int64(len(p)), wire.MessageSize-offset%wire.MessageSize))
		_, _ = w.pending.Write(p[:n]) // it never fails
		w.file.client.pending.Add(int64(n))
		p = p[n:]
		offset += int64(n)
		if offset%wire.MessageSize == 0 || w.file.client.pending.Load() > maxDraftPending {
			if err := w.flush(); err != nil {
				return err
			}
		}
	}
	if w.file.client.streams.Load() > int64(maxDraftStreams*len(w.file.client.links)) {
		return w.wait()
	}
	return nil
}

// hasRoom reports whether write would only copy length bytes and send nothing.
func (w *draftWriter) hasRoom(length int, offset int64) bool {
	c := w.file.client
	return offset >= 0 && offset%wire.MessageSize+int64(length) < wire.MessageSize &&
		(w.pending == nil || w.start+int64(w.pending.Len()) == offset) &&
		c.pending.Load()+int64(length) <= maxDraftPending &&
		c.streams.Load() <= int64(maxDraftStreams*len(c.links))
}

// flush sends pending writes.
func (w *draftWriter) flush() error {
	buffer := w.pending
	if buffer == nil {
		return nil
	}
	w.pending = nil
	w.file.client.pending.Add(-int64(buffer.Len()))
	place, err := w.streamFor(w.start)
	if err != nil {
		buffer.Free()
		return err
	}
	s, data := w.streams[place], buffer.Bytes()
	fields := &fileservicepb.WriteDraftRequest{Offset: w.start}
	if s.sent == 0 {
		fields.Draft = w.file.id
	}
	s.sent += int64(len(data))
	err = s.stream.SendMsg(&wire.Outgoing{Data: mem.NewBuffer(&data, freeBuffer{buffer}), Fields: fields})
	if err == io.EOF { // the answer has the error
		if err = s.answer(); err == nil {
			err = fmt.Errorf("%w: the server answered too early", fileservice.ErrIntegrity)
		}
	}
	if err != nil {
		return w.end(place, err)
	}
	return nil
}

// streamFor returns the index of the stream for an offset, and opens the stream if necessary.
func (w *draftWriter) streamFor(offset int64) (place int, err error) {
	c := w.file.client
	place = int(offset / draftStripe % int64(min(draftStreams, len(c.links))))
	if w.streams[place] != nil {
		return place, nil
	}
	call, err := c.begin(w.file.ctx, "write", w.file.name)
	if err != nil {
		return 0, err
	}
	// The server may wait for its disk. Pings find out if it is silent.
	call.pause()
	stream, err := call.link.service.WriteDraft(call.ctx)
	if err != nil {
		return 0, call.end(err)
	}
	c.streams.Add(1)
	w.streams[place] = &draftStream{call: call, stream: stream}
	w.file.keeper.Reset(min(w.file.keepInterval(), maxStreamRest))
	return place, nil
}

// end ends a stream.
func (w *draftWriter) end(place int, err error) error {
	s := w.streams[place]
	w.streams[place] = nil
	w.file.client.streams.Add(-1)
	return s.call.end(err)
}

// wait waits until the server has executed all writes. It leaves no stream open, unless there is an error.
func (w *draftWriter) wait() error {
	if err := w.flush(); err != nil {
		return err
	}
	for place, s := range w.streams {
		if s == nil {
			continue
		}
		if err := s.stream.CloseSend(); err != nil {
			return w.end(place, err)
		}
	}
	for place, s := range w.streams {
		if s == nil {
			continue
		}
		if err := w.end(place, s.answer()); err != nil {
			return err
		}
	}
	return nil
}

// answer receives the answer of a stream.
func (s *draftStream) answer() error {
	response := &fileservicepb.WriteDraftResponse{}
	if err := s.stream.RecvMsg(response); err != nil {
		return err
	}
	if n := response.GetWritten(); n != s.sent {
		return fmt.Errorf("%w: the server wrote %d of %d bytes", fileservice.ErrIntegrity, n, s.sent)
	}
	return nil
}

// rest sends pending writes. If nothing was written since its last call, it also ends the streams and returns true.
func (w *draftWriter) rest() bool {
	used := w.used
	w.used = false
	send := w.wait
	if used {
		send = w.flush
	}
	if err := send(); err != nil {
		_ = w.file.fail(err) // the next call returns it
	}
	return !used
}

// abort drops pending writes, and ends all streams.
func (w *draftWriter) abort() {
	if w.pending != nil {
		w.file.client.pending.Add(-int64(w.pending.Len()))
		w.pending.Free()
		w.pending = nil
	}
	for place, s := range w.streams {
		if s != nil {
			_ = w.end(place, nil) // the caller has the error
		}
	}
}
