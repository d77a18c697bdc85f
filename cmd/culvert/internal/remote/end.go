package remote

import (
	"context"

	"culvert/cmd/culvert/internal/command"
	"culvert/cmd/culvert/internal/connect"
	"culvert/place"
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

	place() place.Place
	listed() place.Place   // the same, with what manifests say of its files
	blame(err error) error // names files by their URLs
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

func (e *serverEnd) place() place.Place  { return e.server.Place() }
func (e *serverEnd) listed() place.Place { return e.server.Place() }

func (e *serverEnd) blame(err error) error { return e.server.Blame(err) }
