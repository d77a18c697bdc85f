package client

import (
	"context"

	"culvert/fileservice"
	"culvert/fileservice/internal/fileservicepb"
	"culvert/fileservice/internal/wire"
)

// Capabilities asks the server what it supports. Servers that this module cannot use are not an error here; see
// [fileservice.Capabilities.Check].
func (c *Client) Capabilities(ctx context.Context) (fileservice.Capabilities, error) {
	call, err := c.begin(ctx, "capabilities", ".")
	if err != nil {
		return fileservice.Capabilities{}, err
	}
	response, err := call.link.service.GetCapabilities(call.ctx, &fileservicepb.GetCapabilitiesRequest{})
	if err != nil {
		return fileservice.Capabilities{}, call.end(err)
	}
	return wire.CapabilitiesOf(response), call.end(nil)
}
