package remote

import (
	"context"
	"io/fs"

	"culvert/cmd/culvert/internal/command"
	"culvert/cmd/culvert/internal/connect"
	"culvert/fileservice/transfer"
)

// otherEnd is the server or the bucket of a URL.
type otherEnd interface {
	path() string          // of the URL
	at(name string) string // a URL
	origin() string        // of the files of the URL, whatever address they are reached at

	// open connects. If it fails and again is not nil, it calls that before it tries again. The context that it returns
	// ends when the server turns out to be another one. Whatever was done with the end, close takes its error.
	open(ctx context.Context, flags *connect.Flags, app *command.App, jobs int,
		again func(context.Context, error) error) (_ context.Context, close func(error) error, err error)

	files(ctx context.Context) fs.FS
	blame(err error) error // names files by their URLs
	pull(ctx context.Context, config transfer.Config) (transfer.Result, error)
	push(ctx context.Context, config transfer.Config) (transfer.Result, error)
}

// otherEndOf returns the other end of a URL.
func otherEndOf(text string) (otherEnd, error) {
	if connect.IsBucket(text) {
		return newBucketEnd(text)
	}
	u, err := connect.ParseURL(text)
	return &serverEnd{url: u}, err
}

// serverEnd is a server.
type serverEnd struct {
	url    *connect.URL
	server *connect.Server
}

func (e *serverEnd) path() string          { return e.url.Path }
func (e *serverEnd) at(name string) string { return e.url.At(name).String() }

func (e *serverEnd) origin() string {
	return (&connect.URL{Fingerprint: e.url.Fingerprint, Path: e.url.Path}).String()
}

func (e *serverEnd) open(
	ctx context.Context, flags *connect.Flags, app *command.App, jobs int, again func(context.Context, error) error,
) (context.Context, func(error) error, error) {
	ctx, server, err := flags.Connect(ctx, app, e.url, jobs, again)
	if err != nil {
		return nil, nil, err
	}
	e.server = server
	return ctx, server.Close, nil
}

func (e *serverEnd) files(ctx context.Context) fs.FS { return e.server.WithContext(ctx) }

func (e *serverEnd) blame(err error) error { return e.server.Blame(err) }

func (e *serverEnd) pull(ctx context.Context, config transfer.Config) (transfer.Result, error) {
	return transfer.Pull(ctx, e.server.Client, config)
}

func (e *serverEnd) push(ctx context.Context, config transfer.Config) (transfer.Result, error) {
	return transfer.Push(ctx, e.server.Client, config)
}
