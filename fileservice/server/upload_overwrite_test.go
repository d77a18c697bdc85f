package server_test

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"

	"culvert/fileservice"
	"culvert/fileservice/client"
	"culvert/fileservice/internal/filetest"
	"culvert/fileservice/transfer"
	"culvert/internal/testkit"
)

// gate lets a number of bytes of a client's connections through, and the others when it is opened.
type gate struct {
	left    atomic.Int64
	reached chan struct{}
	reach   func()
	opened  chan struct{}
	open    func()
}

func newGate(bytes int64) *gate {
	g := &gate{reached: make(chan struct{}), opened: make(chan struct{})}
	g.left.Store(bytes)
	g.reach = sync.OnceFunc(func() { close(g.reached) })
	g.open = sync.OnceFunc(func() { close(g.opened) })
	return g
}

func (g *gate) dial(address string) func(context.Context) (net.Conn, error) {
	return func(ctx context.Context) (net.Conn, error) {
		conn, err := filetest.Dialer(address)(ctx)
		return &gatedConn{conn, g}, err
	}
}

type gatedConn struct {
	net.Conn
	gate *gate
}

func (c *gatedConn) Write(p []byte) (int, error) {
	if c.gate.left.Add(-int64(len(p))) < 0 {
		c.gate.reach()
		<-c.gate.opened
	}
	return c.Conn.Write(p)
}

// TestOverwriteIsOnesOwn pushes one file twice at once, to a name that is taken, by a client that may overwrite and by
// one that may not: each has what it said, whoever came first. The first one is held in the middle of the file until
// the second has ended. If that has put the file there, it is present for the first.
func TestOverwriteIsOnesOwn(t *testing.T) {
	other := []byte("of somebody else")
	for _, first := range []bool{true, false} {
		from, _ := filetest.Tree(t, map[string]int{"file": 8 * fileservice.BlockSize})
		source, err := os.ReadFile(filepath.Join(from, "file"))
		if err != nil {
			t.Fatal(err)
		}
		to := t.TempDir()
		take := func() {
			if err := os.WriteFile(filepath.Join(to, "file"), other, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		see := func(who string, want []byte) {
			t.Helper()
			if got, err := os.ReadFile(filepath.Join(to, "file")); err != nil || !bytes.Equal(got, want) {
				t.Errorf("after the %s: %d bytes, %v", who, len(got), err)
			}
		}
		push := func(client *client.Client, overwrite bool) error {
			_, err := transfer.Push(t.Context(), client.Place(), transfer.Config{
				Remote: "file", Root: filetest.OpenRoot(t, from), Local: "file", Overwrite: overwrite,
			})
			return err
		}
		address := filetest.Listen(t, to, filetest.Writable)
		gate := newGate(5 * fileservice.BlockSize / 2)
		held := filetest.Connect(t, client.Config{Dial: gate.dial(address)})
		t.Cleanup(gate.open)
		if first {
			take()
		}
		ended := make(chan error, 1)
		go func() { ended <- push(held, first) }()
		<-gate.reached
		if !first {
			take()
		}
		err = push(filetest.Connect(t, client.Config{Dial: filetest.Dialer(address)}), !first)
		if first {
			if !errors.Is(err, fs.ErrExist) {
				t.Errorf("the one that may not overwrite: %v", err)
			}
			see("one that may not", other)
		} else {
			if err != nil {
				t.Errorf("the one that may overwrite: %v", err)
			}
			see("one that may", source)
		}
		gate.open()
		if err := <-ended; err != nil {
			t.Errorf("the one that was held: %v", err)
		}
		see("two", source)
	}
}

// TestOverwriteIsOfTheOneThatFinishes has clients that send the blocks of one upload, and a name that is taken
// meanwhile.
func TestOverwriteIsOfTheOneThatFinishes(t *testing.T) {
	for _, first := range []bool{true, false} {
		dir := t.TempDir()
		address := filetest.Listen(t, dir, filetest.Writable)
		s := newSource(3 * fileservice.BlockSize)
		client := filetest.Connect(t, client.Config{Dial: filetest.Dialer(address)})
		for _, overwrite := range []bool{first, !first} {
			if _, err := client.QueryWrite(t.Context(), "file", s.version, overwrite); err != nil {
				t.Fatal(err)
			}
		}
		if err := s.send(t.Context(), client, "file", 0, 3); err != nil {
			t.Fatal(err)
		}
		name := filepath.Join(dir, "file")
		if err := os.WriteFile(name, []byte("other"), 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := client.FinishWrite(t.Context(), "file", s.version, s.root(), 0, false)
		if got, _ := os.ReadFile(name); !errors.Is(err, fs.ErrExist) || string(got) != "other" {
			t.Errorf("without overwrite: %v, %d bytes", err, len(got))
		}
		_, err = client.FinishWrite(t.Context(), "file", s.version, s.root(), 0, true)
		if got, _ := os.ReadFile(name); err != nil || !bytes.Equal(got, s.content) {
			t.Errorf("with overwrite: %v, %d bytes", err, len(got))
		}
	}
}

// TestOverwritingGoesOn breaks off an upload that is to replace a file, by the end of the server.
func TestOverwritingGoesOn(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "file"), []byte("other"), 0o600); err != nil {
		t.Fatal(err)
	}
	s := newSource(3 * fileservice.BlockSize)
	query := func(client *client.Client) []fileservice.BlockRange {
		t.Helper()
		committed, err := client.QueryWrite(t.Context(), "file", s.version, true)
		if err != nil {
			t.Fatal(err)
		}
		return committed
	}
	listener := testkit.ListenTCP(t)
	address := listener.Addr().String()
	if err := listener.Close(); err != nil {
		t.Fatal(err)
	}
	stop := listenUntil(t, address, dir)
	client := filetest.Connect(t, client.Config{Dial: filetest.Dialer(address)})
	query(client)
	if err := s.send(t.Context(), client, "file", 0, 2); err != nil {
		t.Fatal(err)
	}
	stop()
	committed := query(filetest.Serve(t, dir, filetest.Writable))
	if len(committed) != 1 || committed[0] != (fileservice.BlockRange{First: 0, Count: 2}) {
		t.Errorf("%v is committed", committed)
	}
}
