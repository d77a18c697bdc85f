package argument

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"net"
	"syscall"
	"time"

	"filippo.io/age"
	"github.com/spf13/cobra"

	"culvert/cmd/culvert/internal/command"
	"culvert/fileservice"
	"culvert/fileservice/client"
	"culvert/internal/grace"
	"culvert/internal/keyfile"
	"culvert/place"
	"culvert/secureconn"
)

// Flags say how to connect to the server or the bucket of a URL.
type Flags struct {
	KeyFlags
	Timeout     time.Duration
	Connections int // at once; 0 is the default

	// Again is called if the first connection to a server fails, before it is tried again. If it is nil, that is an
	// error.
	Again func(context.Context, error) error
}

// Add adds the flags to a command.
func (f *Flags) Add(cmd *cobra.Command) {
	f.KeyFlags.Add(cmd)
	cmd.Flags().DurationVar(&f.Timeout, "timeout", client.DefaultTimeout, "give up if no byte moves for `TIME`")
}

// server is a server that a command is connected with.
type server struct {
	url    *URL
	key    *keyfile.Key
	config *secureconn.Config
	client *client.Client

	first  chan net.Conn // the connection that connect has made, until it is used
	cancel context.CancelCauseFunc
}

// locateServer makes of the URL of a server a location.
func locateServer(text string) (*Location, error) {
	u, err := ParseURL(text)
	if err != nil {
		return nil, err
	}
	s := &server{url: u}
	l := &Location{
		Text: u.String(), Name: u.Path, Origin: (&URL{Fingerprint: u.Fingerprint, Path: u.Path}).String(),
		URL: func(name string) string { return u.At(name).String() }, Blame: s.blame, Close: s.close,
	}
	l.open = func(ctx context.Context, a *command.App, f *Flags) (_ context.Context, err error) {
		if ctx, l.Identities, err = s.connect(ctx, a, f); err != nil {
			return nil, err
		}
		l.Client, l.Place = s.client, place.WithContext(ctx, s.client.Place())
		return ctx, nil
	}
	return l, nil
}

// connect reads the own key, connects, and returns a context that ends when the server turns out to be another one.
// Trying a connection first tells at once, and in the best words, why none can be made.
func (r *server) connect(ctx context.Context, a *command.App, f *Flags) (context.Context, []age.Identity, error) {
	key, identities, err := f.read(ctx, a)
	if err != nil {
		return nil, nil, err
	}
	r.key, r.first = key, make(chan net.Conn, 1)
	r.config = &secureconn.Config{Key: key.ConnectionKey(), Peers: []string{r.url.Fingerprint}}
	conn, err := r.try(ctx, f.Timeout)
	for err != nil && f.Again != nil && !IsFinal(err) {
		if err = f.Again(ctx, err); err != nil {
			break
		}
		conn, err = r.try(ctx, f.Timeout)
	}
	if err != nil {
		return nil, nil, err
	}
	r.first <- conn
	ctx, r.cancel = context.WithCancelCause(ctx)
	r.client, err = client.New(client.Config{
		Dial: r.dial, Connections: cmp.Or(f.Connections, client.DefaultConnections), Timeout: f.Timeout,
	})
	if err != nil {
		r.cancel(nil)
		return nil, nil, errors.Join(err, conn.Close())
	}
	return ctx, identities, nil
}

// try makes one connection.
func (r *server) try(ctx context.Context, timeout time.Duration) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	conn, err := r.handshake(ctx)
	if err == nil {
		return conn, nil
	}
	return nil, r.explainFirst(err)
}

// Handshakes that the server ends are begun again this often, after waits that double.
const (
	maxHandshakes = 6
	firstWait     = 25 * time.Millisecond
)

// handshake connects. A server to which others connect without end closes some connections in their handshake, whoever
// they are from.
func (r *server) handshake(ctx context.Context) (net.Conn, error) {
	wait := firstWait
	for attempt := 1; ; attempt++ {
		conn, err := secureconn.Dial(ctx, "tcp", r.url.Address, r.config)
		if err == nil {
			return conn, nil
		}
		if attempt == maxHandshakes || !wasCut(err) {
			return nil, err
		}
		if grace.Wait(ctx, wait/2+rand.N(wait)) != nil { // clients that were cut together come again apart
			return nil, err
		}
		wait *= 2
	}
}

// wasCut reports whether the other end has ended a handshake without a word.
func wasCut(err error) bool {
	return errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE)
}

// dial makes the connections of the client. The server has been reached before.
func (r *server) dial(ctx context.Context) (net.Conn, error) {
	select {
	case conn := <-r.first:
		return conn, nil
	default:
	}
	conn, err := r.handshake(ctx)
	if err == nil {
		return conn, nil
	}
	if err = r.explain(err); IsFinal(err) {
		r.cancel(err) // the client would go on trying
		return nil, err
	}
	return nil, fmt.Errorf("%w: %w", fileservice.ErrUnreachable, err)
}

// IsFinal reports whether to connect again is of no use.
func IsFinal(err error) bool {
	return command.Is[*secureconn.PeerError](err) || errors.Is(err, secureconn.ErrRefused)
}

// explain says what it means that no connection could be made.
func (r *server) explain(err error) error {
	var peer *secureconn.PeerError
	switch {
	case errors.As(err, &peer):
		return command.WithHint(command.Rephrase(err,
			fmt.Sprintf("%s is not the server of the URL: its fingerprint is %s",
				r.url.Address, peer.Fingerprint)),
			"compare the URL with what culvert serve has printed there; if it is right, somebody is in between")
	case errors.Is(err, secureconn.ErrRefused):
		return command.WithHint(command.Rephrase(err, r.url.Address+" refuses this identity"),
			"it has to be started with: culvert serve --allow "+r.key.Fingerprint())
	}
	if op, is := errors.AsType[*net.OpError](err); is {
		err = op.Err // the address stands before it
	}
	if errors.Is(err, context.DeadlineExceeded) {
		err = command.Rephrase(err, "no answer in time")
	}
	return fmt.Errorf("%s: %w", r.url.Address, err)
}

// explainFirst says what it means that the first connection could not be made, and what to look at.
func (r *server) explainFirst(err error) error {
	err = r.explain(err)
	switch {
	case IsFinal(err):
		return err
	case command.Is[*net.DNSError](err):
		return command.WithHint(&unreachableError{err},
			"check the name of the host in the URL, and that this machine can look names up")
	}
	return command.WithHint(&unreachableError{err},
		"check that culvert serve runs there, and that nothing blocks the port")
}

// unreachableError says that the first connection could not be made.
type unreachableError struct{ error }

func (e *unreachableError) Unwrap() []error { return []error{fileservice.ErrUnreachable, e.error} }

// close ends the connections. The error of what was done with them is err.
func (r *server) close(err error) error {
	if cause := r.client.Close(); err == nil {
		err = cause
	}
	r.cancel(nil)
	select {
	case conn := <-r.first:
		return errors.Join(err, conn.Close())
	default:
		return err
	}
}

// blame says which file of the server an error is about, by its URL.
func (r *server) blame(err error) error {
	var path *fs.PathError
	if !errors.As(err, &path) {
		return err
	}
	at := r.url.At(path.Path)
	named := command.Rephrase(err, at.String()+": "+command.Plain(path.Err))
	if errors.Is(err, fs.ErrNotExist) {
		return command.WithHint(named, "list what exists: culvert ls "+command.ForShell(r.url.Tree()))
	}
	return named
}
