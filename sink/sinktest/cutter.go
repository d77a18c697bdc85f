package sinktest

import (
	"bytes"
	"io"
	"net"
	"strings"
	"sync/atomic"
	"testing"

	"culvert/internal/testkit"
)

// Cutter stands between clients and a server. At the commit that is due, it cuts the connection, before the server gets
// the statement or after it has answered.
type Cutter struct {
	Due    atomic.Int32 // commits until the cut
	PassOn bool         // the server gets the statement
	Gone   bool         // new connections are refused after the cut
	Spoil  string       // what the server gets otherwise, so that it refuses the statement

	relay  *testkit.Relay
	refuse atomic.Bool
}

// Messages returns a function that reads the next message of a client, and the statement in it, if it has one.
type Messages func(client io.Reader) func() (message []byte, statement string, err error)

// NewCutter returns a cutter before the server with a socket.
func NewCutter(tb testing.TB, listener net.Listener, socket string, messages Messages) *Cutter {
	tb.Helper()
	c := &Cutter{}
	target := func() string {
		if c.refuse.Load() {
			return ""
		}
		return socket
	}
	c.relay = testkit.NewRelay(tb, listener, target, func(client, server net.Conn) (ask, answer func()) {
		var cut atomic.Bool
		ask = func() {
			c.ask(messages(client), server, &cut)
			if !cut.Load() {
				_ = server.Close() // the other side may have ended it
			}
		}
		return ask, func() { c.answer(client, server, &cut) }
	})
	return c
}

// Address is where the cutter listens.
func (c *Cutter) Address() string { return c.relay.Address() }

// ask passes on what the client says, until the cut.
func (c *Cutter) ask(next func() ([]byte, string, error), server io.WriteCloser, cut *atomic.Bool) {
	for {
		message, statement, err := next()
		if err != nil {
			return
		}
		if statement == "COMMIT" && c.Due.Add(-1) == 0 {
			cut.Store(true)
			if !c.PassOn {
				_ = server.Close() // the other side may have ended it
				return
			}
		}
		if c.Spoil != "" {
			message = bytes.Replace(message, []byte(c.Spoil), []byte(strings.Repeat("x", len(c.Spoil))), 1)
		}
		if _, err := server.Write(message); err != nil {
			return
		}
	}
}

// answer passes on what the server says, until it has answered the statement of the cut.
func (c *Cutter) answer(client io.Writer, server io.Reader, cut *atomic.Bool) {
	answers := make([]byte, 64<<10)
	for {
		n, err := server.Read(answers)
		if err != nil || cut.Load() {
			break
		}
		if _, err = client.Write(answers[:n]); err != nil {
			break
		}
	}
	if cut.Load() && c.Gone {
		c.refuse.Store(true)
	}
}
