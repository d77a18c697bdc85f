package client

import (
	"context"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"slices"
	"strings"

	"culvert/fileservice"
	"culvert/fileservice/internal/fileservicepb"
	"culvert/fileservice/internal/wire"
	"culvert/place"
)

// List returns the entries of a directory in the order of the server's file system. It receives them page by page, so
// memory does not limit the directory. The sequence ends after the first error, whose Info is nil. If no path can hold
// the names of some entries, that error is a [*fileservice.UnnamableError], after all other entries.
//
// The server waits while the loop body runs, for at most its StallTimeout.
func (c *Client) List(ctx context.Context, name string) iter.Seq2[*fileservice.Info, error] {
	return func(yield func(*fileservice.Info, error) bool) {
		call, err := c.begin(ctx, "readdir", name)
		if err != nil {
			yield(nil, err)
			return
		}
		stopped, err := call.list(yield)
		if err = call.end(err); err != nil && !stopped {
			yield(nil, err)
		}
	}
}

// maxShownName bounds the bytes of a name that no path can hold. Longer ones are cut.
const maxShownName = 255

func (c *call) list(yield func(*fileservice.Info, error) bool) (stopped bool, err error) {
	stream, err := c.link.service.List(c.ctx, &fileservicepb.ListRequest{Path: c.path})
	if err != nil {
		return false, err
	}
	entries, unnamable := 0, fileservice.UnnamableError{}
	for {
		page, err := stream.Recv()
		c.pause()
		switch {
		case err == io.EOF && unnamable.Count > 0:
			failed := unnamable
			return false, &failed
		case err == io.EOF:
			return false, nil
		case err != nil:
			return false, err
		}
		unnamable.Count += uint64(page.GetUnnamable())
		for _, name := range page.GetUnnamableNames() {
			if len(unnamable.Names) < place.NamedUnnamables && uint64(len(unnamable.Names)) < unnamable.Count {
				unnamable.Names = append(unnamable.Names, string(name[:min(len(name), maxShownName)]))
			}
		}
		entries += len(page.GetEntries())
		empty := len(page.GetEntries()) == 0 && page.GetUnnamable() == 0
		if empty || entries > c.client.config.MaxEntries {
			return false, fmt.Errorf("%w: the listing does not end", fileservice.ErrIntegrity)
		}
		for _, entry := range page.GetEntries() {
			info, err := wire.InfoOf(entry, "")
			if err != nil {
				return false, err
			}
			if !yield(info, nil) {
				return true, nil
			}
		}
		c.advance()
	}
}

// ReadDir returns all entries of a directory, sorted by name. With an error, it returns the entries received before.
func (c *Client) ReadDir(name string) ([]fs.DirEntry, error) {
	var entries []fs.DirEntry
	var failed error
	for info, err := range c.List(c.ctx, name) {
		if err != nil {
			failed = err
			break
		}
		entries = append(entries, info)
	}
	slices.SortFunc(entries, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	for i := 1; i < len(entries); i++ {
		if entries[i].Name() == entries[i-1].Name() {
			err := fmt.Errorf("%w: duplicate name %q", fileservice.ErrIntegrity, entries[i].Name())
			return nil, &fs.PathError{Op: "readdir", Path: name, Err: err}
		}
	}
	return entries, failed
}
