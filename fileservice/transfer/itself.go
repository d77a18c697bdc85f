package transfer

import (
	"errors"
	"io/fs"
	"path"
	"sync"

	"culvert/fileservice"
)

// errItself is of a directory of the source that is the copy: what is copied would be copied again, without end. The
// names of the two ends do not show that, since a server may show any directory of this machine.
var errItself = errors.New("fileservice: it is the copy, which would be copied into itself")

// isSameDir reports whether two descriptions are of one directory. The inode number alone may be equal on two machines
// or file systems, but with it not the time of the last change, in nanoseconds. If the directory is changing, the look
// there falls between two looks here.
func isSameDir(here, there func() (fs.FileInfo, error)) bool {
	before, err1 := here()
	other, err2 := there()
	after, err3 := here()
	switch {
	case err1 != nil || err2 != nil || err3 != nil || inodeOf(other) != inodeOf(before):
		return false
	case fileservice.VersionOf(before) == fileservice.VersionOf(after):
		return fileservice.VersionOf(other) == fileservice.VersionOf(before)
	}
	return !other.ModTime().Before(before.ModTime()) && !other.ModTime().After(after.ModTime())
}

// inodeOf returns the inode number of a file at either end, or 0 if it has none.
func inodeOf(info fs.FileInfo) uint64 {
	if there, is := info.(*fileservice.Info); is {
		return there.Inode()
	}
	return fileservice.AttributesOf("", info).Inode
}

// copyDir is the directory of a server into which is copied.
type copyDir struct {
	mu    sync.Mutex
	asked bool   // since it was made, if it was
	inode uint64 // 0 if it is not there, or has none
}

// isCopy reports whether a directory of this machine is the one of the server into which it would be copied.
func (p *push) isCopy(name string, _ fs.DirEntry) bool {
	if p.to.server == nil {
		return false // a place has no such directories
	}
	here := func() (fs.FileInfo, error) { return p.config.Root.Lstat(path.Join(p.config.Local, name)) }
	there := func() (fs.FileInfo, error) { return p.to.server.Stat(p.config.Remote) }
	info, err := here()
	return err == nil && inodeOf(info) != 0 && inodeOf(info) == p.copyInode(there) && isSameDir(here, there)
}

// copyInode returns the inode number of the server's directory, or 0.
func (p *push) copyInode(stat func() (fs.FileInfo, error)) uint64 {
	p.copyDir.mu.Lock()
	defer p.copyDir.mu.Unlock()
	if !p.copyDir.asked {
		info, err := stat()
		if err == nil {
			p.copyDir.inode = inodeOf(info)
		}
		p.copyDir.asked = err == nil || errors.Is(err, fs.ErrNotExist)
	}
	return p.copyDir.inode
}

// madeDir has copyInode ask again if the directory is the one into which is copied.
func (p *push) madeDir(remote string) {
	if remote == p.config.Remote {
		p.copyDir.mu.Lock()
		defer p.copyDir.mu.Unlock()
		p.copyDir.asked = false
	}
}

// isCopy reports whether a directory of the source is the one of this machine into which it would be copied.
func (p *pull) isCopy(name string, entry fs.DirEntry) bool {
	here := func() (fs.FileInfo, error) { return p.config.Root.Lstat(p.config.Local) }
	there := func() (fs.FileInfo, error) { return fs.Stat(p.from.Place, path.Join(p.config.Remote, name)) }
	inode := entry.(*fileservice.Info).Inode()
	if inode == 0 {
		return false
	}
	info, err := here()
	return err == nil && inodeOf(info) == inode && isSameDir(here, there)
}
