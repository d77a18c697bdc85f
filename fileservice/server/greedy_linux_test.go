package server_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"testing"

	"culvert/fileservice"
	"culvert/fileservice/client"
	"culvert/fileservice/internal/exchange"
	"culvert/fileservice/internal/filetest"
	"culvert/fileservice/server"
	"culvert/fileservice/transfer"
	"culvert/secureconn"
)

// greed is what a peer sends on a connection for bytes to take all it can.
func greed(version fileservice.Version) map[string][]byte {
	put := func(kind exchange.Kind, id uint32, name string) *filetest.DataMessage {
		return &filetest.DataMessage{
			ID: id, Kind: byte(kind), Data: make([]byte, 1<<20),
			Head: filetest.RequestHead(0, fileservice.Version{Size: 1 << 20}, noSum, name),
		}
	}
	var large, small, puts []byte
	for id := range uint32(100) {
		large = append(large, getMessage(id+1, version, exchange.MaxLength).Bytes()...)
		small = append(small, getMessage(id+1, version, exchange.MaxInline).Bytes()...)
	}
	for id := range uint32(6) {
		puts = append(puts, put(exchange.PutBlock, id+1, fmt.Sprint("greedy", id)).Bytes()...)
	}
	return map[string][]byte{
		"large gets":        large,
		"small gets":        small,
		"puts":              puts,
		"half a block":      put(exchange.PutBlock, 1, "greedy").Bytes()[:1<<19],
		"half of the files": put(exchange.PutFiles, 1, "greedy").Bytes()[:1<<19],
		"half a head":       getMessage(1, version, 1).Bytes()[:40],
		"nothing":           nil,
	}
}

// TestGreedyPeer has one peer hold all connections that it can get, in every state in which one holds something, and
// connect again when one is closed. Another peer pulls and pushes all the while.
func TestGreedyPeer(t *testing.T) {
	t.Parallel()
	source, _ := filetest.Tree(t, map[string]int{"file": 4<<20 + 1, "dir/small": 5, "dir/other": 60_000})
	dir, _ := filetest.Tree(t, map[string]int{"target": 4 << 20})
	p := listenTo(t, 2, dir, func(c *server.Config) {
		c.Writable, c.MaxConnections, c.MaxBuffers = true, 24, 8
	})
	ctx, cancel := context.WithCancel(t.Context())
	var greedy sync.WaitGroup
	dial := p.dialer(0)
	for _, bytes := range greed(stat(t, dir, "target")) {
		for range 6 { // more than there is room for
			greedy.Go(func() {
				for ctx.Err() == nil {
					conn, err := dial(ctx)
					if err != nil {
						continue
					}
					grab(ctx, conn, bytes)
				}
			})
		}
	}
	// From another address, since the handshakes of one compete.
	inner, config := from("127.0.0.2", p.address), &secureconn.Config{Key: p.keys[1], Peers: []string{p.name}}
	remote := filetest.Connect(t, client.Config{Dial: func(ctx context.Context) (net.Conn, error) {
		conn, err := inner(ctx)
		if err != nil {
			return nil, err
		}
		secure := secureconn.Client(conn, config)
		if err := secure.HandshakeContext(ctx); err != nil {
			return nil, errors.Join(err, conn.Close())
		}
		return secure, nil
	}})
	for i := range 2 {
		name := fmt.Sprint("pushed", i)
		config := transfer.Config{Root: filetest.OpenRoot(t, source), Local: ".", Remote: name}
		if _, err := transfer.Push(t.Context(), remote.Place(), config); err != nil {
			t.Error(err)
		}
		to := t.TempDir()
		config = transfer.Config{Root: filetest.OpenRoot(t, to), Local: ".", Remote: name}
		if _, err := transfer.Pull(t.Context(), remote.Place(), config); err != nil {
			t.Error(err)
		}
		filetest.SeeSame(t, source, to)
	}
	cancel()
	greedy.Wait()
}

// grab sends bytes and takes no answer, until the server closes the connection or the context ends.
func grab(ctx context.Context, conn net.Conn, bytes []byte) {
	defer context.AfterFunc(ctx, func() { cut(conn) })()
	defer cut(conn)
	if _, err := io.WriteString(conn, exchange.Preface); err != nil {
		return
	}
	_, _ = conn.Write(bytes) // the server may read no further
	if _, err := conn.Read(make([]byte, 1)); err == nil {
		<-ctx.Done() // it takes nothing more
	}
}
