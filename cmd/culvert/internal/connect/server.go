// Package connect finds the server of a URL, and connects to it with the user's identity. It also opens buckets.
package connect

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"net"
	"os"
	"syscall"
	"time"

	"filippo.io/age"
	"github.com/spf13/cobra"

	"culvert/cmd/culvert/internal/command"
	"culvert/fileservice"
	"culvert/fileservice/client"
	"culvert/internal/keyfile"
	"culvert/secureconn"
)

// KeyFlags say who one is on a connection.
type KeyFlags struct {
	Identity command.NotEmpty
	command.PassphraseFlags
}

// Add adds the flags to a command.
func (f *KeyFlags) Add(cmd *cobra.Command) {
	cmd.Flags().VarP(&f.Identity, "identity", "i", "be the identity in `FILE` (default: your own)")
	f.PassphraseFlags.Add(cmd)
}

// Key reads the key that one proves to hold.
func (f *KeyFlags) Key(ctx context.Context, a *command.App) (*keyfile.Key, error) {
	key, _, err := f.read(ctx, a)
	return key, err
}

// Identities returns all that is in the file of the identity.
func (f *KeyFlags) Identities(ctx context.Context, a *command.App) ([]age.Identity, error) {
	_, identities, err := f.read(ctx, a)
	return identities, err
}

// WhenNeeded stands for Identities, which are read for the first file that is encrypted. If the flags name a file that
// cannot be read, that is an error at once.
func (f *KeyFlags) WhenNeeded(ctx context.Context, a *command.App) ([]age.Identity, error) {
	if f.Identity != "" {
		if err := command.Readable(string(f.Identity)); err != nil {
			return nil, err
		}
	}
	return command.WhenNeeded(func() ([]age.Identity, error) { return f.Identities(ctx, a) }), nil
}

// read reads the key, and all that is in the file of the identity.
func (f *KeyFlags) read(ctx context.Context, a *command.App) (*keyfile.Key, []age.Identity, error) {
	path := string(f.Identity)
	if path == "" {
		var err error
		if path, err = keyfile.DefaultPath(); err != nil {
			return nil, nil, err
		}
	}
	identities, err := a.KeyReader(ctx, &f.PassphraseFlags).Identities(path)
	if errors.Is(err, os.ErrNotExist) && f.Identity == "" {
		return nil, nil, command.WithHint(fmt.Errorf("%w to connect with: %s does not exist", command.ErrNoIdentity,
			path),
			"make one: culvert keygen")
	}
	if err != nil {
		return nil, nil, err
	}
	key, err := keyfile.KeyOf(identities)
	if err != nil {
		return nil, nil, command.About(path, err)
	}
	return key, identities, nil
}

// Flags are those of the commands that connect to a server.
type Flags struct {
	KeyFlags
	Timeout time.Duration
}

// Add adds the flags to a command.
func (f *Flags) Add(cmd *cobra.Command) {
	f.KeyFlags.Add(cmd)
	cmd.Flags().DurationVar(&f.Timeout, "timeout", client.DefaultTimeout,
		"give up if no byte moves for `TIME`")
}

// Server is a server that a command is connected with.
type Server struct {
	*client.Client
	URL    *URL
	key    *keyfile.Key
	config *secureconn.Config

	Identities []age.Identity // what is in the file of the key

	first  chan net.Conn // the connection that connect has made, until it is used
	cancel context.CancelCauseFunc
}

// Connect reads the own key, connects, and gives a context that ends when the server turns out to be another one.
// Trying a connection first tells at once, and in the best words, why none can be made.
func (f *Flags) Connect(
	ctx context.Context, a *command.App, u *URL, connections int, again func(context.Context, error) error,
) (context.Context, *Server, error) {
	if f.Timeout <= 0 {
		return nil, nil, command.Usagef("--timeout is %v, and must be more than 0", f.Timeout)
	}
	key, identities, err := f.read(ctx, a)
	if err != nil {
		return nil, nil, err
	}
	r := &Server{URL: u, key: key, Identities: identities, first: make(chan net.Conn, 1)}
	r.config = &secureconn.Config{Key: key.ConnectionKey(), Peers: []string{u.Fingerprint}}
	conn, err := r.try(ctx, f.Timeout)
	for err != nil && again != nil && !IsFinal(err) {
		if err = again(ctx, err); err != nil {
			break
		}
		conn, err = r.try(ctx, f.Timeout)
	}
	if err != nil {
		return nil, nil, err
	}
	r.first <- conn
	ctx, r.cancel = context.WithCancelCause(ctx)
	r.Client, err = client.New(client.Config{
		Dial: r.dial, Connections: connections, Timeout: f.Timeout,
	})
	if err != nil {
		r.cancel(nil)
		return nil, nil, errors.Join(err, conn.Close())
	}
	return ctx, r, nil
}

// try makes one connection.
func (r *Server) try(ctx context.Context, timeout time.Duration) (net.Conn, error) {
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
func (r *Server) handshake(ctx context.Context) (net.Conn, error) {
	wait := firstWait
	for attempt := 1; ; attempt++ {
		conn, err := secureconn.Dial(ctx, "tcp", r.URL.Address, r.config)
		if err == nil {
			return conn, nil
		}
		if attempt == maxHandshakes || !wasCut(err) {
			return nil, err
		}
		select {
		case <-time.After(wait/2 + rand.N(wait)): // clients that were cut together come again apart
		case <-ctx.Done():
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
func (r *Server) dial(ctx context.Context) (net.Conn, error) {
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
func (r *Server) explain(err error) error {
	var peer *secureconn.PeerError
	switch {
	case errors.As(err, &peer):
		return command.WithHint(command.Rephrase(err,
			fmt.Sprintf("%s is not the server of the URL: its fingerprint is %s",
				r.URL.Address, peer.Fingerprint)),
			"compare the URL with what culvert serve has printed there; if it is right, somebody is in between")
	case errors.Is(err, secureconn.ErrRefused):
		return command.WithHint(command.Rephrase(err, r.URL.Address+" refuses this identity"),
			"it has to be started with: culvert serve --allow "+r.key.Fingerprint())
	}
	if op, is := errors.AsType[*net.OpError](err); is {
		err = op.Err // the address stands before it
	}
	if errors.Is(err, context.DeadlineExceeded) {
		err = command.Rephrase(err, "no answer in time")
	}
	return fmt.Errorf("%s: %w", r.URL.Address, err)
}

// explainFirst says what it means that the first connection could not be made, and what to look at.
func (r *Server) explainFirst(err error) error {
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

// Close ends the connections. The error of what was done with them is err.
func (r *Server) Close(err error) error {
	if cause := r.Client.Close(); err == nil {
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

// At is the URL of a file of the server.
func (r *Server) At(name string) string { return r.URL.At(name).String() }

// Blame says which file of the server an error is about, by its URL.
func (r *Server) Blame(err error) error {
	var path *fs.PathError
	if !errors.As(err, &path) {
		return err
	}
	at := r.URL.At(path.Path)
	named := command.Rephrase(err, at.String()+": "+command.Plain(path.Err))
	if errors.Is(err, fs.ErrNotExist) {
		return command.WithHint(named, "list what exists: culvert ls "+command.ForShell(r.URL.Tree()))
	}
	return named
}
