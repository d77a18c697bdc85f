package serve

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"os"
	"os/signal"
	"slices"
	"sync"
	"syscall"

	"culvert/cmd/culvert/internal/argument"
	"culvert/cmd/culvert/internal/command"
	"culvert/cmd/culvert/internal/ui"
	"culvert/secureconn"
)

// access decides who may connect to a server. Its list may be exchanged, which ends the connections of peers that are
// not on the new one.
type access struct {
	mu    sync.Mutex
	peers []string
	conns map[*accessConn]struct{} // after their handshake
}

var errNotAllowed = errors.New("--allow does not name it")

// authorize is the decision of [secureconn.Config].
func (a *access) authorize(peer string) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if !slices.Contains(a.peers, peer) {
		return errNotAllowed
	}
	return nil
}

// replace exchanges the list, and returns how many connections it ends.
func (a *access) replace(peers []string) (ended int) {
	a.mu.Lock()
	a.peers = peers
	conns := slices.Collect(maps.Keys(a.conns))
	a.mu.Unlock()
	for _, c := range conns {
		if a.authorize(c.Peer()) != nil {
			_ = c.NetConn().Close() // calls on the connection report the error
			ended++
		}
	}
	return ended
}

// accessListener notes the connections that it accepts.
type accessListener struct {
	net.Listener
	*access
}

func (l accessListener) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return &accessConn{conn.(*secureconn.Conn), l.access}, nil
}

type accessConn struct {
	*secureconn.Conn
	access *access
}

// HandshakeContext asks for the peer again: the list may have changed during the handshake.
func (c *accessConn) HandshakeContext(ctx context.Context) error {
	if err := c.Conn.HandshakeContext(ctx); err != nil {
		return err
	}
	c.access.mu.Lock()
	c.access.conns[c] = struct{}{}
	c.access.mu.Unlock()
	if err := c.access.authorize(c.Peer()); err != nil {
		return &secureconn.PeerError{Fingerprint: c.Peer(), Err: err}
	}
	return nil
}

func (c *accessConn) Close() error {
	c.access.mu.Lock()
	delete(c.access.conns, c)
	c.access.mu.Unlock()
	return c.Conn.Close()
}

// listenForHangups makes SIGHUP a request to read the files of --allow again, if there are any, until stop is called.
func (s *serving) listenForHangups() (hangups <-chan os.Signal, stop func()) {
	if !slices.ContainsFunc(s.options.allow, func(value string) bool { return !argument.IsFingerprint(value) }) {
		return nil, func() {}
	}
	c := make(chan os.Signal, 1)
	s.app.Reloads.Store(true)
	signal.Notify(c, syscall.SIGHUP)
	return c, func() {
		s.app.Reloads.Store(false)
		signal.Stop(c)
	}
}

// reload reads the files of --allow again. If one cannot be read, the list stays as it is.
func (s *serving) reload(ctx context.Context) {
	peers, err := s.readAgain(ctx)
	if err != nil {
		s.app.Console.Warn("the list of --allow stays as it is: " + command.Plain(err))
		return
	}
	ended := s.access.replace(peers)
	s.report.Allowed = len(peers)
	text := fmt.Sprintf("culvert: --allow was read again: %s", ui.Several(int64(len(peers)), "fingerprint"))
	if ended > 0 {
		text += ", " + ui.Several(int64(ended), "connection") + " ended"
	}
	s.say(text)
}

func (s *serving) readAgain(ctx context.Context) ([]string, error) {
	for _, value := range s.options.allow {
		if argument.IsFingerprint(value) {
			continue
		}
		// A pipe could be waited for, and standard input has ended.
		if info, err := os.Stat(value); err == nil && !info.Mode().IsRegular() || value == "-" {
			return nil, fmt.Errorf("--allow: %q is not a regular file and cannot be read again", value)
		}
	}
	return s.options.allowed(ctx, s.app, s.report.Fingerprint)
}
