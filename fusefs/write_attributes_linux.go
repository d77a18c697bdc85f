package fusefs

import (
	"context"
	"io/fs"
	"syscall"
	"time"

	gofs "github.com/hanwen/go-fuse/v2/fs"
	"github.com/hanwen/go-fuse/v2/fuse"
)

// adopt takes over what a file is after a change of ours that left its content alone, so that what is open here stays
// so. It does not if there may have been other changes.
func (n *node) adopt(info fs.FileInfo, changedTimes bool) {
	now := versionOf(info)
	n.mu.Lock()
	defer n.mu.Unlock()
	before := n.version
	if now.size != before.size || !changedTimes && (now.seconds != before.seconds || now.nanos != before.nanos) {
		return
	}
	n.version = now
	n.changes++
	if n.cached == before {
		n.cached = now
	}
	if n.opened != nil {
		n.opened = info
	}
	if n.writing != nil && n.writing.published != nil {
		n.writing.published.adopt(info)
	}
}

// changeUnseen notes that a sync has something to do. What is open on the other side would take new times for a change
// by others.
func (n *node) changeUnseen(hasTimes bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	switch {
	case n.writing == nil || n.writing.published == nil:
	case hasTimes:
		n.dropPublished()
	default:
		n.writing.published.synced.Store(false)
	}
}

// Setattr changes permissions, times and size, of what is under construction if something is.
func (n *node) Setattr(ctx context.Context, h gofs.FileHandle, in *fuse.SetAttrIn, out *fuse.AttrOut) syscall.Errno {
	switch {
	case !n.m.config.ReadWrite:
		return syscall.EROFS
	case h == nil && n.isSpoiled():
		return syscall.ESTALE
	}
	uid, hasUID := in.GetUID()
	gid, hasGID := in.GetGID()
	if hasUID && uid != n.m.uid || hasGID && gid != n.m.gid {
		return syscall.EPERM
	}
	// What a signal would leave behind could still change the file, after what is written next.
	d := n.m.deadline(context.WithoutCancel(ctx))
	defer d.stop()
	if n.Mode() == syscall.S_IFREG {
		w, errno := n.take(d)
		if errno != 0 {
			return errno
		}
		errno = n.change(d, w, in, h != nil)
		w.giveBack()
		if errno != 0 {
			return errno
		}
	} else if errno := n.changeNamed(d, in); errno != 0 {
		return errno
	}
	if errno := n.Getattr(ctx, nil, out); errno != 0 {
		return errno
	}
	out.Ino = n.StableAttr().Ino
	out.SetTimeout(cacheTime)
	return 0
}

// change is Setattr for a regular file, by its name or by a handle. The caller has the turn. Programs that have the
// file open may close it meanwhile.
func (n *node) change(d *deadline, w *writing, in *fuse.SetAttrIn, byHandle bool) syscall.Errno {
	n.mu.Lock()
	w.changing = true
	fresh := w.draft == nil
	n.mu.Unlock()
	defer func() {
		n.mu.Lock()
		defer n.mu.Unlock()
		w.changing = false
		if n.handles == 0 {
			n.unused()
		}
	}()
	begun, errno := n.changeDraft(d, in, byHandle)
	if begun == nil {
		if errno == 0 {
			errno = n.changeNamed(d, in)
		}
		return errno
	}
	n.mu.Lock()
	writers := w.writers
	n.mu.Unlock()
	// An open that truncates looks like an open, and then a truncation to nothing by name. The kernel could have both
	// in one request, but takes the file to be empty only after the answer: what others append meanwhile would go to
	// where the end was.
	size, _ := in.GetSize()
	if writers > 0 && (byHandle || !fresh || size == 0) {
		return errno
	}
	// No close will come that is of this change.
	if errno == 0 {
		errno = n.publish(d)
	}
	if errno != 0 {
		n.mu.Lock()
		if fresh {
			n.endDraft() // nobody has read from it: who has the file open goes on with its version
		} else {
			n.dropDraft()
		}
		n.mu.Unlock()
	}
	return errno
}

// changeDraft changes what is being written, and begins with it for another size. It gives nil if what is left to
// change is of the file that has the name.
func (n *node) changeDraft(d *deadline, in *fuse.SetAttrIn, byHandle bool) (*draft, syscall.Errno) {
	if size, is := in.GetSize(); is {
		if errno := n.resize(d, size, byHandle); errno != 0 {
			return n.currentDraft(), errno
		}
	}
	begun := n.currentDraft()
	if begun == nil {
		return nil, 0
	}
	n.mu.Lock()
	removed := n.writing.removed
	n.mu.Unlock()
	_, hasMode := in.GetMode()
	atime, mtime := timesOf(in)
	if begun.inPlace.Load() && !removed && (hasMode || !atime.IsZero() || !mtime.IsZero()) {
		// What arrives later would change the times again.
		if errno := n.publish(d); errno != 0 {
			return begun, errno
		}
		return nil, 0
	}
	if mode, is := in.GetMode(); is {
		if errno := begun.chmod(d, modeOf(mode)); errno != 0 {
			return begun, errno
		}
	}
	if !atime.IsZero() || !mtime.IsZero() {
		return begun, begun.chtimes(d, atime, mtime)
	}
	return begun, 0
}

// timesOf gives the times to be set; zero ones stay as they are. A change of size sets the time of the change anyway.
func timesOf(in *fuse.SetAttrIn) (atime, mtime time.Time) {
	atime, _ = in.GetATime()
	mtime, _ = in.GetMTime()
	if in.Valid&fuse.FATTR_SIZE != 0 && in.Valid&fuse.FATTR_MTIME_NOW != 0 {
		return time.Time{}, time.Time{}
	}
	return atime, mtime
}

// resize changes the size. An open that truncates comes as a truncation to nothing by name, while a program has the
// file open to write: it gets new content, and others see the old one until that is complete.
func (n *node) resize(d *deadline, size uint64, byHandle bool) syscall.Errno {
	if int64(size) < 0 {
		return syscall.EFBIG
	}
	n.mu.Lock()
	replace := size == 0 && !byHandle && n.writing.draft == nil && n.writing.writers > 0
	n.mu.Unlock()
	begun, errno := n.begin(d, replace)
	if errno != 0 || replace {
		return errno
	}
	return begun.truncate(d, int64(size))
}

// changeNamed changes permissions and times of what others see.
func (n *node) changeNamed(d *deadline, in *fuse.SetAttrIn) syscall.Errno {
	mode, hasMode := in.GetMode()
	atime, mtime := timesOf(in)
	hasTimes := !atime.IsZero() || !mtime.IsZero()
	if !hasMode && !hasTimes {
		return 0
	}
	if n.Mode() == syscall.S_IFLNK {
		return syscall.EOPNOTSUPP
	}
	path, errno := n.m.holdPath(d, n.path)
	if errno != 0 {
		return errno
	}
	defer n.m.paths.unshare()
	files := n.m.config.FS.(WritableFS)
	info, errno := callWithin(d, func() (fs.FileInfo, error) {
		if hasMode {
			if err := files.Chmod(path, modeOf(mode)); err != nil {
				return nil, err
			}
		}
		if hasTimes {
			if err := files.Chtimes(path, atime, mtime); err != nil {
				return nil, err
			}
		}
		return n.m.stat(path)
	}, nil)
	if errno != 0 {
		return errno
	}
	n.noteChanged()
	if n.Mode() == syscall.S_IFREG {
		n.adopt(info, hasTimes)
		n.changeUnseen(hasTimes)
	}
	return 0
}
