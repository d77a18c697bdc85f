package server

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"

	"google.golang.org/grpc"
	"google.golang.org/grpc/mem"

	"culvert/fileservice/internal/draft"
	pb "culvert/fileservice/internal/fileservicepb"
	"culvert/fileservice/internal/wire"
)

// OpenDraft opens a file for writing.
func (s service) OpenDraft(ctx context.Context, request *pb.OpenDraftRequest) (*pb.OpenDraftResponse, error) {
	call := callOf(ctx)
	local, err := s.writable(call, request.GetPath())
	if err != nil {
		return nil, err
	}
	o, err := s.drafts.begin(call.conn, request.GetPath(), local, draft.Options{
		Create: request.GetCreate(), Exclusive: request.GetExclusive(), Truncate: request.GetTruncate(),
		Permissions: permissionsOf(request.GetPermissions()),
	})
	if err != nil {
		return nil, err
	}
	defer s.drafts.end(o)
	entry, isDraft, err := entryOfDraft(o, request.GetPath())
	if err != nil {
		return nil, errors.Join(err, s.drafts.drop(o, false))
	}
	return &pb.OpenDraftResponse{
		Draft: o.id[:], Entry: entry, IdleMilliseconds: s.drafts.idle.Milliseconds(), IsDraft: isDraft,
	}, nil
}

func entryOfDraft(o *openedDraft, name string) (entry *pb.Entry, isDraft bool, err error) {
	info, permissions, isDraft, err := o.Stat()
	if err != nil {
		return nil, false, err
	}
	entry = wire.EntryOf(path.Base(name), info)
	entry.Mode = wire.PosixMode(permissions)
	return entry, isDraft, nil
}

// joinDraft returns the draft that a call names. The caller ends its use with s.drafts.end.
func (s *Server) joinDraft(ctx context.Context, id []byte) (*openedDraft, error) {
	if !s.config.Writable {
		return nil, errNotWritable
	}
	call := callOf(ctx)
	o, path, err := s.drafts.join(call.conn, id)
	if err == nil {
		call.about.Path = path
	}
	return o, err
}

// WriteDraft writes the data it receives. It holds a buffer only while it has data to write.
func (s service) WriteDraft(stream grpc.ClientStreamingServer[pb.WriteDraftRequest, pb.WriteDraftResponse]) error {
	if !s.config.Writable {
		return errNotWritable
	}
	ctx := stream.Context()
	call := callOf(ctx)
	var o *openedDraft
	defer func() {
		if o != nil {
			s.drafts.end(o)
		}
	}()
	join := func(id []byte) (err error) {
		if o == nil {
			o, err = s.joinDraft(ctx, id)
		}
		return err
	}
	for {
		message, err := receiveDraft(ctx, call, stream.RecvMsg, join)
		if err == io.EOF && o != nil {
			return stream.SendAndClose(&pb.WriteDraftResponse{Written: call.about.BytesWritten})
		}
		if err == io.EOF {
			return draft.ErrGone
		}
		if err == nil {
			err = join(message.head.GetDraft())
		}
		if err == nil {
			err = o.WriteAt(message.data, message.head.GetOffset())
		}
		message.free()
		if err != nil {
			return err
		}
		call.about.BytesWritten += int64(len(message.data))
	}
}

// draftMessage is a WriteDraftRequest.
type draftMessage struct {
	head   *pb.WriteDraftRequest // without the data
	buffer *lent                 // nil if there is no data
	data   []byte
}

func (m *draftMessage) free() {
	if m.buffer != nil {
		m.buffer.free()
	}
}

// receiveDraft receives a message. It joins the draft before it waits for a buffer, so that the draft is not dropped.
func receiveDraft(
	ctx context.Context, call *call, receive func(any) error, join func(id []byte) error,
) (*draftMessage, error) {
	message := &draftMessage{head: &pb.WriteDraftRequest{}}
	incoming := &wire.Incoming{Fields: message.head, Room: func(n int) ([]byte, error) {
		if n > wire.MessageSize {
			return nil, nil // the codec refuses the data
		}
		if message.buffer == nil {
			var err error
			call.watch.Stop()                 // the wait for a buffer is not the client's fault
			_ = join(message.head.GetDraft()) // WriteDraft calls it again and returns the error
			if message.buffer, err = call.conn.blocks.get(ctx); err != nil {
				return nil, err
			}
		}
		message.buffer.buffer.Reset()
		return message.buffer.buffer.Extend(n), nil
	}}
	err := receive(incoming)
	if err == nil && incoming.N == 0 {
		err = fmt.Errorf("%w: a message without data", fs.ErrInvalid)
	}
	if err != nil {
		message.free()
		return &draftMessage{}, err
	}
	message.data = incoming.Into[:incoming.N]
	return message, nil
}

// ReadDraft sends a range of a draft.
func (s service) ReadDraft(request *pb.ReadDraftRequest, stream grpc.ServerStreamingServer[pb.ReadResponse]) error {
	ctx := stream.Context()
	o, err := s.joinDraft(ctx, request.GetDraft())
	if err != nil {
		return err
	}
	defer s.drafts.end(o)
	offset, length := request.GetOffset(), request.GetLength()
	if err := checkRange(offset, length); err != nil {
		return err
	}
	call := callOf(ctx)
	for end := offset + length; offset < end; {
		buffer, err := call.conn.buffers.get(ctx)
		if err != nil {
			return err
		}
		data := buffer.buffer.Extend(int(min(wire.MessageSize, end-offset)))
		n, err := o.ReadAt(data, offset)
		if err != nil || n == 0 {
			buffer.free()
			return err
		}
		data = data[:n]
		buffer.handOver()
		if err := stream.SendMsg(&wire.Outgoing{Data: mem.NewBuffer(&data, buffer)}); err != nil {
			return err
		}
		offset += int64(n)
		call.about.BytesRead += int64(n)
	}
	return nil
}

// ChangeDraft sets the size and the attributes of a draft.
func (s service) ChangeDraft(ctx context.Context, request *pb.ChangeDraftRequest) (*pb.ChangeDraftResponse, error) {
	o, err := s.joinDraft(ctx, request.GetDraft())
	if err != nil {
		return nil, err
	}
	defer s.drafts.end(o)
	if request.Size != nil {
		if err := o.Truncate(request.GetSize()); err != nil {
			return nil, err
		}
	}
	accessed, modified := timeOf(request.AccessedUnixNano), timeOf(request.ModifiedUnixNano)
	var permissions *fs.FileMode
	if request.Permissions != nil {
		given := permissionsOf(request.GetPermissions())
		permissions = &given
	}
	if permissions != nil || !accessed.IsZero() || !modified.IsZero() {
		err = o.SetAttributes(permissions, accessed, modified)
	}
	return &pb.ChangeDraftResponse{}, err
}

// SyncDraft makes the content of a draft durable, and its name if it has one.
func (s service) SyncDraft(ctx context.Context, request *pb.SyncDraftRequest) (*pb.Entry, error) {
	o, err := s.joinDraft(ctx, request.GetDraft())
	if err != nil {
		return nil, err
	}
	defer s.drafts.end(o)
	if err := o.Sync(); err != nil {
		return nil, err
	}
	entry, _, err := entryOfDraft(o, callOf(ctx).about.Path)
	return entry, err
}

// PublishDraft renames a draft to its path.
func (s service) PublishDraft(ctx context.Context, request *pb.PublishDraftRequest) (*pb.Entry, error) {
	call := callOf(ctx)
	local, err := s.writable(call, request.GetPath())
	if err != nil {
		return nil, err
	}
	o, err := s.joinDraft(ctx, request.GetDraft())
	if err != nil {
		return nil, err
	}
	defer s.drafts.end(o)
	call.about.Path = request.GetPath()
	if err := o.Publish(ctx, local, request.GetReplace()); err != nil {
		return nil, err
	}
	s.drafts.rename(o, request.GetPath())
	entry, _, err := entryOfDraft(o, request.GetPath())
	return entry, err
}

// DropDraft ends a draft.
func (s service) DropDraft(ctx context.Context, request *pb.DropDraftRequest) (*pb.DropDraftResponse, error) {
	o, err := s.joinDraft(ctx, request.GetDraft())
	if err != nil {
		return nil, err
	}
	defer s.drafts.end(o)
	return &pb.DropDraftResponse{}, s.drafts.drop(o, false)
}
