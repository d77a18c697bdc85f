package client

import (
	"io/fs"
	"time"

	"culvert/fileservice"
	"culvert/fileservice/internal/fileservicepb"
	"culvert/fileservice/internal/wire"
)

// Stat returns a [*fileservice.Info] of a file. It does not follow a symbolic link.
func (c *Client) Stat(name string) (fs.FileInfo, error) {
	call, err := c.begin(c.ctx, "stat", name)
	if err != nil {
		return nil, err
	}
	asked := time.Now()
	entry, err := call.link.service.Stat(call.ctx, &fileservicepb.StatRequest{Path: call.path})
	if err != nil {
		return nil, call.end(err)
	}
	c.heard(time.Since(asked))
	info, err := wire.InfoOf(entry, call.path)
	if err != nil {
		return nil, call.end(err)
	}
	return info, call.end(nil)
}

// Lstat is Stat, as fs.ReadLinkFS wants it.
func (c *Client) Lstat(name string) (fs.FileInfo, error) { return c.Stat(name) }

// Mkdir creates a directory with the permissions perm, less the umask of the server. The parent must exist. It fails with
// fs.ErrExist if name exists.
func (c *Client) Mkdir(name string, perm fs.FileMode) error { return c.mkdir(name, perm, true) }

// MkdirIfMissing is like Mkdir, but succeeds if the directory exists, and gives the owner all permissions.
func (c *Client) MkdirIfMissing(name string, perm fs.FileMode) error {
	return c.mkdir(name, perm, false)
}

func (c *Client) mkdir(name string, perm fs.FileMode, exclusive bool) error {
	call, err := c.begin(c.ctx, "mkdir", name)
	if err != nil {
		return err
	}
	_, err = call.link.service.MakeDirectory(call.ctx, &fileservicepb.MakeDirectoryRequest{
		Path: call.path, Permissions: uint32(perm.Perm()), Exclusive: exclusive,
	})
	return call.end(err)
}

// Remove removes a file, a symbolic link, or an empty directory. If the directory is not empty, the error wraps
// syscall.ENOTEMPTY. A crash of the server may undo Remove until [Client.SyncDir].
func (c *Client) Remove(name string) error {
	call, err := c.begin(c.ctx, "remove", name)
	if err != nil {
		return err
	}
	_, err = call.link.service.Remove(call.ctx, &fileservicepb.RemoveRequest{Path: call.path})
	return call.end(err)
}

// Rename moves a file, a link or a directory, and replaces newName as rename(2) does. A crash of the server may undo it
// until [Client.SyncDir].
func (c *Client) Rename(oldName, newName string) error { return c.rename(oldName, newName, true) }

// RenameNew is like Rename, but fails with fs.ErrExist if newName exists.
func (c *Client) RenameNew(oldName, newName string) error { return c.rename(oldName, newName, false) }

func (c *Client) rename(oldName, newName string, replace bool) error {
	if _, err := fileservice.CheckPath(newName); err != nil {
		return &fs.PathError{Op: "rename", Path: newName, Err: err}
	}
	call, err := c.begin(c.ctx, "rename", oldName)
	if err != nil {
		return err
	}
	_, err = call.link.service.Rename(call.ctx, &fileservicepb.RenameRequest{
		Path: call.path, NewPath: c.at(newName), Replace: replace,
	})
	return call.end(err)
}

// Chmod sets the permissions of a file or a directory. It ignores the other bits of mode.
func (c *Client) Chmod(name string, mode fs.FileMode) error {
	permissions := uint32(mode.Perm())
	return c.setAttributes("chmod", name, &fileservicepb.SetAttributesRequest{Permissions: &permissions})
}

// Chtimes sets the access and modification times of a file or a directory. A zero time leaves the time unchanged.
func (c *Client) Chtimes(name string, atime, mtime time.Time) error {
	return c.setAttributes("chtimes", name, &fileservicepb.SetAttributesRequest{
		AccessedUnixNano: unixNano(atime), ModifiedUnixNano: unixNano(mtime),
	})
}

func (c *Client) setAttributes(op, name string, request *fileservicepb.SetAttributesRequest) error {
	call, err := c.begin(c.ctx, op, name)
	if err != nil {
		return err
	}
	request.Path = call.path
	_, err = call.link.service.SetAttributes(call.ctx, request)
	return call.end(err)
}

// SyncDir makes durable what was created, removed and renamed in a directory.
func (c *Client) SyncDir(name string) error {
	call, err := c.begin(c.ctx, "sync", name)
	if err != nil {
		return err
	}
	call.pause() // the server writes to its disk
	_, err = call.link.service.SyncDirectory(call.ctx, &fileservicepb.SyncDirectoryRequest{Path: call.path})
	return call.end(err)
}

// unixNano returns the wire form of a time, which is nil for the zero time.
func unixNano(t time.Time) *int64 {
	if t.IsZero() {
		return nil
	}
	nano := fileservice.UnixNano(t)
	return &nano
}
