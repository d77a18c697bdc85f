package fusefs

import (
	"context"
	"crypto/rand"
	"io/fs"
	"os"
	"path"
	"syscall"

	gofs "github.com/hanwen/go-fuse/v2/fs"
	"github.com/hanwen/go-fuse/v2/fuse"
)

// renameNoReplace is a flag of renameat2(2).
const renameNoReplace = 1

var (
	_ gofs.NodeCreater  = (*node)(nil)
	_ gofs.NodeMkdirer  = (*node)(nil)
	_ gofs.NodeUnlinker = (*node)(nil)
	_ gofs.NodeRmdirer  = (*node)(nil)
	_ gofs.NodeRenamer  = (*node)(nil)
)

// lockedRenames holds the lock of all paths during a rename, until go-fuse knows the new name too.
type lockedRenames struct {
	fuse.RawFileSystem
	m *mount
}

func (l lockedRenames) Rename(cancel <-chan struct{}, in *fuse.RenameIn, oldName, newName string) fuse.Status {
	d := l.m.deadline(context.Background())
	if errno := lock(d, l.m.paths.TryLock, l.m.paths.Lock, l.m.paths.Unlock); errno != 0 {
		return fuse.Status(errno)
	}
	defer l.m.paths.Unlock()
	status := l.RawFileSystem.Rename(cancel, in, oldName, newName)
	if status.Ok() {
		l.m.era.Add(1)
	}
	return status
}

// withPath calls do with a path, while renames wait.
func withPath[T any](
	d *deadline, path func() (string, syscall.Errno), do func(path string) (T, error),
) (T, syscall.Errno) {
	held, errno := d.m.holdPath(d, path)
	if errno != 0 {
		var none T
		return none, errno
	}
	defer d.m.paths.RUnlock()
	return call(d, func() (T, error) { return do(held) }, nil)
}

// Create creates a draft that is visible in this mount. Others see the file when it is closed or synced.
func (n *node) Create(ctx context.Context, name string, flags, mode uint32, out *fuse.EntryOut) (
	*gofs.Inode, gofs.FileHandle, uint32, syscall.Errno,
) {
	d := n.m.deadline(ctx)
	for {
		child, h, kernelFlags, errno := n.create(ctx, d, name, flags, mode, out)
		if errno != syscall.ENFILE || !n.m.makeRoom(n) {
			return child, h, kernelFlags, errno
		}
		d.extend(0)
	}
}

// create is Create if the file system can have one more file open.
func (n *node) create(ctx context.Context, d *deadline, name string, flags, mode uint32, out *fuse.EntryOut) (
	*gofs.Inode, gofs.FileHandle, uint32, syscall.Errno,
) {
	path, errno := n.m.holdPath(d, func() (string, syscall.Errno) { return n.newPath(name) })
	if errno != 0 {
		return nil, nil, 0, errno
	}
	defer n.m.paths.RUnlock()
	begun, errno := n.m.openDraft(d, path, os.O_CREATE|os.O_EXCL, modeOf(mode))
	if errno == syscall.EEXIST && flags&syscall.O_EXCL == 0 {
		// The kernel looks the name up again, and opens the file that others have created.
		errno = syscall.ESTALE
	}
	if errno != 0 {
		return nil, nil, 0, errno
	}
	if errno := begun.attributes(&out.Attr); errno != 0 {
		n.m.release(begun)
		return nil, nil, 0, errno
	}
	made := &node{m: n.m, inode: inodeOf(begun.info, path), handles: 1, pages: true}
	opened, kernelFlags := &handle{node: made, writes: true}, uint32(fuse.FOPEN_KEEP_CACHE)
	// A write that bypasses the pages does not clear these bits in the kernel.
	if n.m.pageless && flags&syscall.O_ACCMODE == syscall.O_WRONLY && mode&(syscall.S_ISUID|syscall.S_ISGID) == 0 {
		opened.pageless, made.pages = true, false
		kernelFlags = fuse.FOPEN_DIRECT_IO
	}
	w := made.toWrite()
	w.count(opened, 1)
	w.draft, w.dir, w.name = begun, n, name
	w.replace = flags&syscall.O_EXCL == 0
	child := n.NewInode(ctx, made, gofs.StableAttr{
		Mode: syscall.S_IFREG, Ino: made.inode, Gen: n.m.generation.Add(1),
	})
	n.addMade(name, made)
	n.m.crowd.seen(made)
	return child, opened, kernelFlags, 0
}

func (n *node) Mkdir(ctx context.Context, name string, mode uint32, out *fuse.EntryOut) (*gofs.Inode, syscall.Errno) {
	// No signal ends the wait: the program would not know whether the call will be made.
	d := n.m.deadline(context.WithoutCancel(ctx))
	newPath := func() (string, syscall.Errno) { return n.newPath(name) }
	info, errno := withPath(d, newPath, func(path string) (fs.FileInfo, error) {
		if err := n.m.config.FS.(WritableFS).Mkdir(path, modeOf(mode)); err != nil {
			return nil, err
		}
		return n.m.stat(path)
	})
	if errno != 0 {
		return nil, errno
	}
	n.named.Add(1)
	if !info.IsDir() {
		return nil, syscall.ESTALE
	}
	return n.child(ctx, name, info, n.before(name), out)
}

// Unlink removes the name of a file. Programs that have the file open keep it, if the file system does.
func (n *node) Unlink(ctx context.Context, name string) syscall.Errno {
	file := n.childNode(name)
	if file == nil {
		return n.remove(ctx, name)
	}
	return file.inTurn(context.WithoutCancel(ctx), func(*deadline) syscall.Errno {
		errno := n.remove(ctx, name)
		if errno == syscall.ENOENT && n.made(name) == file {
			errno = 0
		}
		if errno == 0 {
			file.lose()
		}
		return errno
	})
}

func (n *node) remove(ctx context.Context, name string) syscall.Errno {
	d := n.m.deadline(context.WithoutCancel(ctx))
	path := func() (string, syscall.Errno) { return n.childPath(name) }
	_, errno := withPath(d, path, func(path string) (struct{}, error) {
		return struct{}{}, n.m.config.FS.(WritableFS).Remove(path)
	})
	n.named.Add(1)
	return errno
}

// childNode returns the node of a name that the kernel knows, or nil.
func (n *node) childNode(name string) *node {
	child := n.GetChild(name)
	if child == nil {
		return nil
	}
	file, _ := child.Operations().(*node)
	return file
}

// lose notes that the file has lost its name. No publish may be under way.
func (n *node) lose() {
	n.mu.Lock()
	defer n.mu.Unlock()
	w := n.toWrite()
	w.removed = true
	if w.draft == nil {
		// The file that is open on the other side still serves reads and writes.
		w.draft, w.published = w.published, nil
	}
	if w.draft != nil {
		w.draft.settle()
	}
	if w.dir != nil {
		w.dir.removeMade(w.name, n)
		w.dir = nil
	}
}

func (n *node) Rmdir(ctx context.Context, name string) syscall.Errno {
	if dir := n.childNode(name); dir != nil && len(dir.madeNames()) > 0 {
		return syscall.ENOTEMPTY
	}
	return n.remove(ctx, name)
}

// Rename renames a file or a directory. lockedRenames has locked all paths.
func (n *node) Rename(ctx context.Context, oldName string, newParent gofs.InodeEmbedder, newName string, flags uint32,
) syscall.Errno {
	if !n.m.config.ReadWrite {
		return syscall.EROFS
	}
	to, is := newParent.(*node)
	if !is || flags&^renameNoReplace != 0 {
		return syscall.EINVAL
	}
	oldPath, errno := n.childPath(oldName)
	if errno != 0 {
		return errno
	}
	newPath, errno := to.newPath(newName)
	if errno != 0 {
		return errno
	}
	d := n.m.deadline(context.WithoutCancel(ctx))
	moved, replaced := n.childNode(oldName), to.childNode(newName)
	if replaced == moved {
		replaced = nil
	}
	if replaced != nil && replaced.IsDir() && len(replaced.madeNames()) > 0 {
		return syscall.ENOTEMPTY
	}
	if moved != nil && n.made(oldName) == moved {
		errno = n.renameNew(d, moved, to, oldPath, newName, newPath, flags)
	} else {
		errno = n.renameNamed(d, moved, oldPath, newPath, flags)
	}
	n.named.Add(1)
	to.named.Add(1)
	if errno == 0 && replaced != nil && !replaced.IsDir() {
		replaced.lose()
	}
	return errno
}

// renameNew renames a file that only this mount knows. If the new name exists on the other side, that file is replaced
// when this one is closed, and removed if this one is renamed again before.
func (n *node) renameNew(d *deadline, moved, to *node, oldPath, newName, newPath string, flags uint32) syscall.Errno {
	replace := flags&renameNoReplace == 0
	covers, errno := n.m.mayPublish(d, newPath, replace)
	if errno != 0 {
		return errno
	}
	if moved.snapshot().covers {
		errno := doWithin(d, func() error { return n.m.config.FS.(WritableFS).Remove(oldPath) })
		if errno != 0 && errno != syscall.ENOENT {
			return errno
		}
	}
	moved.mu.Lock()
	defer moved.mu.Unlock()
	w := moved.writing
	if w.dir == nil { // it was just given up
		return syscall.ENOENT
	}
	to.addMade(newName, moved)
	w.dir.removeMade(w.name, moved)
	w.dir, w.name = to, newName
	w.covers, w.replace = covers, replace
	return 0
}

// mayPublish reports whether a name exists, and returns the error of publishing a file there, so that the program gets
// it from the rename and not from the close.
func (m *mount) mayPublish(d *deadline, name string, replace bool) (covers bool, errno syscall.Errno) {
	_, errno = call(d, func() (fs.FileInfo, error) { return m.stat(name) }, nil)
	switch errno {
	case 0:
		if !replace {
			return true, syscall.EEXIST
		}
		// The directory decides whether a file may be replaced.
		covers, name = true, path.Join(path.Dir(name), rand.Text())
	case syscall.ENOENT:
	default:
		return false, errno
	}
	trial, errno := m.openDraft(d, name, os.O_CREATE|os.O_EXCL, 0o600)
	switch {
	case errno == 0:
		m.release(trial)
	case errno == syscall.EEXIST && replace: // since just now
		return true, 0
	}
	return covers, errno
}

func (n *node) renameNamed(d *deadline, moved *node, oldPath, newPath string, flags uint32) syscall.Errno {
	open := moved != nil && moved.isOpen()
	files := n.m.config.FS.(WritableFS)
	info, errno := call(d, func() (fs.FileInfo, error) {
		if err := n.renameOnly(files, oldPath, newPath, flags); err != nil || !open {
			return nil, err
		}
		return n.m.stat(newPath)
	}, nil)
	if errno == 0 && open {
		moved.adopt(info, false)
	}
	return errno
}

func (n *node) renameOnly(files WritableFS, oldPath, newPath string, flags uint32) error {
	if flags&renameNoReplace == 0 {
		return files.Rename(oldPath, newPath)
	}
	if exact, is := files.(interface {
		RenameNew(oldName, newName string) error
	}); is {
		return exact.RenameNew(oldPath, newPath)
	}
	if _, err := n.m.stat(newPath); err == nil {
		return fs.ErrExist
	}
	return files.Rename(oldPath, newPath)
}
