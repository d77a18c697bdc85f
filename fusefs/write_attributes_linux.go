package fusefs

import (
	"context"
	"io/fs"
	"syscall"
	"time"

	gofs "github.com/hanwen/go-fuse/v2/fs"
	"github.com/hanwen/go-fuse/v2/fuse"
)

// adopt updates the version of a file after a change made here that left its content alone, so that open handles stay
// valid. It does nothing if there may have been other changes.
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

// changeUnseen notes that the file must be synced again. With new times, the file open on the other side would report a
// change by others, so it is closed.
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

// Setattr changes permissions, times and size: of the draft, if there is one.
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
	// A call that is left behind after a signal could change the file after the next write.
	errno := n.inTurn(context.WithoutCancel(ctx), func(d *deadline) syscall.Errno {
		return n.change(d, in, h != nil)
	})
	if errno != 0 {
		return errno
	}
	if errno := n.Getattr(ctx, nil, out); errno != 0 {
		return errno
	}
	out.Ino = n.StableAttr().Ino
	out.SetTimeout(cacheTime)
	return 0
}

// change is Setattr by name or by a handle. The caller has the turn. Programs may close the file meanwhile.
func (n *node) change(d *deadline, in *fuse.SetAttrIn, byHandle bool) syscall.Errno {
	n.mu.Lock()
	n.writing.changing = true
	fresh := n.writing.draft == nil
	n.mu.Unlock()
	defer func() {
		n.mu.Lock()
		defer n.mu.Unlock()
		n.writing.changing = false
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
	// An open with O_TRUNC arrives as an open, and then a truncation to 0 by name. The kernel could send both in one
	// request, but then considers the file empty only after the answer, and appends meanwhile at its previous end.
	size, _ := in.GetSize()
	now := n.snapshot()
	if now.writers > 0 && (byHandle || !fresh) || now.unclosed > 0 && size == 0 {
		return errno
	}
	// No close will follow that publishes this change.
	if errno == 0 {
		errno = n.publish(d)
	}
	if errno != 0 {
		n.mu.Lock()
		if fresh {
			n.endDraft() // nothing has read from it, so open handles keep their version
		} else {
			n.dropDraft()
		}
		n.mu.Unlock()
	}
	return errno
}

// changeDraft changes the draft, and begins one for a change of size. It returns nil if the remaining changes are to be
// made by name.
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
	mode, hasMode := in.GetMode()
	atime, mtime, hasTimes := timesOf(in)
	if begun.inPlace.Load() && !n.snapshot().removed && (hasMode || hasTimes) {
		// Later writes would change the times again.
		if errno := n.publish(d); errno != 0 {
			return begun, errno
		}
		return nil, 0
	}
	if hasMode {
		if errno := begun.chmod(d, modeOf(mode)); errno != 0 {
			return begun, errno
		}
	}
	if hasTimes {
		return begun, begun.chtimes(d, atime, mtime)
	}
	return begun, 0
}

// timesOf returns the times to set, or zero. A change of size sets the modification time by itself.
func timesOf(in *fuse.SetAttrIn) (atime, mtime time.Time, hasTimes bool) {
	if in.Valid&fuse.FATTR_SIZE != 0 && in.Valid&fuse.FATTR_MTIME_NOW != 0 {
		return time.Time{}, time.Time{}, false
	}
	atime, _ = in.GetATime()
	mtime, _ = in.GetMTime()
	return atime, mtime, !atime.IsZero() || !mtime.IsZero()
}

// resize changes the size. An open with O_TRUNC arrives as a truncation to 0 by name while the file is open for
// writing. It begins new content; others see the old content until that is complete. A handle that was closed may still
// be there, because the kernel releases it later: it is no such open.
func (n *node) resize(d *deadline, size uint64, byHandle bool) syscall.Errno {
	if int64(size) < 0 {
		return syscall.EFBIG
	}
	now := n.snapshot()
	replace := size == 0 && !byHandle && now.draft == nil && now.unclosed > 0
	begun, errno := n.begin(d, replace)
	if errno != 0 || replace {
		return errno
	}
	return begun.truncate(d, int64(size))
}

// changeNamed changes permissions and times by name.
func (n *node) changeNamed(d *deadline, in *fuse.SetAttrIn) syscall.Errno {
	mode, hasMode := in.GetMode()
	atime, mtime, hasTimes := timesOf(in)
	if !hasMode && !hasTimes {
		return 0
	}
	if n.Mode() == syscall.S_IFLNK {
		return syscall.EOPNOTSUPP
	}
	files := n.m.config.FS.(WritableFS)
	info, errno := withPath(d, n.path, func(path string) (fs.FileInfo, error) {
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
	})
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
