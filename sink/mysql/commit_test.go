package mysql_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"go.uber.org/goleak"

	"culvert/internal/testkit"
	"culvert/sink"
	"culvert/sink/mysql"
	"culvert/source"
)

// cutter stands between clients and a server. At the commit that is due, it cuts the connection, before the server gets
// the statement or after it has answered.
type cutter struct {
	socket, target string
	due            atomic.Int32 // commits until the cut
	passOn         bool         // the server gets the statement
	refuse         atomic.Bool  // new connections, after the cut
	gone           bool         // set refuse then
	spoil          string       // what the server gets otherwise, so that it refuses the statement

	running sync.WaitGroup
	mu      sync.Mutex
	conns   []net.Conn
}

func newCutter(t *testing.T, server *testkit.MariaDBServer) *cutter {
	t.Helper()
	dir, err := os.MkdirTemp("/tmp", "culvert-cut-") // the path of a socket is short
	if err != nil {
		t.Fatal(err)
	}
	c := &cutter{socket: filepath.Join(dir, "socket"), target: server.SocketPath()}
	listener, err := net.Listen("unix", c.socket)
	if err != nil {
		t.Fatal(err)
	}
	c.running.Go(func() { c.accept(listener) })
	t.Cleanup(func() {
		listener.Close()
		c.mu.Lock()
		for _, conn := range c.conns {
			conn.Close()
		}
		c.mu.Unlock()
		c.running.Wait()
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	return c
}

func (c *cutter) url(database *testkit.MariaDBDatabase) string {
	return "mysql://root@localhost/" + database.Name + "?socket=" + url.QueryEscape(c.socket)
}

func (c *cutter) accept(listener net.Listener) {
	for {
		client, err := listener.Accept()
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
	for {
		head := make([]byte, 4)
		if _, err := io.ReadFull(client, head); err != nil {
			return
		}
		body := make([]byte, int(head[0])|int(head[1])<<8|int(head[2])<<16)
		if _, err := io.ReadFull(client, body); err != nil {
			return
		}
		if bytes.Equal(body, []byte("\x03COMMIT")) && c.due.Add(-1) == 0 {
			cut.Store(true)
			if !c.passOn {
				server.Close()
				return
			}
		}
		if c.spoil != "" {
			body = bytes.Replace(body, []byte(c.spoil), []byte(strings.Repeat("x", len(c.spoil))), 1)
		}
		if _, err := server.Write(append(head, body...)); err != nil {
			return
		}
	}
}

// TestOpenRefused has a server refuse what it is asked at the beginning: no connection stays open.
func TestOpenRefused(t *testing.T) {
	server := testkit.MariaDB(t)
	database := server.NewDatabase(t)
	for _, spoil := range []string{"@@lower_case_table_names", "@@local_infile"} {
		c := newCutter(t, server)
		c.spoil = spoil
		leaks := goleak.IgnoreCurrent()
		db, err := mysql.Open(context.Background(), c.url(database))
		if err == nil || errors.Is(err, source.ErrUnavailable) {
			t.Errorf("%s: %v, %v", spoil, db, err)
		}
		goleak.VerifyNone(t, leaks)
	}
}

// TestCommitLost loses the connection while a load is committed.
func TestCommitLost(t *testing.T) {
	mysql.ShortenGrace(t)
	server := testkit.MariaDB(t)
	for name, test := range map[string]struct {
		each, passOn, gone, noLedger bool
		want                         error
		rows                         string
	}{
		"not arrived":    {want: source.ErrUnavailable, rows: "0"},
		"answer lost":    {passOn: true, rows: "1"},
		"nobody to ask":  {passOn: true, gone: true, want: sink.ErrUnconfirmed, rows: "1"},
		"no ledger":      {passOn: true, noLedger: true, want: sink.ErrUnconfirmed, rows: "1"},
		"part":           {each: true, want: source.ErrUnavailable, rows: "0"},
		"answer of part": {each: true, passOn: true, want: source.ErrUnavailable, rows: "1"},
	} {
		t.Run(name, func(t *testing.T) {
			database := server.NewDatabase(t)
			database.Exec(t, "CREATE TABLE t (a int) ENGINE=InnoDB")
			c := newCutter(t, server)
			c.passOn, c.gone = test.passOn, test.gone
			filling := sink.Filling{Ledger: &sink.Ledger{Table: "ledger", Load: "x"}, EachPart: test.each}
			if test.noLedger {
				filling.Ledger = nil
			}
			table, loader := begin(t, openURL(t, c.url(database)), filling)
			if err := loader.Load(texts("1")); err != nil {
				t.Fatal(err)
			}
			c.due.Store(1)
			err := loader.EndPart(sink.Part{Name: "p", Rows: 1})
			if err == nil {
				_, err = loader.Close()
			}
			if err == nil {
				err = table.Commit()
			}
			if !errors.Is(err, test.want) || (err == nil) != (test.want == nil) {
				t.Errorf("the commit: %v, want %v", err, test.want)
			}
			if err := table.Discard(); err != nil {
				t.Error(err)
			}
			expect(t, database, "SELECT COUNT(*) FROM t", test.rows)
			if !test.noLedger {
				expect(t, database, "SELECT COUNT(*) FROM ledger", test.rows)
			}
		})
	}
}
