package server_test

import (
	"bytes"
	"errors"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"culvert/fileservice"
	"culvert/fileservice/client"
	"culvert/fileservice/internal/exchange"
	"culvert/fileservice/internal/filetest"
	"culvert/fileservice/server"
	"culvert/internal/testkit"
)

// putPart is a block that is being sent to a server.
type putPart struct {
	conn net.Conn
	left []byte // of the block
}

// narrow has connections whose kernel keeps little, so that a peer that has sent much knows that most of it was read.
type narrow struct{ net.Listener }

func (l narrow) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if err == nil {
		err = conn.(*net.TCPConn).SetReadBuffer(narrowBuffer)
	}
	return conn, err
}

const narrowBuffer = 16 << 10

// listenNarrow serves a directory to beginPut.
func listenNarrow(t *testing.T, dir string) (address string) {
	t.Helper()
	return filetest.ListenOn(t, narrow{testkit.ListenTCP(t)}, dir, filetest.Writable)
}

// beginPut sends half of a block of an upload on a connection of its own.
func beginPut(t *testing.T, address string, s source, block int64) *putPart {
	t.Helper()
	p := &putPart{conn: filetest.DialData(t, address)}
	if conn, is := p.conn.(*net.TCPConn); is {
		if err := conn.SetWriteBuffer(narrowBuffer); err != nil {
			t.Fatal(err)
		}
	}
	p.begin(t, s, block)
	return p
}

// begin sends half of a block. When the server's listener is narrow, it then waits for the rest.
func (p *putPart) begin(t *testing.T, s source, block int64) {
	t.Helper()
	p.left = s.block(block)
	m := &filetest.DataMessage{
		ID: 1, Kind: byte(exchange.PutBlock), Data: p.left,
		Head: filetest.RequestHead(block*fileservice.BlockSize, s.version, s.sum(block), "file"),
	}
	if _, err := p.conn.Write(m.Bytes()[:filetest.Header+len(m.Head)]); err != nil {
		t.Fatal(err)
	}
	p.send(t, len(p.left)/2)
}

// send sends n bytes of the block.
func (p *putPart) send(t *testing.T, n int) {
	t.Helper()
	if _, err := p.conn.Write(p.left[:n]); err != nil {
		t.Fatal(err)
	}
	p.left = p.left[n:]
}

// rest sends the rest of the block, and returns the answer.
func (p *putPart) rest(t *testing.T) *filetest.DataMessage {
	t.Helper()
	p.send(t, len(p.left))
	for {
		answer, err := filetest.ReadMessage(p.conn)
		if err != nil {
			t.Fatal(err)
		}
		if answer.Kind != filetest.Alive {
			return answer
		}
	}
}

// beginUpload begins to upload a file: the first block is written, and half of the second was sent.
func beginUpload(t *testing.T, address string, s source) *putPart {
	t.Helper()
	client := filetest.Connect(t, client.Config{Dial: filetest.Dialer(address)})
	if _, err := client.QueryWrite(t.Context(), "file", s.version, false); err != nil {
		t.Fatal(err)
	}
	p := beginPut(t, address, s, 0)
	if answer := p.rest(t); answer.Kind != filetest.End {
		t.Fatalf("the first block: %v", answer)
	}
	p.begin(t, s, 1)
	return p
}

// TestUploadInPlaceOfALostOne sends a new version of a file while the server still waits for the rest of the old one,
// from a client that is silent.
func TestUploadInPlaceOfALostOne(t *testing.T) {
	t.Parallel() // it waits
	dir := t.TempDir()
	address := listenNarrow(t, dir)
	old := newSource(2 * fileservice.BlockSize)
	lost := beginUpload(t, address, old)
	client := filetest.Connect(t, client.Config{Dial: filetest.Dialer(address)})
	s := newSource(3*fileservice.BlockSize + 1)
	committed, err := client.QueryWrite(t.Context(), "file", s.version, false)
	if err != nil || len(committed) != 0 {
		t.Fatalf("%v, %v", committed, err)
	}
	// The old client was not gone for good.
	if answer := lost.rest(t); answer.Kind != filetest.Failed {
		t.Error("the old version was taken")
	}
	if err := s.send(t.Context(), client, "file", 0, 4); err != nil {
		t.Fatal(err)
	}
	if _, err := client.FinishWrite(t.Context(), "file", s.version, s.root(), 0o600, false); err != nil {
		t.Error(err)
	}
	if got, err := os.ReadFile(filepath.Join(dir, "file")); err != nil || !bytes.Equal(got, s.content) {
		t.Errorf("%d bytes, %v", len(got), err)
	}
}

// TestUploadBesideAnActiveOne sends a new version of a file while another client sends the old one, a few bytes at a
// time, or block after block with nothing under way between them: the first one goes on.
func TestUploadBesideAnActiveOne(t *testing.T) {
	for what, step := range map[string]func(*testing.T, *putPart, source){
		"bytes": func(t *testing.T, p *putPart, _ source) { p.send(t, min(100, len(p.left)-1)) }, // a slow line
		"blocks": func(t *testing.T, p *putPart, s source) {
			if answer := p.rest(t); answer.Kind != filetest.End {
				t.Errorf("a block: %v", answer)
			}
			p.begin(t, s, 1)
		},
	} {
		t.Run(what, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { uploadBesideAnActiveOne(t, step) })
		})
	}
}

func uploadBesideAnActiveOne(t *testing.T, step func(*testing.T, *putPart, source)) {
	address := filetest.ListenOn(t, filetest.ListenInMemory(t), t.TempDir(), filetest.Writable)
	old := newSource(2 * fileservice.BlockSize)
	active := beginUpload(t, address, old)
	client := filetest.Connect(t, client.Config{Dial: filetest.Dialer(address)})
	asked := make(chan error, 1)
	go func() {
		_, err := client.QueryWrite(t.Context(), "file", newSource(5).version, false)
		asked <- err
	}()
	ticker := time.NewTicker(10 * time.Millisecond)
	defer ticker.Stop()
	var err error
	for answered := false; !answered; {
		select {
		case err = <-asked:
			answered = true
		case <-ticker.C:
			step(t, active, old)
		}
	}
	if !errors.Is(err, fileservice.ErrRefused) {
		t.Error(err)
	}
	if answer := active.rest(t); answer.Kind != filetest.End {
		t.Errorf("the first one: %v", answer)
	}
}

// TestUploadBesideOneThatEnds sends a new version of a file while another client completes the old one: the second
// one is refused before it has sent anything, since the file is there.
func TestUploadBesideOneThatEnds(t *testing.T) { synctest.Test(t, uploadBesideOneThatEnds) }

func uploadBesideOneThatEnds(t *testing.T) {
	address := filetest.ListenOn(t, filetest.ListenInMemory(t), t.TempDir(), filetest.Writable)
	old := newSource(2 * fileservice.BlockSize)
	active := beginUpload(t, address, old)
	asked := make(chan error, 1)
	second := filetest.Connect(t, client.Config{Dial: filetest.Dialer(address)})
	go func() {
		_, err := second.QueryWrite(t.Context(), "file", newSource(5).version, false)
		asked <- err
	}()
	synctest.Wait() // it waits for silence
	if answer := active.rest(t); answer.Kind != filetest.End {
		t.Errorf("a block: %v", answer)
	}
	first := filetest.Connect(t, client.Config{Dial: filetest.Dialer(address)})
	if _, err := first.FinishWrite(t.Context(), "file", old.version, old.root(), 0o600, false); err != nil {
		t.Error(err)
	}
	if err := <-asked; !errors.Is(err, fs.ErrExist) {
		t.Error(err)
	}
}

// TestUploadAfterAClientThatIsGone sends a new version of a file after the client of the old one has closed its
// connections, which is not waited for.
func TestUploadAfterAClientThatIsGone(t *testing.T) {
	var open atomic.Int64
	address := filetest.Listen(t, t.TempDir(), func(c *server.Config) {
		c.Writable = true
		c.Observer.Connected = func(net.Addr) { open.Add(1) }
		c.Observer.Disconnected = func(net.Addr) { open.Add(-1) }
	})
	gone, err := client.New(client.Config{Dial: filetest.Dialer(address)})
	if err != nil {
		t.Fatal(err)
	}
	s := newSource(2 * fileservice.BlockSize)
	if _, err := gone.QueryWrite(t.Context(), "file", s.version, false); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(s.send(t.Context(), gone, "file", 0, 1), gone.Close()); err != nil {
		t.Fatal(err)
	}
	testkit.WaitFor(t, "the connections to end", func() bool { return open.Load() == 0 })
	client := filetest.Connect(t, client.Config{Dial: filetest.Dialer(address)})
	if _, err := client.QueryWrite(t.Context(), "file", newSource(5).version, false); err != nil {
		t.Error(err)
	}
}

// TestShutdownUpload shuts a server down that is receiving a block: it takes the rest, and what has come is present
// for the next server.
func TestShutdownUpload(t *testing.T) {
	dir := t.TempDir()
	root := filetest.OpenRoot(t, dir)
	listener := narrow{testkit.ListenTCP(t)}
	server, served := filetest.StartServer(t, listener, server.Config{Root: root, Writable: true})
	down := make(chan error, 1)
	s := newSource(2 * fileservice.BlockSize)
	part := beginUpload(t, listener.Addr().String(), s)
	go func() { down <- server.Shutdown(t.Context()) }()
	testkit.WaitFor(t, "the server drains", func() bool {
		conn, err := net.Dial("tcp", listener.Addr().String())
		return err != nil || conn.Close() != nil
	})
	if answer := part.rest(t); answer.Kind != filetest.End {
		t.Errorf("a block under way: %v", answer)
	}
	if err := errors.Join(<-down, <-served); err != nil {
		t.Error(err)
	}
	committed, err := filetest.Serve(t, dir, filetest.Writable).QueryWrite(t.Context(), "file", s.version, false)
	if err != nil || !slices.Equal(committed, []fileservice.BlockRange{{First: 0, Count: 2}}) {
		t.Errorf("the next server has %v, %v", committed, err)
	}
}
