package postgres_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"testing"

	"culvert/internal/testkit"
	"culvert/sink"
	"culvert/sink/postgres"
	"culvert/source"
)

// cutter stands between clients and a server. At the commit that is due, it cuts the connection, before the server gets
// the statement or after.
type cutter struct {
	listener net.Listener
	target   string
	due      atomic.Int32 // commits until the cut
	passOn   bool         // the server gets the statement
	refuse   atomic.Bool  // new connections, after the cut
	gone     bool         // set refuse then

	running sync.WaitGroup
	mu      sync.Mutex
	conns   []net.Conn
}

func newCutter(t *testing.T, server *testkit.PostgresServer) *cutter {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	c := &cutter{listener: listener, target: server.SocketPath()}
	c.running.Go(c.accept)
	t.Cleanup(func() {
		listener.Close()
		c.mu.Lock()
		for _, conn := range c.conns {
			conn.Close()
		}
		c.mu.Unlock()
		c.running.Wait()
	})
	return c
}

func (c *cutter) connString(database string) string {
	return fmt.Sprintf("postgres://postgres@%s/%s?sslmode=disable", c.listener.Addr(), database)
}

func (c *cutter) accept() {
	for {
		client, err := c.listener.Accept()
		if err != nil {
			return
		}
		server, err := net.Dial("unix", c.target)
		if err != nil || c.refuse.Load() {
			client.Close()
			if err == nil {
				server.Close()
			}
			continue
		}
		c.mu.Lock()
		c.conns = append(c.conns, client, server)
		c.mu.Unlock()
		var cut atomic.Bool
		c.running.Go(func() {
			c.ask(client, server, &cut)
			if !cut.Load() {
				server.Close()
			}
		})
		c.running.Go(func() {
			answers := make([]byte, 64<<10)
			for {
				n, err := server.Read(answers)
				if err != nil || cut.Load() { // or the statement has been answered
					break
				}
				if _, err = client.Write(answers[:n]); err != nil {
					break
				}
			}
			if cut.Load() && c.gone {
				c.refuse.Store(true)
			}
			client.Close()
			server.Close()
		})
	}
}

// ask sends on what the client says, until the cut.
func (c *cutter) ask(client io.Reader, server io.WriteCloser, cut *atomic.Bool) {
	begin := make([]byte, 4)
	for {
		if _, err := io.ReadFull(client, begin); err != nil {
			return
		}
		message := bytes.Clone(begin)
		body := make([]byte, binary.BigEndian.Uint32(begin[len(begin)-4:])-4)
		begin = make([]byte, 5) // the first message has no letter
		if _, err := io.ReadFull(client, body); err != nil {
			return
		}
		if bytes.Equal(body, []byte("COMMIT\x00")) && c.due.Add(-1) == 0 {
			cut.Store(true)
			if !c.passOn {
				server.Close()
				return
			}
		}
		if _, err := server.Write(append(message, body...)); err != nil {
			return
		}
	}
}

// TestCommitLost loses the connection while a load is committed.
func TestCommitLost(t *testing.T) {
	postgres.ShortenGrace(t)
	server := testkit.Postgres(t)
	for name, test := range map[string]struct {
		loaders      int32
		due          int32
		passOn, gone bool
		want         error
		rows         string
	}{
		"not arrived":      {1, 1, false, false, source.ErrUnavailable, "0"},
		"answer lost":      {1, 1, true, false, nil, "1"},
		"nobody to ask":    {1, 1, true, true, sink.ErrUnconfirmed, "1"},
		"second of three":  {3, 2, false, false, source.ErrUnavailable, "0"},
		"answer of second": {3, 2, true, false, nil, "3"},
	} {
		t.Run(name, func(t *testing.T) {
			database := server.NewDatabase(t)
			database.Exec(t, "CREATE TABLE t (id bigint)")
			c := newCutter(t, server)
			c.passOn, c.gone = test.passOn, test.gone
			db := openAgain(t, c.connString(database.Name))
			ledger := &sink.Ledger{Table: "s.ledger", Load: "x"}
			table := fill(t, db, "t", sink.Filling{Loaders: int(test.loaders), Ledger: ledger})
			loadRows(t, table)
			c.due.Store(test.due)
			if err := table.Commit(); !errors.Is(err, test.want) || (err == nil) != (test.want == nil) {
				t.Errorf("Commit: %v, want %v", err, test.want)
			}
			expectCount(t, database, "t", test.rows)
			expectCount(t, database, "s.ledger", test.rows)
		})
	}
}
