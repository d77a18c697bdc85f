// Package draft writes files at any offset, hidden until they are published, or in place.
package draft

import (
	"errors"
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

// ErrGone is the error of calls that name an unknown draft: it was ended, was dropped because it was idle, or the
// server was restarted. Data that was not synced is lost, as after a disk error.
var ErrGone error = &wire.Error{Kind: fileservice.ErrRefused, Errno: syscall.EIO, Text: "unknown draft"}

// A File is written at any offset. A new file, or one that gets new content, is a draft, which is hidden until it is
// published. Any other file is written in place.
//
//	Open      an empty .draft             or NAME, in place
//	WriteAt   .draft ◀── bytes            or NAME ◀── bytes
//	Publish   .draft ──▶ NAME, which is in place from then on
//
// After a call of Sync, Publish syncs the draft before it renames it, and the directory afterwards.
type File struct {
	root      *os.Root
	dir       *os.Root // directory of the file; the draft moves with it
	local     string   // path, for messages
	base      string   // name in dir
	publisher *publish.Publisher

	// work is locked for reading to read and write the file, and for writing to replace or describe it.
	work        sync.RWMutex
	file        publish.File // locked if it is a draft
	name        string       // of the draft in dir; "" if the file is written in place
	owner       fs.FileInfo  // the file whose user and group a draft gets; nil for those of this process
	permissions fs.FileMode  // of the published draft
	ended       bool

	// turn is held to change the file. Changes by other programs to a file in place show in its size and time.
	turn     sync.Mutex
	size     int64
	modified time.Time

	mu      sync.Mutex
	err     error // the first error of a write, after which the file can only be ended
	durable bool  // Sync was called, so Publish syncs
	named   bool  // the name is durable
}

// Options say how a file is opened, like the flags of open(2).
type Options struct {
	Create, Exclusive, Truncate bool
	Permissions                 fs.FileMode
}

// Open opens the file at the path local.
func Open(root *os.Root, publisher *publish.Publisher, local string, options Options) (*File, error) {
	dir, err := openParent(root, local)
	if err != nil {
		return nil, err
	}
	d := &File{root: root, dir: dir, local: local, base: filepath.Base(local), publisher: publisher}
	if err := d.open(options); err != nil {
		return nil, errors.Join(err, d.Close())
	}
	return d, nil
}

// openParent opens the directory of a file.
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
	// Opening the file checks that this process may write it, even if a draft replaces it.
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

// putInPlace makes d write the file that has the name. work is held, or no other goroutine uses d.
func (d *File) putInPlace(file *os.File, info fs.FileInfo) {
	d.file, d.name, d.owner = publish.NewFile(file), "", nil
	d.size, d.modified = info.Size(), info.ModTime()
}

func (d *File) isInPlace() bool { return d.file != nil && d.name == "" }

// fault is called with work held.
func (d *File) fault(err error) error { return &fs.PathError{Op: "write", Path: d.local, Err: err} }

func (d *File) create() (err error) {
	d.file, d.name, err = createDraft(d.dir, d.base)
	return err
}

// usable returns the error of a draft that has failed or ended. work is held, for reading or writing.
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

// WriteAt writes p at offset. Concurrent writes must not overlap.
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

// change changes the file. It admits one caller at a time, as the kernel does, where the others would spin.
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

// checkUnchanged fails if another program has changed a file in place: the client holds parts of it in memory and would
// mix them with the change. It also clears setuid and setgid, which the system does not do if the superuser writes.
// turn is held.
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

// ReadAt implements [io.ReaderAt].
func (d *File) ReadAt(p []byte, offset int64) (n int, err error) {
	d.work.RLock()
	defer d.work.RUnlock()
	if err := d.usable(); err != nil {
		return 0, err
	}
	return d.file.ReadAt(p, offset)
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

// SetAttributes sets permissions and times. A draft gets the permissions when it is published.
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

// Sync makes the content durable, and the name too: now, if the file is in place, otherwise in Publish.
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
			return d.fail(err) // a second sync could wrongly succeed
		}
		return nil
	}
	d.turn.Lock()
	err := d.checkUnchanged()
	d.turn.Unlock()
	// Readers cannot see a file that has lost its name, although the system would sync it.
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

// Stat returns the state of the file, the permissions that it has or gets, and whether it is still a draft.
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

// Close closes the file and removes an unpublished draft. It waits for other calls.
func (d *File) Close() error {
	d.work.Lock()
	defer d.work.Unlock()
	if d.ended {
		return nil
	}
	d.ended = true
	var err error
	if d.name != "" {
		if err = d.dir.Remove(d.name); errors.Is(err, fs.ErrNotExist) {
			err = nil // the directory may be removed, too
		}
	}
	if d.file != nil {
		err = errors.Join(err, d.file.Close())
	}
	return errors.Join(err, d.dir.Close())
}
