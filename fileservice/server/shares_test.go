package server_test

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"culvert/fileservice"
	"culvert/fileservice/client"
	"culvert/fileservice/internal/exchange"
	pb "culvert/fileservice/internal/fileservicepb"
	"culvert/fileservice/internal/filetest"
	"culvert/fileservice/internal/traffic"
	"culvert/fileservice/server"
	"culvert/secureconn"
)

// peers are a server and some identities that may connect to it.
type peers struct {
	address string
	name    string // of the server
	keys    []ed25519.PrivateKey
}

func listenTo(t *testing.T, count int, dir string, change func(*server.Config)) *peers {
	t.Helper()
	key, name := filetest.NewKey(t)
	p := &peers{name: name}
	var names []string
	for range count {
		key, name := filetest.NewKey(t)
		p.keys, names = append(p.keys, key), append(names, name)
	}
	listener, err := secureconn.Listen("tcp", "127.0.0.1:0", &secureconn.Config{Key: key, Peers: names})
	if err != nil {
		t.Fatal(err)
	}
	p.address = filetest.ListenOn(t, listener, dir, change)
	return p
}

func (p *peers) dialer(peer int) func(context.Context) (net.Conn, error) {
	config := &secureconn.Config{Key: p.keys[peer], Peers: []string{p.name}}
	return func(ctx context.Context) (net.Conn, error) { return secureconn.Dial(ctx, "tcp", p.address, config) }
}

func (p *peers) connect(t *testing.T, peer int) *client.Client {
	t.Helper()
	return filetest.Connect(t, client.Config{Dial: p.dialer(peer), Connections: 1})
}

// raw makes another connection of a peer, which keeps to no rules but those of gRPC.
func (p *peers) raw(t *testing.T, peer int) pb.FileServiceClient {
	t.Helper()
	dial := p.dialer(peer)
	conn, err := grpc.NewClient("passthrough:///x", grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return dial(ctx) }))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return pb.NewFileServiceClient(conn)
}

// data makes a connection of a peer that moves bytes. The test sends and receives messages.
func (p *peers) data(t *testing.T, peer int) net.Conn {
	t.Helper()
	conn, err := p.dialer(peer)(t.Context())
	if err == nil {
		t.Cleanup(func() { cut(conn) })
		_, err = io.WriteString(conn, exchange.Preface)
	}
	if err != nil {
		t.Fatal(err)
	}
	return conn
}

// cut closes a connection without waiting for the other end.
func cut(conn net.Conn) {
	if secure, is := conn.(interface{ NetConn() net.Conn }); is {
		_ = secure.NetConn().Close()
	}
	_ = conn.Close() // it has failed
}

// TestGreedyDataConnectionsShare has one peer ask for all buffers, over many connections, and take no answer. Another
// peer is served all the while.
func TestGreedyDataConnectionsShare(t *testing.T) {
	t.Parallel()
	dir, _ := filetest.Tree(t, map[string]int{"file": 4 << 20})
	p := listenTo(t, 2, dir, func(c *server.Config) { c.MaxBuffers = 6 })
	other := p.connect(t, 1)
	get := getMessage(1, stat(t, dir, "file"), exchange.MaxLength)
	for range 10 {
		conn := p.data(t, 0)
		for range 30 {
			if _, err := conn.Write(get.Bytes()); err != nil {
				t.Fatal(err)
			}
			get.ID++
		}
	}
	for range 20 {
		if _, err := other.ReadFile("file"); err != nil {
			t.Fatal(err)
		}
	}
}

// TestGreedyConnectionsShare is the same with calls of gRPC, over two connections.
func TestGreedyConnectionsShare(t *testing.T) {
	t.Parallel()
	dir, _ := filetest.Tree(t, map[string]int{"file": 4 << 20})
	p := listenTo(t, 2, dir, func(c *server.Config) { c.MaxBuffers = 6 })
	other := p.connect(t, 1)
	var greedy sync.WaitGroup
	for range 2 {
		client := p.raw(t, 0)
		for range 8 {
			stream, err := client.Read(t.Context(), &pb.ReadRequest{Path: "file", Length: 4 << 20})
			if err != nil {
				t.Fatal(err)
			}
			greedy.Go(func() { _, _ = stream.Header() }) // which comes with the first data
		}
	}
	for range 20 {
		if _, err := other.ReadFile("file"); err != nil {
			t.Fatal(err)
		}
	}
}

// TestManyUploadsShare has peers begin as many uploads as they can, one after the other. Each can begin its share, and
// one that comes last can push.
func TestManyUploadsShare(t *testing.T) {
	t.Parallel()
	const greedy, most = 3, 256
	p := listenTo(t, greedy+1, t.TempDir(), filetest.Writable)
	version := fileservice.Version{Size: fileservice.BlockSize + 1, ModifiedUnixNano: 1}
	for peer := range greedy {
		client, begun := p.raw(t, peer), 0
		for i := range most {
			_, err := client.QueryWriteStatus(t.Context(), &pb.QueryWriteStatusRequest{
				Path:    string(rune('a'+peer)) + string(rune('a'+i/26)) + string(rune('a'+i%26)),
				Version: &pb.Version{Size: version.Size},
			})
			if err == nil {
				begun++
			}
		}
		if least := most / (peer + 2); begun < least || begun > least+1 {
			t.Errorf("peer %d has begun %d uploads, where its share is %d", peer, begun, least)
		}
	}
	pushBlocks(t, p.connect(t, greedy), "file")
}

// pushBlocks uploads a file of two blocks, the way that transfers do.
func pushBlocks(t *testing.T, client *client.Client, name string) {
	t.Helper()
	content := bytes.Repeat([]byte("x"), fileservice.BlockSize+1)
	version := fileservice.Version{Size: int64(len(content)), ModifiedUnixNano: 1}
	if _, err := client.QueryWrite(t.Context(), name, version, false); err != nil {
		t.Fatal(err)
	}
	var file fileservice.FileSum
	err := client.WriteBlocks(t.Context(), name, version, 0, 2, bytes.NewReader(content),
		func(_ int64, _ []byte, sum fileservice.Sum) { file.Append(sum) })
	if err != nil {
		t.Fatal(err)
	}
	if _, err := client.FinishWrite(t.Context(), name, version, file.Sum(), 0o644, false); err != nil {
		t.Fatal(err)
	}
}

// TestManyDraftsShare is the same with files that are open to be written.
func TestManyDraftsShare(t *testing.T) {
	t.Parallel()
	const greedy, most = 2, 512
	p := listenTo(t, greedy, t.TempDir(), filetest.Writable)
	for peer := range greedy {
		client, begun := p.raw(t, peer), 0
		for range most/2 + 2 {
			_, err := client.OpenDraft(t.Context(), &pb.OpenDraftRequest{Path: "file", Create: true})
			if err == nil {
				begun++
			}
		}
		if least := most / (peer + 2); begun < least || begun > least+1 {
			t.Errorf("peer %d has opened %d files, where its share is %d", peer, begun, least)
		}
	}
}

// TestManyConnectionsShare has one peer make all connections that there may be, with a call on each. Another one gets
// its connection.
func TestManyConnectionsShare(t *testing.T) {
	t.Parallel()
	dir, _ := filetest.Tree(t, map[string]int{"file": 4 << 20})
	p := listenTo(t, 3, dir, func(c *server.Config) { c.MaxConnections = 6 })
	for peer := range 2 {
		for range 6 {
			stream, err := p.raw(t, peer).Read(t.Context(), &pb.ReadRequest{Path: "file", Length: 4 << 20})
			if err == nil {
				_, err = stream.Header()
			}
			if err != nil {
				break // there are no more
			}
		}
	}
	if _, err := p.connect(t, 2).ReadFile("file"); err != nil {
		t.Error(err)
	}
}

// TestFewConnections has clients of servers that accept one connection of each kind for a peer. Each client works,
// whatever connections it would like to have.
func TestFewConnections(t *testing.T) {
	t.Parallel()
	from, _ := filetest.Tree(t, map[string]int{"file": 6 << 20, "small": 5})
	for _, peersThere := range []int{1, 2} {
		p := listenTo(t, peersThere, from, func(c *server.Config) {
			c.Writable, c.MaxConnections = true, 2*peersThere
			c.StallTimeout = 6 * time.Second // a sixth of it makes connections replaceable
		})
		var clients []*client.Client
		for peer := range peersThere {
			c := filetest.Connect(t, client.Config{Dial: p.dialer(peer)})
			clients = append(clients, c)
			if _, err := c.Stat("file"); err != nil {
				t.Fatal(err)
			}
			if _, err := c.ReadFile("small"); err != nil {
				t.Fatal(err)
			}
		}
		var working sync.WaitGroup
		for i, c := range clients {
			for j := range 3 {
				working.Go(func() {
					name := fmt.Sprint("new", peersThere, i, j)
					if _, err := c.ReadFile("file"); err != nil {
						t.Error(err)
					}
					if err := c.Mkdir(name, 0o700); err != nil {
						t.Error(err)
					}
				})
			}
		}
		working.Wait()
	}
}

// TestControlConnectionHasAPlace has a peer use up its connections with those that move bytes, and busy ones at that. A
// connection for gRPC gets its place, and keeps it.
func TestControlConnectionHasAPlace(t *testing.T) {
	t.Parallel()
	dir, _ := filetest.Tree(t, map[string]int{"file": 1 << 20})
	p := listenTo(t, 1, dir, func(c *server.Config) { c.MaxConnections, c.StallTimeout = 6, 6*time.Second })
	get := getMessage(1, stat(t, dir, "file"), exchange.MaxLength)
	many := func() {
		for range 6 {
			_, _ = p.data(t, 0).Write(bytes.Repeat(get.Bytes(), 30)) // some are closed at once
		}
	}
	many()
	client := p.raw(t, 0)
	if _, err := client.Stat(t.Context(), &pb.StatRequest{Path: "file"}); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		many()
		if _, err := client.Stat(t.Context(), &pb.StatRequest{Path: "file"}); err != nil {
			t.Error(err)
		}
	}
}

// TestBusyConnectionsEndInOrder has a connection for gRPC take the place of one that is receiving a put over a slow
// line. The put is answered, and then the client learns that nothing else was executed.
func TestBusyConnectionsEndInOrder(t *testing.T) {
	t.Parallel()
	dir, _ := filetest.Tree(t, map[string]int{"file": 1})
	p := listenTo(t, 1, dir, func(c *server.Config) { c.Writable, c.MaxConnections = true, 2 })
	get := getMessage(1, stat(t, dir, "file"), 1)
	const pieces, size = 10, 1000
	put := &filetest.DataMessage{
		ID: 2, Kind: byte(exchange.PutDraft), Data: make([]byte, pieces*size),
		Head: filetest.RequestHead(0, fileservice.Version{}, noSum, "unknown"),
	}
	begin := put.Bytes()[:len(put.Bytes())-len(put.Data)]
	var conns []net.Conn
	for range 2 {
		conn := p.data(t, 0)
		if _, err := conn.Write(append(get.Bytes(), begin...)); err != nil {
			t.Fatal(err)
		}
		if m, err := filetest.ReadMessage(conn); err != nil || m.Kind != filetest.End {
			t.Fatalf("%v, %v", m, err) // it comes when the put has begun
		}
		conns = append(conns, conn)
	}
	if _, err := p.raw(t, 0).Stat(t.Context(), &pb.StatRequest{Path: "file"}); err != nil {
		t.Fatal(err)
	}
	ticker := time.NewTicker(2 * traffic.ClosePatience / pieces)
	defer ticker.Stop()
	for i := range pieces {
		<-ticker.C
		for _, conn := range conns {
			if _, err := conn.Write(put.Data[i*size:][:size]); err != nil {
				t.Fatal(err)
			}
		}
	}
	kinds := make(chan byte)
	for _, conn := range conns {
		go func() {
			for {
				m, err := filetest.ReadMessage(conn)
				if err != nil {
					return
				}
				kinds <- m.Kind
			}
		}()
	}
	if got := []byte{<-kinds, <-kinds, <-kinds}; bytes.Count(got, []byte{filetest.Failed}) != 2 ||
		bytes.Count(got, []byte{filetest.Bye}) != 1 {
		t.Errorf("messages of the kinds %d", got)
	}
}

// TestSlowPushesHoldNothing has three peers that have sent a part of a block, or of small files, on as many connections
// as there are buffers, and send no more. A fourth one can push both.
func TestSlowPushesHoldNothing(t *testing.T) {
	t.Parallel()
	const slow, calls = 3, 4
	p := listenTo(t, slow+1, t.TempDir(), func(c *server.Config) {
		c.Writable, c.MaxBuffers = true, 8 // two blocks
	})
	for peer := range slow {
		for i := range calls {
			kind := []exchange.Kind{exchange.PutBlock, exchange.PutFiles}[i%2]
			put := &filetest.DataMessage{
				ID: 1, Kind: byte(kind), Data: make([]byte, 1<<20),
				Head: filetest.RequestHead(0, fileservice.Version{Size: 1 << 20}, noSum, "file"),
			}
			if _, err := p.data(t, peer).Write(put.Bytes()[:1000]); err != nil {
				t.Fatal(err)
			}
		}
	}
	fast := filetest.Connect(t, client.Config{Dial: p.dialer(slow), Timeout: 5 * filetest.ShortTimeout})
	for i := range 8 {
		pushBlocks(t, fast, fmt.Sprint("file", i))
		name := fmt.Sprint("small", i)
		files := []fileservice.SmallFile{{Name: name, Version: fileservice.Version{Size: 5}}}
		errs, err := fast.WriteFiles(t.Context(), ".", files, false, func(_ int, p []byte) error {
			copy(p, "hello")
			return nil
		})
		if err = errors.Join(append(errs, err)...); err != nil {
			t.Fatal(err)
		}
	}
}
