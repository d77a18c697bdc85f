package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/url"
	"os"
	"strings"
	"time"

	"filippo.io/age"
	"github.com/spf13/cobra"

	"culvert/fileservice"
	"culvert/fileservice/client"
	"culvert/internal/fingerprint"
	"culvert/internal/keyfile"
	"culvert/secureconn"
)

// defaultPort is where culvert serve listens, and where a URL without a port leads. On the keys of a telephone it
// reads CULVE. It is registered for nothing, and below the ports that systems give to outgoing connections.
const defaultPort = "28583"

// remoteURL is a file of a server.
type remoteURL struct {
	fingerprint string
	address     string // host and port
	path        string // as those of io/fs
}

func (u *remoteURL) String() string {
	text := url.URL{Scheme: "culvert", User: url.User(u.fingerprint), Host: u.address, Path: "/"}
	if u.path != "." {
		text.Path += u.path
	}
	return text.String()
}

// server is the URL of the tree.
func (u *remoteURL) server() string { return (&remoteURL{u.fingerprint, u.address, "."}).String() }

// parseRemoteURL reads a URL of the command line.
func parseRemoteURL(text string) (*remoteURL, error) {
	const form = "a URL is culvert://FINGERPRINT@HOST[:PORT]/PATH; culvert serve prints its beginning"
	parsed, err := url.Parse(text)
	if err != nil {
		if inner, is := errors.AsType[*url.Error](err); is {
			err = inner.Err
		}
		hints := []string{form}
		if is[url.EscapeError](err) {
			hints = []string{"write %25 for a % in the path, %3F for ?, and %23 for #"}
		}
		return nil, withHint(usagef("%q is not a URL: %v", text, err), hints...)
	}
	u := &remoteURL{}
	if parsed.User != nil {
		u.fingerprint = strings.ToLower(parsed.User.Username())
	}
	_, hasPassword := parsed.User.Password()
	host, port := parsed.Hostname(), parsed.Port()
	if port == "" {
		port = defaultPort
	}
	u.address = net.JoinHostPort(host, port)
	u.path = strings.Trim(parsed.Path, "/")
	if u.path == "" {
		u.path = "."
	}
	switch {
	case parsed.Scheme != "culvert":
		return nil, withHint(usagef("%q is not the URL of a server", text), form)
	case parsed.RawQuery != "" || parsed.ForceQuery || strings.Contains(text, "#"):
		return nil, withHint(usagef("%q has a ? or a # in its path", text), "write %3F for ?, and %23 for #")
	case hasPassword:
		return nil, withHint(usagef("the URL has a password, but your identity proves who you are"), form)
	case u.fingerprint == "":
		return nil, withHint(usagef("%q lacks the fingerprint of the server", text), form)
	case !isFingerprint(u.fingerprint):
		return nil, withHint(usagef("%q is not a fingerprint", u.fingerprint),
			"it has 52 characters from a to z and 2 to 7; culvert serve prints it as a part of its URL")
	case host == "":
		return nil, withHint(usagef("%q lacks the host of the server", text), form)
	case !fs.ValidPath(u.path):
		return nil, withHint(usagef("%q is not a path on the server", u.path), form)
	}
	return u, nil
}

func isFingerprint(text string) bool {
	_, err := fingerprint.Parse(text)
	return err == nil
}

// connectionFlags say who one is on a connection.
type connectionFlags struct {
	identity notEmpty
	passphraseFlags
}

func (f *connectionFlags) add(cmd *cobra.Command) {
	cmd.Flags().VarP(&f.identity, "identity", "i", "be the identity in `FILE` (default: your own)")
	f.passphraseFlags.add(cmd)
}

// key reads the key that one proves to hold.
func (f *connectionFlags) key(ctx context.Context, a *app) (*keyfile.Key, error) {
	key, _, err := f.read(ctx, a)
	return key, err
}

// read reads the key, and all that is in the file of the identity.
func (f *connectionFlags) read(ctx context.Context, a *app) (*keyfile.Key, []age.Identity, error) {
	path := string(f.identity)
	if path == "" {
		var err error
		if path, err = keyfile.DefaultPath(); err != nil {
			return nil, nil, err
		}
	}
	identities, err := a.keyReader(ctx, &f.passphraseFlags).Identities(path)
	if errors.Is(err, os.ErrNotExist) && f.identity == "" {
		return nil, nil, withHint(fmt.Errorf("%w to connect with: %s does not exist", errNoIdentity, path),
			"make one: culvert keygen")
	}
	if err != nil {
		return nil, nil, err
	}
	key, err := keyfile.KeyOf(identities)
	if err != nil {
		return nil, nil, about(path, err)
	}
	return key, identities, nil
}

// remoteFlags are those of the commands that connect to a server.
type remoteFlags struct {
	connectionFlags
	timeout time.Duration
}

func (f *remoteFlags) add(cmd *cobra.Command) {
	f.connectionFlags.add(cmd)
	cmd.Flags().DurationVar(&f.timeout, "timeout", client.DefaultTimeout,
		"give up if no byte moves for `TIME`")
}

// remote is a server that a command is connected with.
type remote struct {
	*client.Client
	url    *remoteURL
	key    *keyfile.Key
	config *secureconn.Config

	identities []age.Identity // what is in the file of the key

	first  chan net.Conn // the connection that connect has made, until it is used
	cancel context.CancelCauseFunc
}

// connect reads the own key, connects, and gives a context that ends when the server turns out to be another one.
// Trying a connection first tells at once, and in the best words, why none can be made.
func (f *remoteFlags) connect(
	ctx context.Context, a *app, u *remoteURL, connections int, again func(context.Context, error) error,
) (context.Context, *remote, error) {
	if f.timeout <= 0 {
		return nil, nil, usagef("--timeout is %v, and must be more than 0", f.timeout)
	}
	key, identities, err := f.read(ctx, a)
	if err != nil {
		return nil, nil, err
	}
	r := &remote{url: u, key: key, identities: identities, first: make(chan net.Conn, 1)}
	r.config = &secureconn.Config{Key: key.ConnectionKey(), Peers: []string{u.fingerprint}}
	conn, err := r.try(ctx, f.timeout)
	for err != nil && again != nil && !isFinal(err) {
		if err = again(ctx, err); err != nil {
			break
		}
		conn, err = r.try(ctx, f.timeout)
	}
	if err != nil {
		return nil, nil, err
	}
	r.first <- conn
	ctx, r.cancel = context.WithCancelCause(ctx)
	r.Client, err = client.New(client.Config{
		Dial: r.dial, Connections: connections, Timeout: f.timeout,
	})
	if err != nil {
		return nil, nil, errors.Join(err, conn.Close())
	}
	return ctx, r, nil
}

// try makes one connection.
func (r *remote) try(ctx context.Context, timeout time.Duration) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	conn, err := secureconn.Dial(ctx, "tcp", r.url.address, r.config)
	if err != nil {
		return nil, r.explain(err)
	}
	return conn, nil
}

// dial makes the connections of the client.
func (r *remote) dial(ctx context.Context) (net.Conn, error) {
	select {
	case conn := <-r.first:
		return conn, nil
	default:
	}
	conn, err := secureconn.Dial(ctx, "tcp", r.url.address, r.config)
	if err == nil {
		return conn, nil
	}
	err = r.explain(err)
	if isFinal(err) {
		r.cancel(err) // the client would go on trying
	}
	return nil, err
}

// isFinal reports whether to connect again is of no use.
func isFinal(err error) bool {
	return is[*secureconn.PeerError](err) || errors.Is(err, secureconn.ErrRefused)
}

// explain says what it means that no connection could be made.
func (r *remote) explain(err error) error {
	var peer *secureconn.PeerError
	switch {
	case errors.As(err, &peer):
		return withHint(&rephrasedError{err, fmt.Sprintf("%s is not the server of the URL: its fingerprint is %s",
			r.url.address, peer.Fingerprint)},
			"compare the URL with what culvert serve has printed there; if it is right, somebody is in between")
	case errors.Is(err, secureconn.ErrRefused):
		return withHint(&rephrasedError{err, r.url.address + " refuses this identity"},
			"it has to be started with: culvert serve --allow "+r.key.Fingerprint())
	}
	if op, is := errors.AsType[*net.OpError](err); is {
		err = op.Err // the address stands before it
	}
	if errors.Is(err, context.DeadlineExceeded) {
		err = &rephrasedError{err, "no answer in time"}
	}
	hint := "check that culvert serve runs there, and that nothing blocks the port"
	if is[*net.DNSError](err) {
		hint = "check the name of the host in the URL, and that this machine can look names up"
	}
	return withHint(&unreachableError{fmt.Errorf("%s: %w", r.url.address, err)}, hint)
}

// unreachableError says that no connection could be made.
type unreachableError struct{ error }

func (e *unreachableError) Unwrap() []error { return []error{fileservice.ErrUnreachable, e.error} }

// close ends the connections. The error of what was done with them is err.
func (r *remote) close(err error) error {
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

// blame says which file of the server an error is about, by its URL.
func (r *remote) blame(err error) error {
	var path *fs.PathError
	if !errors.As(err, &path) {
		return err
	}
	at := &remoteURL{r.url.fingerprint, r.url.address, path.Path}
	named := &rephrasedError{err, at.String() + ": " + plain(path.Err)}
	if errors.Is(err, fs.ErrNotExist) {
		return withHint(named, "list what exists: culvert ls "+forShell(r.url.server()))
	}
	return named
}

// hintOfRemote says what to try when a server has failed after it was reached.
func hintOfRemote(err error) []string {
	switch {
	case errors.Is(err, fileservice.ErrIntegrity), errors.Is(err, secureconn.ErrRecord):
		return []string{"what came is not what the server should send; nothing of it was kept"}
	case errors.Is(err, fileservice.ErrUnreachable):
		return []string{"try again; culvert pull and culvert push go on where they were"}
	case errors.Is(err, fileservice.ErrChanged):
		return []string{"somebody writes to it: run it again when it is finished"}
	}
	return nil
}
