package remote

import (
	"context"
	"io/fs"

	"culvert/fileservice/transfer"
	"culvert/internal/cli/command"
	"culvert/internal/cli/connect"
	"culvert/place"
)

// bucketEnd is a bucket.
type bucketEnd struct {
	url    *connect.BucketURL
	bucket *connect.Bucket
}

func newBucketEnd(text string) (otherEnd, error) {
	u, err := connect.ParseBucketURL(text)
	return &bucketEnd{url: u}, err
}

func (e *bucketEnd) path() string          { return e.url.Path }
func (e *bucketEnd) at(name string) string { return e.url.At(name) }
func (e *bucketEnd) isVerified() bool      { return false }

func (e *bucketEnd) open(
	ctx context.Context, flags *transferFlags, _ *command.App, _ func(context.Context, error) error,
) (context.Context, func(error) error, error) {
	opened, err := e.url.Open(ctx, flags.Timeout, flags.connections)
	if err != nil {
		return nil, nil, err
	}
	e.bucket = opened
	return ctx, opened.Close, nil
}

func (e *bucketEnd) pull(ctx context.Context, config transfer.Config) (transfer.Result, error) {
	return transfer.PullPlace(ctx, e.bucket.Place, config)
}

func (e *bucketEnd) push(ctx context.Context, config transfer.Config) (transfer.Result, error) {
	return transfer.PushPlace(ctx, e.bucket.Place, config)
}

func (e *bucketEnd) stat(ctx context.Context, name string) (fs.FileInfo, error) {
	return fs.Stat(place.WithContext(ctx, e.bucket.Place), name)
}
