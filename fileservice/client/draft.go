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

// A WritableFile is a file that [Client.OpenFile] opened for writing. A new or truncated file is a draft: its content
// is invisible until Publish gives it a name, and Close discards it if it was not published. Any other file is in
// place: others see writes as they arrive, and Close undoes nothing.
//
// Writes return before the server has executed them, and keep their order. The first error of a write, Truncate, Sync
// or Flush is the error of all later calls; such a draft cannot be published. If others change a file in place, that
// error is [fileservice.ErrChanged]. A restarted server no longer knows the file, but keeps what was synced in place.
//
// A file holds at most 8 MiB that the server has not confirmed, and all files of a client together 16 MiB. Then writes
// wait.
//
// Its methods are safe for concurrent use, and wait for each other. They have no context: Close and [Client.Close] end
// calls in progress.
type WritableFile struct {
	client *Client
	opened string // the name given to OpenFile
	name   string
	id     []byte
	append bool
	ctx    context.Context // ends with the file
	cancel context.CancelCauseFunc
	idle   time.Duration // after which the server drops the file
	keeper *time.Timer

	mu      sync.Mutex
	info    *fileservice.Info // as last reported by the server
	size    int64
	changed time.Time // when it was last written; zero if not since info
	stale   bool      // attributes were changed since info
	draft   bool      // not yet published
	offset  int64     // of Read and Write
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

// ErrDiscarded is the error of Close for a draft that was not published.
var ErrDiscarded = errors.New("fileservice: the file was discarded because it was not published")

// OpenFile opens a file with flags of package os. If the flags are os.O_RDONLY alone, OpenFile is [Client.Open].
// Otherwise it returns a *[WritableFile], which can also be read; the server must be writable. A file that OpenFile
// creates has the permissions perm, less the server's umask. An existing file keeps its permissions and is written in
// place, unless os.O_TRUNC is set.
//
// Others may write the file at the same time. Of several drafts, the last one published remains. With os.O_APPEND,
// Write writes at the end of the file as this client sees it.
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
		err = fmt.Errorf("%w: an invalid draft", fileservice.ErrIntegrity)
	case idle <= 0 || idle > 24*time.Hour:
		err = fmt.Errorf("%w: a draft with an idle time of %v", fileservice.ErrIntegrity, idle)
	}
	if err = call.end(err); err != nil {
		return nil, err
	}
	f := &WritableFile{
		client: c, opened: name, name: name, id: response.GetDraft(), append: flag&os.O_APPEND != 0, idle: idle,
		info: info, size: info.Size(), draft: response.GetIsDraft(),
	}
	f.ctx, f.cancel = context.WithCancelCause(c.ctx)
	f.writer.init(f)
	f.mu.Lock()
	defer f.mu.Unlock()
	f.keeper = time.AfterFunc(f.keepInterval(), f.keep)
	return f, nil
}

// maxWriteRest is how long writes wait for others that they can be sent with.
const maxWriteRest = 2 * time.Second

// keepInterval is how often keep tells the server that the file is in use.
func (f *WritableFile) keepInterval() time.Duration { return f.idle / 3 }

// keep sends pending writes, and tells the server that the file is in use.
func (f *WritableFile) keep() {
	if !f.mu.TryLock() {
		// A call is waiting for the server, perhaps behind much data.
		_ = f.tellKeep(f.opened)         // the next call reports the error
		f.keeper.Reset(f.keepInterval()) // if the file is closed meanwhile, the next keep returns
		return
	}
	if f.closed || f.err != nil {
		f.mu.Unlock()
		return
	}
	interval := min(f.keepInterval(), maxWriteRest)
	idle, name := f.writer.rest(), f.name
	f.mu.Unlock()
	if idle {
		interval = f.keepInterval()
		_ = f.tellKeep(name) // the next call reports the error
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.closed {
		if f.writer.used {
			interval = min(interval, maxWriteRest)
		}
		f.keeper.Reset(interval)
	}
}

func (f *WritableFile) tellKeep(name string) error {
	return f.call("keep", name, func(ctx context.Context, service fileservicepb.FileServiceClient) error {
		_, err := service.ChangeDraft(ctx, &fileservicepb.ChangeDraftRequest{Draft: f.id}) // changes nothing
		return err
	})
}

// call makes a call about the file that may wait for the server's disk.
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

// usable returns the error of a file that is closed or has failed. mu is held.
func (f *WritableFile) usable(op string) error {
	if f.closed {
		return f.fault(op, fs.ErrClosed)
	}
	return f.err
}

// settle waits until the server has everything written. mu is held.
func (f *WritableFile) settle(op string) error {
	if err := f.usable(op); err != nil {
		return err
	}
	return f.fail(f.writer.wait())
}

// fail keeps the first error, and aborts writes. mu is held.
func (f *WritableFile) fail(err error) error {
	if f.err == nil && err != nil {
		f.err = err
		f.writer.abort()
	}
	return f.err
}

// Stat describes the file, including everything written.
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

// Truncate sets the size. Added bytes are zero.
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

// Chmod sets the permissions. A draft gets them when it is published.
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

// Chtimes sets the access and modification times. A draft gets them when it is published. A zero time leaves that time
// unchanged. Later writes change the modification time again.
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

// change changes the file after all earlier writes. mu is held.
func (f *WritableFile) change(op string, request *fileservicepb.ChangeDraftRequest) error {
	if err := f.settle(op); err != nil {
		return err
	}
	request.Draft = f.id
	return f.call(op, f.name, func(ctx context.Context, service fileservicepb.FileServiceClient) error {
		_, err := service.ChangeDraft(ctx, request)
		return err
	})
}

// Sync makes everything written durable on the server, and the name of a file in place. A draft has no name yet: it is
// lost if the server stops before Publish. After Sync, Publish also makes the name durable. Stat of a file in place
// then describes it as the server has it.
func (f *WritableFile) Sync() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := f.settle("sync"); err != nil {
		return err
	}
	return f.fail(f.call("sync", f.name, func(ctx context.Context, service fileservicepb.FileServiceClient) error {
		entry, err := service.SyncDraft(ctx, &fileservicepb.SyncDraftRequest{Draft: f.id})
		if err != nil || f.draft {
			return err
		}
		return f.take(entry, f.name)
	}))
}

// Flush waits until the server has everything written. Stat of a file in place then describes it as the server has it.
func (f *WritableFile) Flush() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := f.settle("flush"); err != nil || f.draft {
		return err
	}
	return f.publish(f.name, false)
}

// Publish gives a draft a name, in any directory; it may differ from the name given to OpenFile. Publish replaces an
// existing file; if replace is false, it fails with fs.ErrExist instead. The draft may then be published under another
// name. The published file is durable if Sync is called before or afterwards. Otherwise the server only starts writing
// it to its disk.
//
// Afterwards the file is in place, and may still be written. Publish under the same name is then a Flush. To change the
// name, use [Client.Rename].
func (f *WritableFile) Publish(name string, replace bool) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := f.settle("publish"); err != nil {
		return err
	}
	if !f.draft && name != f.name {
		return f.fault("publish", fs.ErrInvalid)
	}
	return f.publish(name, replace)
}

// publish publishes what the server has. mu is held.
func (f *WritableFile) publish(name string, replace bool) error {
	if !f.draft && f.changed.IsZero() && !f.stale {
		return nil
	}
	err := f.call("publish", name, func(ctx context.Context, service fileservicepb.FileServiceClient) error {
		entry, err := service.PublishDraft(ctx, &fileservicepb.PublishDraftRequest{
			Draft: f.id, Path: f.client.at(name), Replace: replace,
		})
		if err == nil {
			err = f.take(entry, name)
		}
		return err
	})
	if !f.draft || errors.Is(err, fileservice.ErrIntegrity) {
		return f.fail(err)
	}
	return err
}

// take records the server's description of a file in place. mu is held.
func (f *WritableFile) take(entry *fileservicepb.Entry, name string) error {
	info, err := wire.InfoOf(entry, f.client.at(name))
	if err == nil && (!info.Mode().IsRegular() || info.Size() != f.size) {
		if !f.draft {
			return fileservice.ErrChanged // after the server's own check
		}
		err = fmt.Errorf("%w: the server described another file", fileservice.ErrIntegrity)
	}
	if err != nil {
		return err
	}
	f.name, f.info, f.draft, f.changed, f.stale = name, info, false, time.Time{}, false
	return nil
}

// Close closes the file. It does not wait for writes in place; call Flush or Sync first. Close discards a draft that
// was not published, and then returns [ErrDiscarded]. It ends calls in progress, and takes at most Timeout.
func (f *WritableFile) Close() error {
	f.cancel(fs.ErrClosed) // ends calls that hold the lock
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
	if f.draft {
		return f.fault("close", ErrDiscarded)
	}
	return nil
}

// drop tells the server to drop the file. If that fails, the server drops it when it has been idle for long enough.
func (f *WritableFile) drop() {
	_ = f.client.do(f.client.life, "close", f.name, func(call *call) error {
		_, err := call.link.service.DropDraft(call.ctx, &fileservicepb.DropDraftRequest{Draft: f.id})
		return err
	})
}
