package client

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"culvert/fileservice"
	"culvert/fileservice/internal/fileservicepb"
	"culvert/fileservice/internal/wire"
)

// maxContents limits the content that all open files of a client hold. Files opened beyond it are read on demand.
const maxContents = 16 << 20

var (
	_ fs.FS         = (*Client)(nil)
	_ fs.ReadDirFS  = (*Client)(nil)
	_ fs.ReadFileFS = (*Client)(nil)
	_ fs.ReadLinkFS = (*Client)(nil)
	_ fs.StatFS     = (*Client)(nil)
)

// Open opens a regular file or a directory. The file has the version that Open found; if it changes, reads fail with
// [fileservice.ErrChanged]. Symbolic links, devices and pipes cannot be opened: the error wraps fs.ErrInvalid.
//
// Open makes one call. A file of at most 64 KiB comes with the answer, and later reads use this copy; all open files of
// a client hold at most 16 MiB. Any other open file is only a name and a version, and costs the server nothing.
func (c *Client) Open(name string) (fs.File, error) {
	if !fs.ValidPath(name) {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrInvalid}
	}
	asked := int64(wire.MaxContent)
	if c.contents.Add(asked) > maxContents {
		c.contents.Add(-asked)
		asked = 0
	}
	info, content, err := c.open(name, asked)
	c.contents.Add(int64(len(content)) - asked)
	if err != nil {
		return nil, err
	}
	if info.IsDir() {
		return newDirectory(c, name, info), nil
	}
	return &file{client: c, name: name, info: info, content: content}, nil
}

// ReadFile returns the content of a file. It allocates memory as data arrives, whatever size the server claims.
func (c *Client) ReadFile(name string) ([]byte, error) {
	opened, err := c.Open(name)
	if err != nil {
		return nil, err
	}
	regular, is := opened.(*file)
	if !is {
		return nil, &fs.PathError{Op: "read", Path: name, Err: fmt.Errorf("%w: is a directory", fs.ErrInvalid)}
	}
	var content bytes.Buffer
	_, err = regular.WriteTo(&content)
	if err = errors.Join(err, regular.Close()); err != nil {
		return nil, err
	}
	return content.Bytes(), nil
}

// open opens a file, and receives its content with the answer if that has at most asked bytes. Otherwise the content is
// nil.
func (c *Client) open(name string, asked int64) (*fileservice.Info, []byte, error) {
	call, err := c.begin(c.ctx, "open", name)
	if err != nil {
		return nil, nil, err
	}
	response := &fileservicepb.OpenResponse{}
	message := wire.Incoming{Fields: response, Room: func(n int) ([]byte, error) {
		return make([]byte, min(int64(n), asked)), nil
	}}
	request := &fileservicepb.OpenRequest{Path: call.path, Content: uint32(asked)}
	start := time.Now()
	err = call.link.grpc.Invoke(call.ctx, fileservicepb.FileService_Open_FullMethodName, request, &message)
	if err != nil {
		return nil, nil, call.end(err)
	}
	c.heard(time.Since(start))
	info, err := wire.InfoOf(response.GetEntry(), call.path)
	switch {
	case err != nil:
	case !info.IsDir() && !info.Mode().IsRegular():
		err = fileservice.NotRegular(info.Mode())
	case message.N != 0 && int64(message.N) != info.Version().Size:
		err = fmt.Errorf("%w: %d bytes of a file of %d bytes", fileservice.ErrIntegrity, message.N, info.Version().Size)
	}
	if err != nil {
		return nil, nil, call.end(err)
	}
	return info, message.Into[:message.N:message.N], call.end(nil)
}

// ReadLink returns the target of a symbolic link. The target is not resolved and may lead anywhere. It has at most 4096
// bytes and no control characters.
func (c *Client) ReadLink(name string) (target string, err error) {
	err = c.do(c.ctx, "readlink", name, func(call *call) error {
		response, err := call.link.service.ReadLink(call.ctx, &fileservicepb.ReadLinkRequest{Path: call.path})
		if target = response.GetTarget(); err == nil && !fileservice.IsTarget(target) {
			err = fmt.Errorf("%w: an invalid link target", fileservice.ErrIntegrity)
		}
		return err
	})
	return target, err
}

// Space returns the size of the file system that holds name, its free bytes, and the free bytes available to
// unprivileged users.
func (c *Client) Space(name string) (total, free, available uint64, err error) {
	err = c.do(c.ctx, "statfs", name, func(call *call) error {
		response, err := call.link.service.Space(call.ctx, &fileservicepb.SpaceRequest{Path: call.path})
		total, free, available = response.GetTotal(), response.GetFree(), response.GetAvailable()
		if err == nil && (free > total || available > free) {
			err = fmt.Errorf("%w: more free space than the file system has", fileservice.ErrIntegrity)
		}
		return err
	})
	return total, free, available, err
}
