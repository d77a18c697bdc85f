package cli

import (
	"errors"
	"io/fs"
	"path"
	"syscall"
	"time"

	"culvert/agefile"
	"culvert/fileservice"
	"culvert/fileservice/client"
	"culvert/fusefs"
	"culvert/internal/compress"
)

// remoteTree is a directory of a server as a file system of its own, for a mount.
type remoteTree struct {
	client *client.Client
	dir    string
}

var (
	_ fusefs.SpaceFS    = (*remoteTree)(nil)
	_ fusefs.MovingFS   = (*remoteTree)(nil)
	_ fusefs.WritableFS = (*remoteTree)(nil)
	_ fs.ReadLinkFS     = (*remoteTree)(nil)

	// The mount and the client know nothing of each other, and fit.
	_ fusefs.WritableFS   = (*client.Client)(nil)
	_ fusefs.WritableFile = (*client.WritableFile)(nil)
)

// at gives the path of a file on the server. A name that is not valid stays so.
func (t *remoteTree) at(name string) string {
	if !fs.ValidPath(name) {
		return name
	}
	return path.Join(t.dir, name)
}

// Open opens a file or a directory.
func (t *remoteTree) Open(name string) (fs.File, error) { return t.client.Open(t.at(name)) }

// Stat describes a file.
func (t *remoteTree) Stat(name string) (fs.FileInfo, error) { return t.client.Stat(t.at(name)) }

// Lstat describes a file or a symbolic link.
func (t *remoteTree) Lstat(name string) (fs.FileInfo, error) { return t.client.Lstat(t.at(name)) }

// ReadLink gives where a symbolic link leads.
func (t *remoteTree) ReadLink(name string) (string, error) { return t.client.ReadLink(t.at(name)) }

// Space tells how much room there is.
func (t *remoteTree) Space(name string) (total, free, available uint64, err error) {
	return t.client.Space(t.at(name))
}

// Moved tells whether anything moves on the connections.
func (t *remoteTree) Moved() int64 { return t.client.Moved() }

// OpenFile begins to write a file.
func (t *remoteTree) OpenFile(name string, flag int, perm fs.FileMode) (fs.File, error) {
	opened, err := t.client.OpenFile(t.at(name), flag, perm)
	if err != nil {
		return nil, err
	}
	if draft, is := opened.(*client.WritableFile); is {
		return &remoteDraft{WritableFile: draft, tree: t}, nil
	}
	return opened, nil
}

// Mkdir makes a directory.
func (t *remoteTree) Mkdir(name string, perm fs.FileMode) error {
	return t.client.Mkdir(t.at(name), perm)
}

// Remove removes a file or an empty directory.
func (t *remoteTree) Remove(name string) error { return t.client.Remove(t.at(name)) }

// Rename gives a file another name.
func (t *remoteTree) Rename(oldName, newName string) error {
	return t.client.Rename(t.at(oldName), t.at(newName))
}

// RenameNew gives a file a name that is free.
func (t *remoteTree) RenameNew(oldName, newName string) error {
	return t.client.RenameNew(t.at(oldName), t.at(newName))
}

// Chmod sets permissions.
func (t *remoteTree) Chmod(name string, mode fs.FileMode) error {
	return t.client.Chmod(t.at(name), mode)
}

// Chtimes sets times.
func (t *remoteTree) Chtimes(name string, atime, mtime time.Time) error {
	return t.client.Chtimes(t.at(name), atime, mtime)
}

// SyncDir makes the names in a directory durable.
func (t *remoteTree) SyncDir(name string) error { return t.client.SyncDir(t.at(name)) }

// remoteDraft is a file that is being written.
type remoteDraft struct {
	*client.WritableFile
	tree *remoteTree
}

// Publish gives the file a name of the tree.
func (d *remoteDraft) Publish(name string, replace bool) error {
	return d.WritableFile.Publish(d.tree.at(name), replace)
}

// mountErrno says what an error of a server means to a program. 0 leaves it to what the system of the server has said.
func mountErrno(err error) syscall.Errno {
	switch {
	case is[*fileservice.UnnamableError](err):
		return syscall.EILSEQ
	case errors.Is(err, fileservice.ErrChanged):
		return syscall.ESTALE
	case errors.Is(err, fileservice.ErrUnreachable), errors.Is(err, fileservice.ErrIntegrity),
		errors.Is(err, agefile.ErrCorrupt), errors.Is(err, compress.ErrCorrupt):
		return syscall.EIO // whatever else is in the chain is of this machine
	case is[syscall.Errno](err):
		return 0
	case errors.Is(err, fileservice.ErrRefused):
		return syscall.EACCES
	}
	return 0
}
