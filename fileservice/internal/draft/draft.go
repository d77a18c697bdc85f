// Package draft writes files at any offset, which nobody sees before they are published, or in place.
package draft

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"culvert/fileservice"
	"culvert/fileservice/internal/osfile"
	"culvert/fileservice/internal/wire"
	"culvert/internal/publish"
)

// ErrGone is the error of calls that name a draft which is not there (any more): it was ended, or dropped because it
// was idle, or the server is another one. What was not synced of it is lost, as after an error of the disk.
var ErrGone error = &wire.Error{Kind: fileservice.ErrRefused, Errno: syscall.EIO, Text: "there is no such draft"}

// draft is a file that a client writes at any offset. One that is new, or gets new content, is written where nobody
// sees it until it is published; one that has its name is written in place.
//
//	open      an empty .draft             or NAME, in place
//	write     .draft ◀── bytes            or NAME ◀── bytes
//	publish   .draft ──▶ NAME, which is in place from then on
//
// If a draft is to be durable, it is synced before it gets its name, and the directory afterwards.
type File struct {
	root      *os.Root
	dir       *os.Root // that the file is in, so that the draft goes with it
	local     string   // path, for people
	base      string   // name in dir
	publisher *publish.Publisher

	// work is held for reading by those who read and write the file, and else by those who change what it is.
	work        sync.RWMutex
	file        publish.File // what is written, which has a lock if it is a draft
	name        string       // of the draft in dir; "" if the file is written in place
	owner       fs.FileInfo  // whose user and group a draft gets; nil for those of this process
	permissions fs.FileMode  // that a draft gets
	ended       bool

	// turn is of those who change the file. What others change in a file in place is found by its size and time.
	turn     sync.Mutex
	size     int64
	modified time.Time

	mu      sync.Mutex
	err     error // the first of a write, after which it can only be dropped
	durable bool  // the client has asked for it: publish syncs
	named   bool  // the name is durable
}

// Options say how a draft is opened, as the flags of open(2) do.
type Options struct {
	Create, Exclusive, Truncate bool
	Permissions                 fs.FileMode
}

func Open(root *os.Root, publisher *publish.Publisher, local string, options Options) (*File, error) {
	dir, err := openParent(root, local)
	if err != nil {
		return nil, err
	}
	d := &File{root: root, dir: dir, local: local, base: filepath.Base(local), publisher: publisher}
	if err := d.open(options); err != nil {
		return nil, errors.Join(err, d.End())
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

func (d *File) open(options Options) error {
	info, err := d.dir.Lstat(d.base)
	switch {
	case errors.Is(err, fs.ErrNotExist) && options.Create:
		d.permissions = options.Permissions.Perm() &^ osfile.Umask()
		return d.create()
	case err != nil:
		return err
	case options.Create && options.Exclusive:
		return d.fault(syscall.EEXIST)
	case info.IsDir():
		return d.fault(syscall.EISDIR)
	case !info.Mode().IsRegular():
		return d.fault(fileservice.NotRegular(info.Mode()))
	}
	// To open it for writing asks whether this process may, also if a draft takes its place.
	file, err := d.dir.OpenFile(d.base, os.O_RDWR|osfile.NoWait, 0)
	if err != nil {
		return err
	}
	opened, err := file.Stat()
	if err == nil && !os.SameFile(opened, info) {
		err = d.fault(fileservice.ErrChanged)
	}
	if err != nil {
		return errors.Join(err, file.Close())
	}
	if options.Truncate {
		d.owner, d.permissions = info, info.Mode().Perm()
		return errors.Join(file.Close(), d.create())
	}
	d.putInPlace(file, opened)
	return nil
}

// putInPlace has the file written that has the name. work is held, or nobody else has the draft.
func (d *File) putInPlace(file *os.File, info fs.FileInfo) {
	d.file, d.name, d.owner = publish.NewFile(file), "", nil
	d.size, d.modified = info.Size(), info.ModTime()
}

func (d *File) isInPlace() bool { return d.file != nil && d.name == "" }

// fault is called with work held.
func (d *File) fault(err error) error { return &fs.PathError{Op: "write", Path: d.local, Err: err} }

// create begins with an empty draft.
func (d *File) create() (err error) {
	d.file, d.name, err = createDraft(d.dir, d.base)
	return err
}

// usable gives the error of a draft that has failed or ended. work is held, in one way or the other.
func (d *File) usable() error {
	if d.ended {
		return ErrGone
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.err
}

func (d *File) fail(err error) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.err == nil {
		d.err = err
	}
	return d.err
}

// WriteAt writes into the file. What several goroutines write at once must not overlap.
func (d *File) WriteAt(p []byte, offset int64) error {
	if offset < 0 || offset > fileservice.MaxFileSize-int64(len(p)) {
		return &fs.PathError{Op: "write", Err: syscall.EFBIG}
	}
	d.work.RLock()
	defer d.work.RUnlock()
	if err := d.usable(); err != nil {
		return err
	}
	err := d.change(func() error {
		_, err := d.file.WriteAt(p, offset)
		return err
	})
	if end := offset + int64(len(p)); err == nil && end >= fileservice.BlockSize && end%fileservice.BlockSize == 0 {
		err = d.file.Writeback(end-fileservice.BlockSize, fileservice.BlockSize)
	}
	if err != nil {
		return d.fail(err)
	}
	return nil
}

// change changes the file. The kernel lets in one at a time to a file, and others would spin until it is their turn.
func (d *File) change(do func() error) error {
	d.turn.Lock()
	defer d.turn.Unlock()
	if !d.isInPlace() {
		return do()
	}
	if err := d.checkUnchanged(); err != nil {
		return err
	}
	if err := do(); err != nil {
		return err
	}
	info, err := d.file.Stat()
	if err == nil {
		d.size, d.modified = info.Size(), info.ModTime()
	}
	return err
}

// checkUnchanged fails if others have changed a file that is written in place. The client has parts of it in memory,
// and would mix what it wrote with theirs. It takes the bits away with which a program runs as the owner of the file:
// the system does not if it is the superuser who writes. The caller has the turn.
func (d *File) checkUnchanged() error {
	info, err := d.file.Stat()
	if err != nil {
		return err
	}
	if info.Size() != d.size || !info.ModTime().Equal(d.modified) {
		return d.fault(fileservice.ErrChanged)
	}
	if info.Mode()&(fs.ModeSetuid|fs.ModeSetgid) != 0 {
		return d.file.Chmod(info.Mode().Perm())
	}
	return nil
}

// ReadAt gives what is there, which may be less than p.
func (d *File) ReadAt(p []byte, offset int64) (n int, err error) {
	d.work.RLock()
	defer d.work.RUnlock()
	if err := d.usable(); err != nil {
		return 0, err
	}
	n, err = d.file.ReadAt(p, offset)
	if err == io.EOF {
		err = nil
	}
	return n, err
}

// Truncate sets the size.
func (d *File) Truncate(size int64) error {
	if size < 0 || size > fileservice.MaxFileSize {
		return &fs.PathError{Op: "truncate", Err: syscall.EFBIG}
	}
	d.work.RLock()
	defer d.work.RUnlock()
	if err := d.usable(); err != nil {
		return err
	}
	return d.change(func() error { return d.file.Truncate(size) })
}

// SetAttributes sets permissions and times, of a file in place at once.
func (d *File) SetAttributes(permissions *fs.FileMode, accessed, modified time.Time) error {
	d.work.Lock()
	defer d.work.Unlock()
	if err := d.usable(); err != nil {
		return err
	}
	return d.change(func() error {
		name := d.name
		if d.isInPlace() {
			name = d.base
		}
		if permissions != nil {
			d.permissions = permissions.Perm()
			if d.isInPlace() {
				if err := d.file.Chmod(d.permissions); err != nil {
					return err
				}
			}
		}
		if accessed.IsZero() && modified.IsZero() {
			return nil
		}
		if err := osfile.CheckName(d.dir, name, d.file); err != nil {
			return err
		}
		return d.dir.Chtimes(name, accessed, modified)
	})
}

// Sync makes the content durable, and the name: now, if the file has it, or else when it is published.
func (d *File) Sync() error {
	d.work.RLock()
	defer d.work.RUnlock()
	if err := d.usable(); err != nil {
		return err
	}
	d.mu.Lock()
	d.durable = true
	named := d.named
	d.mu.Unlock()
	if !d.isInPlace() {
		if err := d.file.Sync(); err != nil {
			return d.fail(err) // a second sync may say that all is well
		}
		return nil
	}
	d.turn.Lock()
	err := d.checkUnchanged()
	d.turn.Unlock()
	// What has no name any more is not what others see, although the system would sync it.
	if is, namedErr := publish.HasName(d.file); err == nil && (!is || namedErr != nil) {
		err = errors.Join(d.fault(fileservice.ErrChanged), namedErr)
	}
	if err == nil {
		err = d.file.SyncAll()
	}
	if err == nil && !named {
		err = publish.SyncDir(d.dir, ".")
	}
	if err != nil {
		return d.fail(err)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.named = true
	return nil
}

// Stat describes the file as it is, with the permissions that it gets, and says whether it is to be published.
func (d *File) Stat() (info fs.FileInfo, permissions fs.FileMode, isDraft bool, err error) {
	d.work.RLock()
	defer d.work.RUnlock()
	if err = d.usable(); err != nil {
		return nil, 0, false, err
	}
	info, err = d.file.Stat()
	if err == nil && d.isInPlace() {
		return info, info.Mode().Perm(), false, nil
	}
	return info, d.permissions, true, err
}

// End drops what was not published, when nobody works with it any more.
func (d *File) End() error {
	d.work.Lock()
	defer d.work.Unlock()
	if d.ended {
		return nil
	}
	d.ended = true
	var err error
	if d.name != "" {
		if err = d.dir.Remove(d.name); errors.Is(err, fs.ErrNotExist) {
			err = nil // so is the directory, perhaps
		}
	}
	if d.file != nil {
		err = errors.Join(err, d.file.Close())
	}
	return errors.Join(err, d.dir.Close())
}
