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

// What is written to one draft goes out in several streams, on several connections. A part of the file of draftStripe
// bytes always takes the same one, so that writes that overlap keep their order.
const (
	draftStreams = 4
	draftStripe  = 4 * wire.MessageSize
)

// The bounds of what all drafts of a client have together: streams that stay open, for each connection, and bytes that
// wait for more to go with them. Beyond that, what is written is sent and waited for.
const (
	maxDraftStreams = 16
	maxDraftPending = 8 << 20
)

// draftWriter sends what is written to a draft. The lock of the file guards it.
type draftWriter struct {
	file    *WritableFile
	streams [draftStreams]*draftStream // those that are open
	pending *bytebuf.Buffer            // what follows each other and was not sent; nil if there is nothing
	start   int64                      // its offset
	used    bool                       // since rest was called
}

type draftStream struct {
	call   *call
	stream grpc.ClientStreamingClient[fileservicepb.WriteDraftRequest, fileservicepb.WriteDraftResponse]
	sent   int64
}

// write takes over a copy of p.
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
			w.file.keeper.Reset(min(w.file.keepInterval(), maxStreamRest)) // which sends it
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

// hasRoom reports whether write would only copy length bytes, and send nothing.
func (w *draftWriter) hasRoom(length int, offset int64) bool {
	c := w.file.client
	return offset >= 0 && offset%wire.MessageSize+int64(length) < wire.MessageSize &&
		(w.pending == nil || w.start+int64(w.pending.Len()) == offset) &&
		c.pending.Load()+int64(length) <= maxDraftPending &&
		c.streams.Load() <= int64(maxDraftStreams*len(c.links))
}

// flush sends what is pending.
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
	if err == io.EOF { // the answer says why the server has ended the call
		if err = s.answer(); err == nil {
			err = fmt.Errorf("%w: an answer before the end", fileservice.ErrIntegrity)
		}
	}
	if err != nil {
		return w.end(place, err)
	}
	return nil
}

// streamFor gives the place of the stream for an offset, which it opens if need be.
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
	// The server may wait for its disk. gRPC finds out if it is silent.
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

// wait waits until the server has written everything. It leaves no stream open, unless there is an error.
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

// answer takes the answer of a stream.
func (s *draftStream) answer() error {
	response := &fileservicepb.WriteDraftResponse{}
	if err := s.stream.RecvMsg(response); err != nil {
		return err
	}
	if response.GetWritten() != s.sent {
		return fmt.Errorf("%w: it has written %d bytes of %d", fileservice.ErrIntegrity, response.GetWritten(), s.sent)
	}
	return nil
}

// rest sends what is pending. If nothing was written since the previous call, it also ends the streams and returns true.
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

// abort gives up what was not sent, and what is under way.
func (w *draftWriter) abort() {
	if w.pending != nil {
		w.file.client.pending.Add(-int64(w.pending.Len()))
		w.pending.Free()
		w.pending = nil
	}
	for place, s := range w.streams {
		if s != nil {
			_ = w.end(place, nil) // the error that led here is kept already
		}
	}
}
