package postgres_test

import (
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"testing"

	"culvert/internal/testkit"
)

// message is what the server sends: the letter of its kind, its length, and the body.
type message []byte

func (m message) kind() byte   { return m[0] }
func (m message) body() string { return string(m[5:]) }

func newMessage(kind byte, body string) message {
	m := binary.BigEndian.AppendUint32([]byte{kind}, uint32(4+len(body)))
	return append(m, body...)
}

// proxy stands between a client and a server and changes what the server sends. All connections are closed at the end
// of the test.
type proxy struct {
	listener net.Listener
	target   string
	// edit returns what is sent on in place of a message. With io.EOF the connection is cut after that.
	edit func(message) ([]byte, error)
	// lost is how many requests to cancel a statement are still to get lost.
	lost atomic.Int32

	running sync.WaitGroup
	mu      sync.Mutex
	conns   []net.Conn
}

func newProxy(t *testing.T, server *testkit.PostgresServer, edit func(message) ([]byte, error)) *proxy {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &proxy{listener: listener, target: server.SocketPath(), edit: edit}
	p.running.Go(p.accept)
	t.Cleanup(p.close)
	return p
}

func (p *proxy) connString(database string) string {
	return fmt.Sprintf("postgres://postgres@%s/%s?sslmode=disable", p.listener.Addr(), database)
}

func (p *proxy) close() {
	p.listener.Close()
	p.mu.Lock()
	for _, conn := range p.conns {
		conn.Close()
	}
	p.mu.Unlock()
	p.running.Wait()
}

func (p *proxy) accept() {
	for {
		client, err := p.listener.Accept()
		if err != nil {
			return
		}
		server, err := net.Dial("unix", p.target)
		if err != nil {
			client.Close()
			continue
		}
		p.mu.Lock()
		p.conns = append(p.conns, client, server)
		p.mu.Unlock()
		p.running.Go(func() {
			p.ask(client, server)
			server.Close()
		})
		p.running.Go(func() {
			p.answer(client, server)
			client.Close()
			server.Close()
		})
	}
}

// ask sends on what the client says, until one side ends.
func (p *proxy) ask(client io.Reader, server io.Writer) {
	begin := make([]byte, 8) // the length of the first message, and what it is
	if _, err := io.ReadFull(client, begin); err != nil {
		return
	}
	const cancelRequest = 80877102
	if binary.BigEndian.Uint32(begin[4:]) == cancelRequest && p.lost.Add(-1) >= 0 {
		return
	}
	if _, err := server.Write(begin); err == nil {
		_, _ = io.Copy(server, client)
	}
}

// answer sends on what the server says, until one side ends.
func (p *proxy) answer(client io.Writer, server io.Reader) {
	header := make([]byte, 5)
	for {
		if _, err := io.ReadFull(server, header); err != nil {
			return
		}
		m := append(message(nil), header...)
		m = append(m, make([]byte, binary.BigEndian.Uint32(header[1:])-4)...)
		if _, err := io.ReadFull(server, m[5:]); err != nil {
			return
		}
		edited, cut := p.edit(m)
		if _, err := client.Write(edited); err != nil || cut != nil {
			return
		}
	}
}
