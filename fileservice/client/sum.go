package client

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"culvert/fileservice"
	"culvert/fileservice/internal/fileservicepb"
	"culvert/fileservice/internal/wire"
)

// A NamedVersion is a version of a file in a directory that is named elsewhere.
type NamedVersion struct {
	Name    string // an element of a path
	Version fileservice.Version
}

// Sums returns the sum of each of at most MaxSmallFiles files of a directory, of any size, without moving them. The
// server reads them for that, and Timeout does not limit the time that it takes. sums and errs have an element for each
// file, and one of the two is set: an error such as ErrChanged concerns that file alone. If the server is older than
// this call, err wraps [errors.ErrUnsupported].
func (c *Client) Sums(
	ctx context.Context, dir string, files []NamedVersion,
) (sums []fileservice.Sum, errs []error, err error) {
	if len(files) > fileservice.MaxSmallFiles {
		return nil, nil, fault("sum", dir, fmt.Errorf("%w: %d files in one call", fs.ErrInvalid, len(files)))
	}
	err = c.do(ctx, "sum", dir, func(call *call) error {
		request := &fileservicepb.SumRequest{Directory: call.path}
		for _, f := range files {
			request.Files = append(request.Files, &fileservicepb.SummedFile{
				Name: f.Name, Version: wire.VersionMessage(f.Version),
			})
		}
		call.pause() // the server reads its disk
		response, err := call.link.service.Sum(call.ctx, request)
		switch {
		case status.Code(err) == codes.Unimplemented:
			return fmt.Errorf("fileservice: the server does not make sums of its files: %w", errors.ErrUnsupported)
		case err != nil:
			return err
		}
		sums, errs, err = sumsOf(dir, files, response.GetFiles())
		return err
	})
	return sums, errs, err
}

func sumsOf(
	dir string, files []NamedVersion, results []*fileservicepb.SumResult,
) (sums []fileservice.Sum, errs []error, err error) {
	if len(results) != len(files) {
		err := fmt.Errorf("%w: %d sums of %d files", fileservice.ErrIntegrity, len(results), len(files))
		return nil, nil, err
	}
	sums, errs = make([]fileservice.Sum, len(files)), make([]error, len(files))
	for i, result := range results {
		remote, err := wire.ErrorOf(result.GetError())
		switch {
		case err != nil:
			return nil, nil, err
		case remote != nil:
			errs[i] = fault("sum", path.Join(dir, files[i].Name), remote)
		case len(result.GetHash()) != fileservice.SumSize:
			err := fmt.Errorf("%w: a sum of %d bytes", fileservice.ErrIntegrity, len(result.GetHash()))
			return nil, nil, err
		default:
			sums[i] = fileservice.Sum(result.GetHash())
		}
	}
	return sums, errs, nil
}
