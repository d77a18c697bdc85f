package read_test

import (
	"encoding/binary"
	"fmt"
	"io"
	"net"
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

// proxy stands between a client and a server and changes what the server sends.
type proxy struct {
	*testkit.Relay
	// edit returns what is sent on in place of a message. With io.EOF the connection is cut after that.
	edit func(message) ([]byte, error)
	// lost is how many requests to cancel a statement are still to get lost.
	lost atomic.Int32
}

func newProxy(t *testing.T, server *testkit.PostgresServer, edit func(message) ([]byte, error)) *proxy {
	t.Helper()
	p := &proxy{edit: edit}
	pass := func(client, server net.Conn) (ask, answer func()) {
		ask = func() {
			p.ask(client, server)
			server.Close()
		}
		return ask, func() { p.answer(client, server) }
	}
	p.Relay = testkit.NewRelay(t, testkit.ListenTCP(t), server.SocketPath, pass)
	return p
}

func (p *proxy) connString(database string) string {
	return fmt.Sprintf("postgres://postgres@%s/%s?sslmode=disable", p.Address(), database)
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
