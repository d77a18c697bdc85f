package client

import (
	"context"
	"io/fs"
	"time"

	"culvert/fileservice"
	"culvert/fileservice/internal/fileservicepb"
)

// Mkdir makes a directory, whose parent must be there, and fails with fs.ErrExist if there is something of that name.
// It has these permissions, less the umask of the server.
func (c *Client) Mkdir(name string, perm fs.FileMode) error {
	return c.makeDirectory(c.ctx, &fileservicepb.MakeDirectoryRequest{
		Path: name, Permissions: uint32(perm.Perm()), Exclusive: true,
	})
}

func (c *Client) makeDirectory(ctx context.Context, request *fileservicepb.MakeDirectoryRequest) error {
	call, err := c.begin(ctx, "mkdir", request.GetPath())
	if err != nil {
		return err
	}
	_, err = call.link.service.MakeDirectory(call.ctx, request)
	return call.end(err)
}

// Remove removes a file, a symbolic link, or a directory that is empty; else syscall.ENOTEMPTY is in the chain of the
// error. A crash of the server may undo it before [Client.SyncDir].
func (c *Client) Remove(name string) error {
	call, err := c.begin(c.ctx, "remove", name)
	if err != nil {
		return err
	}
	_, err = call.link.service.Remove(call.ctx, &fileservicepb.RemoveRequest{Path: name})
	return call.end(err)
}

// Rename gives a file, a link or a directory another path, at once, in place of what may be there, as rename(2) does. A
// crash of the server may undo it before [Client.SyncDir].
func (c *Client) Rename(oldName, newName string) error { return c.rename(oldName, newName, true) }

// RenameNew is Rename that fails with fs.ErrExist if there is something of the new name.
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
		Path: oldName, NewPath: newName, Replace: replace,
	})
	return call.end(err)
}

// Chmod sets the permissions of a file or a directory. What else there is in the mode is left out.
func (c *Client) Chmod(name string, mode fs.FileMode) error {
	permissions := uint32(mode.Perm())
	return c.setAttributes(c.ctx, "chmod", &fileservicepb.SetAttributesRequest{Path: name, Permissions: &permissions})
}

// Chtimes sets when a file or a directory was last read and changed. A zero time leaves what is there.
func (c *Client) Chtimes(name string, atime, mtime time.Time) error {
	return c.setAttributes(c.ctx, "chtimes", &fileservicepb.SetAttributesRequest{
		Path: name, AccessedUnixNano: unixNano(atime), ModifiedUnixNano: unixNano(mtime),
	})
}

// SyncDir makes durable what was made, removed and renamed in a directory.
func (c *Client) SyncDir(name string) error {
	call, err := c.begin(c.ctx, "sync", name)
	if err != nil {
		return err
	}
	call.pause() // the server writes to its disk
	_, err = call.link.service.SyncDirectory(call.ctx, &fileservicepb.SyncDirectoryRequest{Path: name})
	return call.end(err)
}

func (c *Client) setAttributes(
	ctx context.Context, op string, request *fileservicepb.SetAttributesRequest,
) error {
	call, err := c.begin(ctx, op, request.GetPath())
	if err != nil {
		return err
	}
	_, err = call.link.service.SetAttributes(call.ctx, request)
	return call.end(err)
}

// unixNano is the opposite of timeOf.
func unixNano(t time.Time) *int64 {
	if t.IsZero() {
		return nil
	}
	nano := fileservice.UnixNano(t)
	return &nano
}
