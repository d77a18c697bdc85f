package client

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"sync"
	"time"

	"culvert/fileservice"
	"culvert/fileservice/internal/fileservicepb"
	"culvert/fileservice/internal/wire"
)

// A WritableFile is a file of a server that is open for writing, as [Client.OpenFile] returns it. A file that is new or
// was truncated is a draft: nobody sees what is written before Publish gives the whole file a name, and Close discards
// what was not published. A file that has its name is in place: others see what is written as it arrives, and Close
// takes nothing back.
//
// Writes return before the server has written, and keep the order in which they were made. The first error of one, and
// of Truncate, Sync and Flush, is that of all calls from then on; a draft is not published any more. It is [ErrChanged]
// if others change a file that is in place. A server that was started again does not know the file; what was synced in
// place before that is there.
//
// Its methods may be called at once, and wait for each other. They have no context: Close and Client.Close end what is
// under way.
type WritableFile struct {
	client *Client
	opened string // the name that it was opened by
	name   string
	id     []byte
	append bool
	ctx    context.Context // ends with the file
	cancel context.CancelCauseFunc
	idle   time.Duration // after which the server drops it
	keeper *time.Timer

	mu      sync.Mutex
	info    *fileservice.Info // as the server has told last
	size    int64
	changed time.Time // here; zero if nothing was written since info
	stale   bool      // something else was changed since info
	draft   bool      // it is to be published
	offset  int64     // of Read, Write and Seek
	writer  draftWriter
	err     error
	closed  bool
}

var (
	_ fs.File     = (*WritableFile)(nil)
	_ io.ReaderAt = (*WritableFile)(nil)
	_ io.WriterAt = (*WritableFile)(nil)
	_ io.Writer   = (*WritableFile)(nil)
	_ io.Seeker   = (*WritableFile)(nil)
)

// OpenFile opens a file with the flags of package os. To read only it is [Client.Open]. Otherwise the result is a
// *[WritableFile], and the server has to be writable. A file that is made has these permissions, less the umask of the
// server; one that is there keeps its own, and is written in place, unless os.O_TRUNC is set.
//
// Others may write the file at the same time. If there are several drafts, the one that is published last stays. With
// os.O_APPEND, Write writes at the end of the file as this client sees it. The file can be read whatever the flags say.
func (c *Client) OpenFile(name string, flag int, perm fs.FileMode) (fs.File, error) {
	if flag&(os.O_WRONLY|os.O_RDWR|os.O_CREATE|os.O_TRUNC) == 0 {
		return c.Open(name)
	}
	return c.openFile(c.ctx, name, flag, perm)
}

// openFile opens a file for writing. The context is for that only.
func (c *Client) openFile(ctx context.Context, name string, flag int, perm fs.FileMode) (fs.File, error) {
	call, err := c.begin(ctx, "open", name)
	if err != nil {
		return nil, err
	}
	response, err := call.link.service.OpenDraft(call.ctx, &fileservicepb.OpenDraftRequest{
		Path: call.path, Create: flag&os.O_CREATE != 0, Exclusive: flag&os.O_EXCL != 0, Truncate: flag&os.O_TRUNC != 0,
		Permissions: uint32(perm.Perm()),
	})
	if err != nil {
		return nil, call.end(err)
	}
	info, err := wire.InfoOf(response.GetEntry(), call.path)
	idle := time.Duration(response.GetIdleMilliseconds()) * time.Millisecond
	switch {
	case err != nil:
	case !info.Mode().IsRegular() || len(response.GetDraft()) != wire.DraftIDSize:
		err = fmt.Errorf("%w: a draft of another kind", fileservice.ErrIntegrity)
	case idle <= 0 || idle > 24*time.Hour:
		err = fmt.Errorf("%w: a draft that is dropped after %v", fileservice.ErrIntegrity, idle)
	}
	if err = call.end(err); err != nil {
		return nil, err
	}
	f := &WritableFile{
		client: c, opened: name, name: name, id: response.GetDraft(), append: flag&os.O_APPEND != 0, idle: idle,
		info: info, size: info.Size(), draft: response.GetIsDraft(),
	}
	f.ctx, f.cancel = context.WithCancelCause(c.ctx)
	f.writer.file = f
	f.mu.Lock()
	defer f.mu.Unlock()
	f.keeper = time.AfterFunc(f.keepInterval(), f.keep)
	return f, nil
}

// maxStreamRest is how long a stream of writes that has nothing to send stays open.
const maxStreamRest = 2 * time.Second

// keepInterval is how often the server is told that the draft is still wanted.
func (f *WritableFile) keepInterval() time.Duration { return f.idle / 3 }

// keep ends streams of writes that nobody uses, and tells the server that the draft is still wanted.
func (f *WritableFile) keep() {
	if !f.mu.TryLock() {
		// A call waits for the server, perhaps behind much data.
		_ = f.tellKeep(f.opened)         // whoever needs the draft will be told
		f.keeper.Reset(f.keepInterval()) // if the file is closed meanwhile, the next time finds it
		return
	}
	if f.closed || f.err != nil {
		f.mu.Unlock()
		return
	}
	interval := min(f.keepInterval(), maxStreamRest)
	idle, name := f.writer.rest(), f.name
	f.mu.Unlock()
	if idle {
		interval = f.keepInterval()
		_ = f.tellKeep(name) // whoever needs the draft will be told
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.closed {
		if f.writer.used {
			interval = min(interval, maxStreamRest)
		}
		f.keeper.Reset(interval)
	}
}

func (f *WritableFile) tellKeep(name string) error {
	return f.call("keep", name, func(ctx context.Context, service fileservicepb.FileServiceClient) error {
		_, err := service.ChangeDraft(ctx, &fileservicepb.ChangeDraftRequest{Draft: f.id}) // of nothing
		return err
	})
}

// call makes a call about the draft that may take as long as the disk of the server needs.
func (f *WritableFile) call(
	op, name string, do func(ctx context.Context, service fileservicepb.FileServiceClient) error,
) error {
	call, err := f.client.begin(f.ctx, op, name)
	if err != nil {
		return err
	}
	call.pause()
	return call.end(do(call.ctx, call.link.service))
}

func (f *WritableFile) fault(op string, err error) error {
	return &fs.PathError{Op: op, Path: f.name, Err: err}
}

// usable gives the error of a file that is closed or has failed. mu is held.
func (f *WritableFile) usable(op string) error {
	if f.closed {
		return f.fault(op, fs.ErrClosed)
	}
	return f.err
}

// fail keeps the first error, and ends what is under way. mu is held.
func (f *WritableFile) fail(err error) error {
	if f.err == nil && err != nil {
		f.err = err
		f.writer.abort()
	}
	return f.err
}

// Stat describes the file as it is with what was written.
func (f *WritableFile) Stat() (fs.FileInfo, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed {
		return nil, f.fault("stat", fs.ErrClosed)
	}
	attributes := f.info.Attributes()
	if !f.changed.IsZero() {
		attributes.Version = fileservice.Version{Size: f.size, ModifiedUnixNano: fileservice.UnixNano(f.changed)}
	}
	return fileservice.NewInfo(attributes), nil
}

// Truncate sets the size. What is new reads as zeros.
func (f *WritableFile) Truncate(size int64) error {
	if size < 0 || size > fileservice.MaxFileSize {
		return f.fault("truncate", fs.ErrInvalid)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := f.change("truncate", &fileservicepb.ChangeDraftRequest{Size: &size}); err != nil {
		return f.fail(err)
	}
	f.size, f.changed = size, time.Now()
	return nil
}

// Chmod sets permissions: of a draft, those that it has when it is published.
func (f *WritableFile) Chmod(mode fs.FileMode) error {
	permissions := uint32(mode.Perm())
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := f.change("chmod", &fileservicepb.ChangeDraftRequest{Permissions: &permissions}); err != nil {
		return err
	}
	attributes := f.info.Attributes()
	attributes.Mode = mode.Perm()
	f.info, f.stale = fileservice.NewInfo(attributes), true
	return nil
}

// Chtimes sets when the file was last read and changed: of a draft, as seen when it is published. A zero time leaves
// what is there. To write later changes it again.
func (f *WritableFile) Chtimes(atime, mtime time.Time) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	err := f.change("chtimes", &fileservicepb.ChangeDraftRequest{
		AccessedUnixNano: unixNano(atime), ModifiedUnixNano: unixNano(mtime),
	})
	if err != nil {
		return err
	}
	f.stale = true
	if !mtime.IsZero() {
		f.changed = mtime
	}
	return nil
}

// change makes a change behind what was written. mu is held.
func (f *WritableFile) change(op string, request *fileservicepb.ChangeDraftRequest) error {
	if err := f.usable(op); err != nil {
		return err
	}
	if err := f.writer.wait(); err != nil {
		return f.fail(err)
	}
	request.Draft = f.id
	return f.call(op, f.name, func(ctx context.Context, service fileservicepb.FileServiceClient) error {
		_, err := service.ChangeDraft(ctx, request)
		return err
	})
}

// Sync makes what was written durable on the server, and the name of a file in place. A draft has no name yet: if the
// server ends before Publish, the draft is lost. After a Sync, Publish returns when the name is durable, too. Stat then
// describes the file as the server has it.
func (f *WritableFile) Sync() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := f.usable("sync"); err != nil {
		return err
	}
	if err := f.writer.wait(); err != nil {
		return f.fail(err)
	}
	return f.fail(f.call("sync", f.name, func(ctx context.Context, service fileservicepb.FileServiceClient) error {
		entry, err := service.SyncDraft(ctx, &fileservicepb.SyncDraftRequest{Draft: f.id})
		if err != nil || f.draft {
			return err
		}
		return f.take(entry, f.name)
	}))
}

// Flush returns when the server has what was written. Stat describes a file in place as the server has it then.
func (f *WritableFile) Flush() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := f.usable("flush"); err != nil {
		return err
	}
	if err := f.writer.wait(); err != nil {
		return f.fail(err)
	}
	if f.draft || f.changed.IsZero() && !f.stale {
		return nil
	}
	return f.fail(f.publish(f.name, false))
}

// Publish gives a draft a name, of whatever directory: the name of OpenFile, or another one. What is there is replaced,
// unless replace is false; then it fails with fs.ErrExist. It is durable if Sync was called before or is called
// afterwards. Otherwise the server begins to write the file to its disk, and does not wait for that. If it cannot have
// the name, it may be published under another one.
//
// Writing may go on, in place. To publish that again under the same name is to flush it; another name is given by
// [Client.Rename].
func (f *WritableFile) Publish(name string, replace bool) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := f.usable("publish"); err != nil {
		return err
	}
	if !f.draft && name != f.name {
		return f.fault("publish", fs.ErrInvalid)
	}
	if err := f.writer.wait(); err != nil {
		return f.fail(err)
	}
	if !f.draft && f.changed.IsZero() && !f.stale {
		return nil
	}
	err := f.publish(name, replace)
	if !f.draft || errors.Is(err, fileservice.ErrIntegrity) {
		return f.fail(err)
	}
	return err
}

// publish is Publish of what the server has. mu is held.
func (f *WritableFile) publish(name string, replace bool) error {
	return f.call("publish", name, func(ctx context.Context, service fileservicepb.FileServiceClient) error {
		entry, err := service.PublishDraft(ctx, &fileservicepb.PublishDraftRequest{
			Draft: f.id, Path: f.client.at(name), Replace: replace,
		})
		if err == nil {
			err = f.take(entry, name)
		}
		return err
	})
}

// take takes over what the server says of a file that is in place. mu is held.
func (f *WritableFile) take(entry *fileservicepb.Entry, name string) error {
	info, err := wire.InfoOf(entry, f.client.at(name))
	if err == nil && (!info.Mode().IsRegular() || info.Size() != f.size) {
		if !f.draft {
			return fileservice.ErrChanged // by others, after the server has looked for that
		}
		err = fmt.Errorf("%w: it has another file", fileservice.ErrIntegrity)
	}
	if err != nil {
		return err
	}
	f.name, f.info, f.draft, f.changed, f.stale = name, info, false, time.Time{}, false
	return nil
}

// Close ends the file, and discards a draft that was not published. It ends calls under way (Flush waits for them), and
// takes at most the client's Timeout.
func (f *WritableFile) Close() error {
	f.cancel(fs.ErrClosed) // which ends those who have the lock
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed {
		return f.fault("close", fs.ErrClosed)
	}
	f.closed = true
	f.keeper.Stop()
	f.writer.abort()
	if !errors.Is(f.err, fileservice.ErrUnreachable) {
		f.drop()
	}
	return nil
}

// drop tells the server that it need not keep the draft. If that is not heard, the draft is dropped when it is idle.
func (f *WritableFile) drop() {
	call, err := f.client.begin(f.client.life, "close", f.name)
	if err != nil {
		return
	}
	_, err = call.link.service.DropDraft(call.ctx, &fileservicepb.DropDraftRequest{Draft: f.id})
	_ = call.end(err)
}
