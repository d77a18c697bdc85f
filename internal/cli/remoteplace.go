package cli

import (
	"context"

	"culvert/fileservice/client"
	"culvert/place"
)

// remotePlace is the tree of a server as a place.
type remotePlace struct{ *client.Client }

var _ place.Place = remotePlace{}

// Remove implements [place.Place].
func (p remotePlace) Remove(ctx context.Context, name string) error {
	return p.Client.WithContext(ctx).Remove(name)
}
