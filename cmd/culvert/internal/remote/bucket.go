package remote

import (
	"context"
	"io/fs"

	"culvert/cmd/culvert/internal/command"
	"culvert/cmd/culvert/internal/connect"
	"culvert/export"
	"culvert/internal/plainfs"
	"culvert/place"
)

// bucketEnd is a bucket.
type bucketEnd struct {
	url    *connect.BucketURL
	bucket *connect.Bucket
	lists  *listedPlace
}

func newBucketEnd(text string) (otherEnd, error) {
	u, err := connect.ParseBucketURL(text)
	return &bucketEnd{url: u}, err
}

func (e *bucketEnd) path() string          { return e.url.Path }
func (e *bucketEnd) at(name string) string { return e.url.At(name) }
func (e *bucketEnd) origin() string        { return e.url.String() }

func (e *bucketEnd) open(
	ctx context.Context, flags *connect.Flags, app *command.App, jobs int, _ func(context.Context, error) error,
) (context.Context, func(error) error, error) {
	identities, err := flags.WhenNeeded(ctx, app)
	if err != nil {
		return nil, nil, err
	}
	opened, err := e.url.Open(ctx, flags.Timeout, jobs)
	if err != nil {
		return nil, nil, err
	}
	app.WaitFor(connect.BucketPatience)
	e.bucket = opened
	e.lists = newListedPlace(opened.Place, func(ctx context.Context, dir fs.FS) (*export.Directory, error) {
		return export.ReadConfig{Identities: identities}.OpenDirectory(ctx, dir)
	})
	return ctx, opened.Close, nil
}

func (e *bucketEnd) place() place.Place  { return e.bucket.Place }
func (e *bucketEnd) listed() place.Place { return e.lists }

func (e *bucketEnd) blame(err error) error { return e.bucket.Blame(err) }

// openBucket is openServer for a bucket.
func (m *mounting) openBucket(ctx context.Context, url string, flags *connect.Flags) (
	_ context.Context, shown fs.FS, close func(error) error, err error,
) {
	u, err := connect.ParseBucketURL(url)
	if err != nil {
		return nil, nil, nil, err
	}
	m.report.URL = u.String()
	if m.options.writable {
		return nil, nil, nil, command.Usagef("a bucket or a directory is mounted read only, without --rw")
	}
	if err := checkMountPoint(m.report.Directory); err != nil {
		return nil, nil, nil, err
	}
	b, err := u.Open(ctx, m.options.timeout, 0)
	if err != nil {
		return nil, nil, nil, err
	}
	if shown, err = m.shownBucket(ctx, b, flags); err != nil {
		return nil, nil, nil, b.Close(err)
	}
	return ctx, shown, b.Close, nil
}

func (m *mounting) shownBucket(ctx context.Context, b *connect.Bucket, flags *connect.Flags) (fs.FS, error) {
	files := place.WithContext(ctx, b.Place)
	info, err := fs.Stat(files, b.URL.Path)
	if err != nil {
		return nil, b.Blame(err)
	}
	if !info.IsDir() {
		return nil, notDirectory(b.URL)
	}
	tree, err := place.Sub(files, b.URL.Path)
	if err != nil || !m.options.decrypt {
		return tree, err
	}
	identities, err := flags.Identities(ctx, m.app)
	if err != nil {
		return nil, err
	}
	return m.decrypted(ctx, plainfs.Config{FS: tree, Identities: identities})
}
