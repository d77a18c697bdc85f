package server

import (
	"context"
	"errors"
	"io/fs"
	"path"

	"culvert/fileservice/internal/draft"
	pb "culvert/fileservice/internal/fileservicepb"
	"culvert/fileservice/internal/wire"
)

// OpenDraft opens a file for writing.
func (s service) OpenDraft(ctx context.Context, request *pb.OpenDraftRequest) (*pb.OpenDraftResponse, error) {
	call := callOf(ctx)
	local, err := s.writable(request.GetPath())
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
		return nil, errors.Join(err, s.drafts.drop(o))
	}
	return &pb.OpenDraftResponse{
		Draft: o.id[:], Entry: entry, IdleMilliseconds: s.config.StallTimeout.Milliseconds(), IsDraft: isDraft,
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
	call := callOf(ctx)
	o, path, err := s.drafts.join(call.conn, id)
	if err == nil {
		call.about.Path = path
	}
	return o, err
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
	local, err := s.writable(request.GetPath())
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
	return &pb.DropDraftResponse{}, s.drafts.drop(o)
}
