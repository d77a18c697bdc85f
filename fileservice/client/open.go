package client

import (
	"context"
	"fmt"
	"time"

	"culvert/fileservice"
	"culvert/fileservice/internal/fileservicepb"
	"culvert/fileservice/internal/wire"
)

// maxContents is how much all open files of a client hold of their contents. What is opened beyond that is read when
// it is asked for.
const maxContents = 16 << 20

// open asks for a file and, in the same call, for its content if there is room for it. The content is nil if it did
// not come; the room for it is given back with c.contents.Add.
func (c *Client) open(ctx context.Context, name string) (*fileservice.Info, []byte, error) {
	asked := int64(wire.MaxContent)
	if c.contents.Add(asked) > maxContents {
		c.contents.Add(-asked)
		asked = 0
	}
	info, content, err := c.openWith(ctx, name, asked)
	c.contents.Add(int64(len(content)) - asked)
	return info, content, err
}

func (c *Client) openWith(ctx context.Context, name string, asked int64) (*fileservice.Info, []byte, error) {
	call, err := c.begin(ctx, "open", name)
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
		err = fmt.Errorf("%w: %d bytes of a file of %d", fileservice.ErrIntegrity, message.N, info.Version().Size)
	}
	if err != nil {
		return nil, nil, call.end(err)
	}
	return info, message.Into[:message.N:message.N], call.end(nil)
}

// ReadLink gives where a symbolic link leads. That is what the server says: nothing has followed it, and it may lead
// anywhere. It has at most 4096 bytes, and no control characters.
func (c *Client) ReadLink(name string) (string, error) {
	call, err := c.begin(c.ctx, "readlink", name)
	if err != nil {
		return "", err
	}
	response, err := call.link.service.ReadLink(call.ctx, &fileservicepb.ReadLinkRequest{Path: call.path})
	if err == nil && !fileservice.IsTarget(response.GetTarget()) {
		err = fmt.Errorf("%w: a target of a link that cannot be shown", fileservice.ErrIntegrity)
	}
	return response.GetTarget(), call.end(err)
}

// Space says how much room there is in the file system that a file of the server is in: all of it, what is free, and
// what of that is there for those who are not the superuser. All are in bytes.
func (c *Client) Space(name string) (total, free, available uint64, err error) {
	call, err := c.begin(c.ctx, "statfs", name)
	if err != nil {
		return 0, 0, 0, err
	}
	response, err := call.link.service.Space(call.ctx, &fileservicepb.SpaceRequest{Path: call.path})
	total, free, available = response.GetTotal(), response.GetFree(), response.GetAvailable()
	if err == nil && (free > total || available > free) {
		err = fmt.Errorf("%w: more room than there is", fileservice.ErrIntegrity)
	}
	return total, free, available, call.end(err)
}
