package fileservice

import (
	"context"
	"crypto/rand"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"culvert/internal/disk"
)

// errNoDraft is the error of calls that name a draft which is not there (any more): it was ended, or dropped because it
// was idle, or the server is another one.
var errNoDraft = refused("there is no such draft")

// draft is a file that a client writes at any offset, while nobody sees it.
//
//	open      NAME as source              or an empty .draft
//	write     source ──copy──▶ .draft ◀── bytes
//	publish   .draft ──▶ NAME, which is the source then
//
// A file that is opened and not changed is not copied. If the draft is to be durable, it is synced before it gets its
// name, and the directory afterwards.
type draft struct {
	root      *os.Root
	dir       *os.Root // that the file is in, so that the draft goes with it
	local     string   // path, for people
	base      string   // name in dir
	publisher *disk.Publisher

	// work is held for reading by those who read and write the file, and else by those who change which one it is.
	work        sync.RWMutex
	file        disk.LockedFile // the draft; nil if nothing was written since source was opened
	name        string          // of the draft in dir
	source      *os.File        // what it begins with; nil if there is a file
	version     Version         // of source
	owner       fs.FileInfo     // whose user and group the file gets; nil for those of this process
	permissions fs.FileMode     // that the file gets
	ended       bool

	turn sync.Mutex // of those who write

	mu      sync.Mutex
	err     error // the first of a write, after which it can only be dropped
	durable bool  // publish syncs: the client has asked for it, or what is there may be durable and would be lost
}

// draftOptions say how a draft is opened, as the flags of open(2) do.
type draftOptions struct {
	create, exclusive, truncate bool
	permissions                 fs.FileMode
}

func openDraft(root *os.Root, publisher *disk.Publisher, local string, options draftOptions) (*draft, error) {
	dir, err := openParent(root, local)
	if err != nil {
		return nil, err
	}
	d := &draft{root: root, dir: dir, local: local, base: filepath.Base(local), publisher: publisher}
	if err := d.open(options); err != nil {
		return nil, errors.Join(err, d.end())
	}
	return d, nil
}

// openParent opens the directory that a file is in.
func openParent(root *os.Root, local string) (*os.Root, error) {
	parent := filepath.Dir(local)
	dir, err := root.OpenRoot(parent)
	if err != nil {
		if info, other := root.Lstat(parent); other == nil && info.Mode().IsRegular() {
			err = &fs.PathError{Op: "write", Path: local, Err: syscall.ENOTDIR} // package os has no errno here
		}
		return nil, err
	}
	return dir, nil
}

func (d *draft) open(options draftOptions) error {
	info, err := d.dir.Lstat(d.base)
	switch {
	case errors.Is(err, fs.ErrNotExist) && options.create:
		d.permissions = options.permissions.Perm() &^ umask()
		return d.create()
	case err != nil:
		return err
	case options.create && options.exclusive:
		return d.fault(syscall.EEXIST)
	case info.IsDir():
		return d.fault(syscall.EISDIR)
	case !info.Mode().IsRegular():
		return d.fault(notRegular(info.Mode()))
	}
	// To open it for writing asks whether this process may.
	source, err := d.dir.OpenFile(d.base, os.O_RDWR|openWithoutWaiting, 0)
	if err != nil {
		return err
	}
	d.source, d.owner, d.permissions = source, info, info.Mode().Perm()
	opened, err := source.Stat()
	if err != nil {
		return err
	}
	if !os.SameFile(opened, info) {
		return d.fault(ErrChanged)
	}
	d.version = VersionOf(opened)
	if options.truncate {
		return d.create()
	}
	d.durable = opened.Size() > 0
	return nil
}

// fault is called with work held.
func (d *draft) fault(err error) error { return &fs.PathError{Op: "write", Path: d.local, Err: err} }

// create begins with an empty file, without the source. work is held.
func (d *draft) create() error {
	file, name, err := createDraft(d.dir, d.base)
	if err != nil {
		return err
	}
	d.file, d.name = file, name
	return d.closeSource()
}

// createDraft makes an empty draft of a file. One that has just been made may be held by whoever looks for those that
// were left, who removes it then, so that another one is tried.
func createDraft(dir *os.Root, base string) (file disk.LockedFile, name string, err error) {
	const attempts = 100
	for range attempts {
		name = draftName(base)
		file, err = disk.InRoot{Root: dir}.OpenLocked(name)
		if !errors.Is(err, disk.ErrLocked) {
			break
		}
	}
	return file, name, err
}

// draftName is a name for a draft of a file, which is not longer than names may be.
func draftName(base string) string {
	const longest = 200
	base = strings.ToValidUTF8(base[:min(len(base), longest)], "")
	return base + "." + strings.ToLower(rand.Text()[:12]) + draftSuffix
}

func (d *draft) closeSource() error {
	if d.source == nil {
		return nil
	}
	err := d.source.Close()
	d.source = nil
	return err
}

// usable gives the error of a draft that has failed or ended. work is held, in one way or the other.
func (d *draft) usable() error {
	if d.ended {
		return errNoDraft
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.err
}

func (d *draft) fail(err error) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.err == nil {
		d.err = err
	}
	return d.err
}

// writeAt writes into the draft. What several goroutines write at once must not overlap.
func (d *draft) writeAt(ctx context.Context, p []byte, offset int64) error {
	if offset < 0 || offset > maxFileSize-int64(len(p)) {
		return &fs.PathError{Op: "write", Err: syscall.EFBIG}
	}
	d.work.RLock()
	defer func() { d.work.RUnlock() }()
	for d.file == nil {
		d.work.RUnlock()
		d.work.Lock()
		err := d.prepare(ctx, maxFileSize)
		d.work.Unlock()
		d.work.RLock()
		if err != nil {
			return err
		}
	}
	if err := d.usable(); err != nil {
		return err
	}
	// The kernel lets in one at a time to a file, and the others would spin until it is their turn.
	d.turn.Lock()
	_, err := d.file.WriteAt(p, offset)
	d.turn.Unlock()
	if end := offset + int64(len(p)); err == nil && end >= BlockSize && end%BlockSize == 0 {
		err = d.file.Writeback(end-BlockSize, BlockSize)
	}
	if err != nil {
		return d.fail(err)
	}
	return nil
}

// readAt gives what is there, which may be less than p.
func (d *draft) readAt(p []byte, offset int64) (n int, err error) {
	d.work.RLock()
	defer d.work.RUnlock()
	if err := d.usable(); err != nil {
		return 0, err
	}
	if d.file != nil {
		n, err = d.file.ReadAt(p, offset)
	} else if n, err = d.source.ReadAt(p, offset); err == nil || err == io.EOF {
		if changed := unchanged(d.source, d.version); changed != nil {
			return 0, changed
		}
	}
	if err == io.EOF {
		err = nil
	}
	return n, err
}

// truncate sets the size.
func (d *draft) truncate(ctx context.Context, size int64) error {
	if size < 0 || size > maxFileSize {
		return &fs.PathError{Op: "truncate", Err: syscall.EFBIG}
	}
	d.work.Lock()
	defer d.work.Unlock()
	if err := d.usable(); err != nil {
		return err
	}
	var err error
	switch {
	case d.file == nil && size == 0:
		err = d.create()
	case d.file == nil:
		err = d.prepare(ctx, size)
	}
	if err == nil {
		err = d.file.Truncate(size)
	}
	return err
}

// setAttributes sets permissions and times. Of a file that was not changed they are those that it has now.
func (d *draft) setAttributes(permissions *uint32, accessed, modified time.Time) error {
	d.work.Lock()
	defer d.work.Unlock()
	if err := d.usable(); err != nil {
		return err
	}
	if permissions != nil {
		d.permissions = permissionsOf(*permissions)
	}
	if d.file != nil {
		if accessed.IsZero() && modified.IsZero() {
			return nil
		}
		if err := checkName(d.dir, d.name, d.file); err != nil {
			return err
		}
		return d.dir.Chtimes(d.name, accessed, modified)
	}
	if err := unchanged(d.source, d.version); err != nil {
		return err
	}
	if err := checkName(d.dir, d.base, d.source); err != nil {
		return err
	}
	if permissions != nil {
		if err := d.source.Chmod(d.permissions); err != nil {
			return err
		}
	}
	err := d.dir.Chtimes(d.base, accessed, modified)
	info, statErr := d.source.Stat()
	if statErr == nil {
		d.version = VersionOf(info)
	}
	return errors.Join(err, statErr)
}

// checkName fails if a name is not that of an open file any more.
func checkName(dir *os.Root, name string, file interface{ Stat() (fs.FileInfo, error) }) error {
	opened, err := file.Stat()
	if err != nil {
		return err
	}
	named, err := dir.Lstat(name)
	if err != nil {
		return err
	}
	if !os.SameFile(opened, named) {
		return &fs.PathError{Op: "write", Path: name, Err: errExchanged}
	}
	return nil
}

// sync makes the content durable, and the name: now, if it was published, or else when it is.
func (d *draft) sync() error {
	d.work.RLock()
	defer d.work.RUnlock()
	if err := d.usable(); err != nil {
		return err
	}
	d.mu.Lock()
	d.durable = true
	d.mu.Unlock()
	var err error
	if d.file != nil {
		err = d.file.Sync()
	} else if err = d.source.Sync(); err == nil {
		err = disk.InRoot{Root: d.dir}.SyncDir(".")
	}
	if err != nil {
		return d.fail(err) // a second sync may say that all is well
	}
	return nil
}

// stat describes the file as it is, with the permissions that it gets, and says whether there is something to commit.
func (d *draft) stat() (info fs.FileInfo, permissions fs.FileMode, changed bool, err error) {
	d.work.RLock()
	defer d.work.RUnlock()
	if err = d.usable(); err != nil {
		return nil, 0, false, err
	}
	if d.file != nil {
		info, err = d.file.Stat()
	} else {
		info, err = d.source.Stat()
	}
	return info, d.permissions, d.file != nil, err
}

// end drops what was not published, when nobody works with it any more.
func (d *draft) end() error {
	d.work.Lock()
	defer d.work.Unlock()
	if d.ended {
		return nil
	}
	d.ended = true
	var err error
	if d.file != nil {
		if err = d.dir.Remove(d.name); errors.Is(err, fs.ErrNotExist) {
			err = nil // so is the directory, perhaps
		}
		err = errors.Join(err, d.file.Close())
	}
	return errors.Join(err, d.closeSource(), d.dir.Close())
}
