package client_test

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"errors"
	"net"
	"os"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"culvert/fileservice"
	"culvert/fileservice/client"
	"culvert/fileservice/internal/filetest"
	"culvert/fileservice/server"
	"culvert/fileservice/transfer"
	"culvert/secureconn"
)

// line is a way between two machines that all connections share: each direction passes so many bytes in a second, in
// packets, in the order in which they are handed to it. Its time is that of a bubble of synctest, so that hours on it
// take no time.
type line struct {
	rate int64         // bytes a second; 0 passes nothing any more
	over chan struct{} // closed when both ends are gone

	mu      sync.Mutex
	deaf    bool // nothing that the client sends passes any more
	passing sync.WaitGroup
	free    [2]time.Time // when each direction has passed what it was handed
}

const packet = 1 << 10

// toServer is the direction of what a client sends.
const toServer = 0

// pass waits until a packet has passed, and reports whether it does.
func (l *line) pass(direction, n int) bool {
	l.mu.Lock()
	if l.rate == 0 || l.deaf && direction == toServer {
		l.mu.Unlock()
		return false
	}
	free := l.free[direction]
	if now := time.Now(); free.Before(now) {
		free = now
	}
	l.free[direction] = free.Add(time.Duration(n) * time.Second / time.Duration(l.rate))
	wait := time.Until(l.free[direction])
	l.mu.Unlock()
	time.Sleep(wait) //nolint:forbidigo // of a bubble
	return true
}

// end waits until nothing is on its way.
func (l *line) end() {
	close(l.over)
	l.passing.Wait()
}

func (l *line) isCut(direction int) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.rate == 0 || l.deaf && direction == toServer
}

func (l *line) cut() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.rate = 0
}

// deafen has nothing pass any more to the server.
func (l *line) deafen() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.deaf = true
}

// lineConn is one end of a connection over a line. What is written waits in a queue, as in a kernel.
type lineConn struct {
	net.Conn // the pipe that it is read from
	queue    chan []byte
	closed   chan struct{}
	once     *sync.Once
	deadline *deadline
}

// deadline is that of writes, as net.Pipe has it.
type deadline struct {
	mu     sync.Mutex
	timer  *time.Timer
	passed chan struct{}
}

func (d *deadline) set(t time.Time) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.timer != nil && !d.timer.Stop() {
		<-d.passed
	}
	d.timer = nil
	select {
	case <-d.passed:
		d.passed = make(chan struct{})
	default:
	}
	if !t.IsZero() {
		passed := d.passed
		d.timer = time.AfterFunc(time.Until(t), func() { close(passed) })
	}
}

func (d *deadline) wait() <-chan struct{} {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.passed
}

// connection makes the two ends of another connection.
func (l *line) connection() (client, server net.Conn) {
	ends := [2]*lineConn{}
	for i := range ends {
		ends[i] = &lineConn{
			queue: make(chan []byte, 16), closed: make(chan struct{}),
			once: &sync.Once{}, deadline: &deadline{passed: make(chan struct{})},
		}
	}
	for i, from := range ends {
		to := ends[1-i]
		var in net.Conn
		to.Conn, in = net.Pipe()
		l.passing.Go(func() {
			defer in.Close()
			for {
				select {
				case p := <-from.queue:
					if !l.pass(i, len(p)) {
						<-l.over // nor does the other end hear that it is closed
						return
					}
					if _, err := in.Write(p); err != nil {
						return
					}
				case <-from.closed:
					if l.isCut(i) {
						<-l.over
					}
					return
				}
			}
		})
	}
	return ends[0], ends[1]
}

func (c *lineConn) Write(p []byte) (n int, err error) {
	for n < len(p) {
		part := bytes.Clone(p[n:min(len(p), n+packet)])
		select {
		case c.queue <- part:
			n += len(part)
		case <-c.closed:
			return n, net.ErrClosed
		case <-c.deadline.wait():
			return n, os.ErrDeadlineExceeded
		}
	}
	return n, nil
}

func (c *lineConn) SetWriteDeadline(t time.Time) error {
	c.deadline.set(t)
	return nil
}

func (c *lineConn) SetDeadline(t time.Time) error {
	return errors.Join(c.SetReadDeadline(t), c.SetWriteDeadline(t))
}

func (c *lineConn) Close() error {
	c.once.Do(func() { close(c.closed) })
	return c.Conn.Close()
}

// lineListener is the far end of a line.
type lineListener struct {
	accepted chan net.Conn
	closed   chan struct{}
	once     sync.Once
}

func (l *lineListener) Accept() (net.Conn, error) {
	select {
	case conn := <-l.accepted:
		return conn, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

func (l *lineListener) Close() error {
	l.once.Do(func() { close(l.closed) })
	return nil
}

func (l *lineListener) Addr() net.Addr { return &net.TCPAddr{} }

// over has a client and a server, with all their defaults, on the two ends of an encrypted line.
func over(t *testing.T, l *line, dir string, do func(*client.Client)) {
	t.Helper()
	keys, names := [2]ed25519.PrivateKey{}, [2]string{}
	for i := range keys {
		keys[i], names[i] = filetest.NewKey(t)
	}
	listener := &lineListener{accepted: make(chan net.Conn), closed: make(chan struct{})}
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	secure := secureconn.NewListener(listener, &secureconn.Config{Key: keys[1], Peers: names[:1]})
	var connections sync.WaitGroup // that the server has
	srv, served := filetest.StartServer(t, secure, server.Config{
		Root: root, Writable: true, Observer: server.Observer{
			Connected:    func(net.Addr) { connections.Add(1) },
			Disconnected: func(net.Addr) { connections.Done() },
		},
	})
	config := &secureconn.Config{Key: keys[0], Peers: names[1:]}
	client, err := client.New(client.Config{
		Dial: func(ctx context.Context) (net.Conn, error) {
			near, far := l.connection()
			select {
			case listener.accepted <- far:
			case <-ctx.Done():
				return nil, errors.Join(context.Cause(ctx), near.Close(), far.Close())
			}
			conn := secureconn.Client(near, config)
			if err := conn.HandshakeContext(ctx); err != nil {
				return nil, errors.Join(err, conn.Close())
			}
			return conn, nil
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	do(client)
	defer l.end()
	if err := client.Close(); err != nil {
		t.Error(err)
	}
	closed := time.Now()
	connections.Wait()
	// What a dead connection queues counts as taken here, also what a server sends to find out.
	if silent := time.Since(closed); silent > 8*server.DefaultStallTimeout {
		t.Errorf("the server has given up a client that is gone after %v", silent)
	}
	if err := srv.Close(); err != nil {
		t.Error(err)
	}
	if err := <-served; err != nil {
		t.Error(err)
	}
	if err := root.Close(); err != nil {
		t.Error(err)
	}
}

// modem is what a slow line passes: 64 kbit/s.
const modem = 64_000 / 8

// slowWork is what is done over a line, with a file that is there or here.
func slowWork() map[string]func(t *testing.T, remote *client.Client, here *os.Root) error {
	return map[string]func(t *testing.T, remote *client.Client, here *os.Root) error{
		"pull": func(t *testing.T, remote *client.Client, here *os.Root) error {
			_, err := transfer.Pull(t.Context(), remote.Place(), transfer.Config{
				Root: here, Local: "pulled", Remote: "there",
			})
			return err
		},
		"push": func(t *testing.T, remote *client.Client, here *os.Root) error {
			_, err := transfer.Push(t.Context(), remote.Place(), transfer.Config{
				Root: here, Local: "here", Remote: "pushed",
			})
			return err
		},
		"draft": func(t *testing.T, remote *client.Client, here *os.Root) error {
			file, err := remote.OpenFile("written", os.O_WRONLY|os.O_CREATE, 0o600)
			if err != nil {
				return err
			}
			content, err := here.ReadFile("here")
			if err != nil {
				return err
			}
			draft := file.(*client.WritableFile)
			_, err = draft.WriteAt(content, 0)
			if err == nil {
				err = draft.Publish("written", true)
			}
			return errors.Join(err, draft.Close())
		},
	}
}

// TestSlowLine moves files over a slow line, with the time limits that there are if nobody sets others.
func TestSlowLine(t *testing.T) {
	for name, do := range slowWork() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			there, _ := filetest.Tree(t, map[string]int{"there": 5<<20 + 1})
			here, _ := filetest.Tree(t, map[string]int{"here": 5<<20 + 1})
			root := filetest.OpenRoot(t, here)
			synctest.Test(t, func(t *testing.T) {
				began := time.Now()
				over(t, &line{rate: modem, over: make(chan struct{})}, there, func(client *client.Client) {
					if err := do(t, client, root); err != nil {
						t.Errorf("after %v: %v", time.Since(began), err)
					}
				})
				t.Log("it took", time.Since(began))
			})
		})
	}
}

// TestSilentLine has the line pass nothing any more, or nothing to the server, which goes on to say that it is alive.
// The call ends with an error, and soon.
func TestSilentLine(t *testing.T) {
	for _, way := range []struct {
		name string
		end  func(*line)
		most time.Duration // until a call ends
	}{
		// What a dead connection queues counts as taken here, as in systems that do not tell.
		{"both ways", (*line).cut, 8 * client.DefaultTimeout},
		// What the server has been asked for comes first: four blocks.
		{"to the server", (*line).deafen, 4<<20/modem*time.Second + 2*client.DefaultTimeout},
	} {
		for name, do := range slowWork() {
			t.Run(name+"/"+way.name, func(t *testing.T) { silentLine(t, way.end, way.most, do) })
		}
	}
}

func silentLine(
	t *testing.T, end func(*line), most time.Duration, do func(*testing.T, *client.Client, *os.Root) error,
) {
	t.Parallel()
	there, _ := filetest.Tree(t, map[string]int{"there": 5<<20 + 1})
	here, _ := filetest.Tree(t, map[string]int{"here": 5<<20 + 1})
	root := filetest.OpenRoot(t, here)
	synctest.Test(t, func(t *testing.T) {
		l := &line{rate: modem, over: make(chan struct{})}
		over(t, l, there, func(remote *client.Client) {
			const before = 2 * time.Minute
			timer := time.AfterFunc(before, func() { end(l) })
			defer timer.Stop()
			began := time.Now()
			if err := do(t, remote, root); !errors.Is(err, fileservice.ErrUnreachable) {
				t.Errorf("a line that is cut gives %v", err)
			}
			if silent := time.Since(began) - before; silent > most {
				t.Errorf("it is given up after %v", silent)
			}
		})
	})
}
