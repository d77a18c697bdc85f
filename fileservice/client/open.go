package client

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"culvert/bytebuf"
	"culvert/fileservice"
	"culvert/fileservice/internal/exchange"
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
	asked := int64(exchange.MaxInline)
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
	target, err := c.checkName("open", name)
	if err != nil {
		return nil, nil, err
	}
	r := exchange.Request{Kind: exchange.Get, Target: target, Any: true, Length: int(asked)}
	info, content, err := c.openOnce(r)
	if errors.Is(err, fileservice.ErrChanged) {
		r.Length = 0 // it changes while it is read
		info, content, err = c.openOnce(r)
	}
	return info, content, fault("open", name, err)
}

func (c *Client) openOnce(r exchange.Request) (*fileservice.Info, []byte, error) {
	buffer := bytebuf.New()
	defer buffer.Free()
	start := time.Now()
	call, err := c.get(c.ctx, r, buffer.Extend(r.Length))
	if err != nil {
		return nil, nil, err
	}
	c.heard(time.Since(start))
	entry := &fileservicepb.Entry{}
	if err := wire.Unmarshal(call.Head, entry); err != nil {
		return nil, nil, fmt.Errorf("%w: %w", fileservice.ErrIntegrity, err)
	}
	info, err := wire.InfoOf(entry, r.Target)
	switch {
	case err != nil:
		return nil, nil, err
	case info.IsDir() && call.N > 0:
		return nil, nil, fmt.Errorf("%w: a directory with content", fileservice.ErrIntegrity)
	case !info.IsDir() && !info.Mode().IsRegular():
		return nil, nil, fileservice.NotRegular(info.Mode())
	case call.N == 0:
		return info, nil, nil
	case int64(call.N) != info.Version().Size:
		return nil, nil, fmt.Errorf(
			"%w: %d bytes of a file of %d bytes", fileservice.ErrIntegrity, call.N, info.Version().Size)
	}
	return info, bytes.Clone(call.Into[:call.N]), nil
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
