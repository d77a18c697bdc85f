package client

import (
	"io/fs"
	"time"

	"culvert/fileservice"
	"culvert/fileservice/internal/fileservicepb"
	"culvert/fileservice/internal/wire"
)

// Stat returns a [*fileservice.Info]. It does not follow symbolic links.
func (c *Client) Stat(name string) (fs.FileInfo, error) {
	var info *fileservice.Info
	err := c.do(c.ctx, "stat", name, func(call *call) error {
		asked := time.Now()
		entry, err := call.link.service.Stat(call.ctx, &fileservicepb.StatRequest{Path: call.path})
		if err != nil {
			return err
		}
		c.heard(time.Since(asked))
		info, err = wire.InfoOf(entry, call.path)
		return err
	})
	if err != nil {
		return nil, err
	}
	return info, nil
}

// Lstat is Stat. It implements fs.ReadLinkFS.
func (c *Client) Lstat(name string) (fs.FileInfo, error) { return c.Stat(name) }

// Mkdir creates a directory with the permissions perm, less the server's umask. The parent must exist. If name exists,
// the error is fs.ErrExist.
func (c *Client) Mkdir(name string, perm fs.FileMode) error { return c.mkdir(name, perm, true) }

// MkdirIfMissing is like Mkdir, but succeeds if the directory exists. It grants the owner all permissions.
func (c *Client) MkdirIfMissing(name string, perm fs.FileMode) error {
	return c.mkdir(name, perm, false)
}

func (c *Client) mkdir(name string, perm fs.FileMode, exclusive bool) error {
	return c.do(c.ctx, "mkdir", name, func(call *call) error {
		_, err := call.link.service.MakeDirectory(call.ctx, &fileservicepb.MakeDirectoryRequest{
			Path: call.path, Permissions: uint32(perm.Perm()), Exclusive: exclusive,
		})
		return err
	})
}

// Remove removes a file, a symbolic link or an empty directory. If the directory is not empty, the error wraps
// syscall.ENOTEMPTY. A crash of the server may undo Remove until [Client.SyncDir].
func (c *Client) Remove(name string) error {
	return c.do(c.ctx, "remove", name, func(call *call) error {
		_, err := call.link.service.Remove(call.ctx, &fileservicepb.RemoveRequest{Path: call.path})
		return err
	})
}

// Rename renames a file, a link or a directory, and replaces newName as rename(2) does. A crash of the server may undo
// Rename until [Client.SyncDir].
func (c *Client) Rename(oldName, newName string) error { return c.rename(oldName, newName, true) }

// RenameNew is like Rename, but fails with fs.ErrExist if newName exists.
func (c *Client) RenameNew(oldName, newName string) error { return c.rename(oldName, newName, false) }

func (c *Client) rename(oldName, newName string, replace bool) error {
	if _, err := fileservice.CheckPath(newName); err != nil {
		return &fs.PathError{Op: "rename", Path: newName, Err: err}
	}
	return c.do(c.ctx, "rename", oldName, func(call *call) error {
		_, err := call.link.service.Rename(call.ctx, &fileservicepb.RenameRequest{
			Path: call.path, NewPath: c.at(newName), Replace: replace,
		})
		return err
	})
}

// Chmod sets the permissions of a file or a directory. It ignores the other bits of mode.
func (c *Client) Chmod(name string, mode fs.FileMode) error {
	permissions := uint32(mode.Perm())
	return c.setAttributes("chmod", name, &fileservicepb.SetAttributesRequest{Permissions: &permissions})
}

// Chtimes sets the access and modification times of a file or a directory. A zero time leaves the time unchanged. One
// before 1677-09-21 or after 2262-04-11 becomes the nearest of these moments.
func (c *Client) Chtimes(name string, atime, mtime time.Time) error {
	return c.setAttributes("chtimes", name, &fileservicepb.SetAttributesRequest{
		AccessedUnixNano: unixNano(atime), ModifiedUnixNano: unixNano(mtime),
	})
}

func (c *Client) setAttributes(op, name string, request *fileservicepb.SetAttributesRequest) error {
	return c.do(c.ctx, op, name, func(call *call) error {
		request.Path = call.path
		_, err := call.link.service.SetAttributes(call.ctx, request)
		return err
	})
}

// SyncDir makes changes of the names in a directory durable.
func (c *Client) SyncDir(name string) error {
	return c.do(c.ctx, "sync", name, func(call *call) error {
		call.pause() // the server writes to its disk
		_, err := call.link.service.SyncDirectory(call.ctx, &fileservicepb.SyncDirectoryRequest{Path: call.path})
		return err
	})
}

// unixNano returns t for a message, and nil for the zero time.
func unixNano(t time.Time) *int64 {
	if t.IsZero() {
		return nil
	}
	nano := fileservice.UnixNano(t)
	return &nano
}
