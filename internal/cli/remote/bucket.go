package remote

import (
	"context"
	"io/fs"

	"culvert/fileservice/transfer"
	"culvert/internal/cli/command"
	"culvert/internal/cli/connect"
	"culvert/internal/plainfs"
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
		return nil, nil, nil, command.Usagef("a bucket is mounted read only, without --rw")
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

// lsBucket lists the objects and prefixes directly below the one of a URL.
func lsBucket(ctx context.Context, r *LsReport, o *connect.Flags, text string) (err error) {
	u, err := connect.ParseBucketURL(text)
	if err != nil {
		return err
	}
	r.URL = u.String()
	b, err := u.Open(ctx, o.Timeout, 0)
	if err != nil {
		return err
	}
	defer func() { err = b.Close(err) }()
	files := place.WithContext(ctx, b.Place)
	info, err := fs.Stat(files, u.Path)
	if err != nil {
		return b.Blame(err)
	}
	if !info.IsDir() {
		r.Entries = append(r.Entries, newLsEntry(info))
		return nil
	}
	entries, err := fs.ReadDir(files, u.Path)
	if err != nil {
		return b.Blame(err)
	}
	for _, entry := range entries {
		info, err := entry.Info()
		if err != nil {
			return b.Blame(err)
		}
		r.Entries = append(r.Entries, newLsEntry(info))
	}
	return nil
}
