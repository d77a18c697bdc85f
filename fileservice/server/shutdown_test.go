package server_test

import (
	"context"
	"errors"
	"io"
	"net"
	"testing"
	"time"

	"culvert/fileservice/client"
	"culvert/fileservice/internal/exchange"
	pb "culvert/fileservice/internal/fileservicepb"
	"culvert/fileservice/internal/filetest"
	"culvert/fileservice/server"
	"culvert/internal/testkit"
)

// TestShutdown shuts a server down that has answers to send. If there is time, the client receives all of them, and
// then the end of the connection.
func TestShutdown(t *testing.T) {
	dir, _ := filetest.Tree(t, map[string]int{"file": exchange.MaxLength})
	root := filetest.OpenRoot(t, dir)
	// So many answers do not fit into the queues of a connection.
	const calls = 30
	for _, patient := range []bool{true, false} {
		called := make(chan server.Call, 2*calls)
		listener := testkit.ListenTCP(t)
		server, served := filetest.StartServer(t, listener, server.Config{
			Root: root, Observer: server.Observer{Called: func(c server.Call) { called <- c }},
		})
		conn := filetest.DialData(t, listener.Addr().String())
		for id := range uint32(calls + 1) {
			get := getMessage(id+1, stat(t, dir, "file"), exchange.MaxLength)
			if id == calls {
				get.Length = 1 // this is answered first, so the server has read the others
			}
			if _, err := conn.Write(get.Bytes()); err != nil {
				t.Fatal(err)
			}
		}
		received, ends := 0, 0
		receive := func() *filetest.DataMessage {
			t.Helper()
			m, err := filetest.ReadMessage(conn)
			if err != nil {
				t.Fatal(err)
			}
			if received += len(m.Data); m.Kind == filetest.End {
				ends++
			}
			return m
		}
		for receive().ID != calls+1 {
		}
		ctx, cancel := context.WithCancelCause(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- server.Shutdown(ctx) }()
		enough := errors.New("enough")
		if !patient {
			cancel(enough)
			if err := <-ended; !errors.Is(err, enough) {
				t.Errorf("an impatient end: %v", err)
			}
		} else {
			for ends <= calls {
				receive()
			}
			if m := receive(); m.Kind != filetest.Bye {
				t.Errorf("a message of kind %d at the end", m.Kind)
			}
			if n, err := io.Copy(io.Discard, conn); n > 0 || err != nil || received != calls<<20+1 {
				t.Errorf("%d bytes, then %d and %v", received, n, err)
			}
			if err := <-ended; err != nil {
				t.Error(err)
			}
		}
		cancel(nil)
		if err := <-served; err != nil {
			t.Error(err)
		}
		close(called)
		total := 0
		for c := range called {
			total++
			if patient && (c.Method != "Get" || c.Path != "file" || c.Err != nil || c.BytesRead == 0) {
				t.Errorf("it tells of %+v", c)
			}
		}
		if total != calls+1 {
			t.Errorf("it tells of %d requests", total)
		}
	}
}

// TestEndInEachState ends servers whose connections are in each state.
func TestEndInEachState(t *testing.T) {
	dir, _ := filetest.Tree(t, map[string]int{"file": exchange.MaxLength})
	version := stat(t, dir, "file")
	get := getMessage(1, version, exchange.MaxLength)
	put := &filetest.DataMessage{
		Kind: byte(exchange.PutBlock), Data: make([]byte, 1<<20), Head: filetest.RequestHead(0, version, noSum, "new"),
	}
	var full []byte
	for range 100 {
		full = append(full, get.Bytes()...)
	}
	for what, begin := range map[string]string{
		"before the preface": "",
		"in the preface":     exchange.Preface[:7],
		"idle":               exchange.Preface,
		"in a header":        exchange.Preface + string(get.Bytes()[:5]),
		"in a head":          exchange.Preface + string(get.Bytes()[:50]),
		"in a put":           exchange.Preface + string(put.Bytes()[:1<<19]),
		"in an answer":       exchange.Preface + string(get.Bytes()),
		"in many answers":    exchange.Preface + string(full),
	} {
		for _, graceful := range []bool{true, false} {
			connected := make(chan struct{}, 10)
			listener := testkit.ListenTCP(t)
			srv, served := filetest.StartServer(t, listener, server.Config{
				Root: filetest.OpenRoot(t, dir), Writable: true, StallTimeout: time.Second / 2,
				Observer: server.Observer{Connected: func(net.Addr) { connected <- struct{}{} }},
			})
			conn, err := net.Dial("tcp", listener.Addr().String())
			if err == nil {
				_, err = io.WriteString(conn, begin)
			}
			if err != nil {
				t.Fatal(err)
			}
			if len(begin) >= len(exchange.Preface) {
				<-connected
			}
			end := srv.Close
			if graceful {
				end = func() error { return srv.Shutdown(t.Context()) }
			}
			if err := errors.Join(end(), <-served, conn.Close()); err != nil {
				t.Errorf("%s: %v", what, err)
			}
		}
	}
}

// TestShutdownBesideIdleClients shuts a server down whose clients have connections without calls. They say that the
// server cannot be reached.
func TestShutdownBesideIdleClients(t *testing.T) {
	dir, _ := filetest.Tree(t, map[string]int{"file": 3 << 20})
	listener := testkit.ListenTCP(t)
	srv, served := filetest.StartServer(t, listener, server.Config{Root: filetest.OpenRoot(t, dir), Writable: true})
	remote := filetest.Connect(t, client.Config{Dial: filetest.Dialer(listener.Addr().String())})
	if _, err := remote.ReadFile("file"); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(srv.Shutdown(t.Context()), <-served); err != nil {
		t.Error(err)
	}
	testkit.WaitFor(t, "the client to notice", func() bool {
		_, err := remote.ReadFile("file")
		return err != nil
	})
}

// TestShutdownWaitsForStreams lets a call of gRPC end that has sent a part of its answer.
func TestShutdownWaitsForStreams(t *testing.T) {
	const size = 8 << 20
	dir, _ := filetest.Tree(t, map[string]int{"file": size})
	called := make(chan server.Call, 1)
	listener := testkit.ListenTCP(t)
	srv, served := filetest.StartServer(t, listener, server.Config{
		Root:     filetest.OpenRoot(t, dir),
		Observer: server.Observer{Called: func(c server.Call) { called <- c }},
	})
	remote := filetest.Raw(t, listener.Addr().String())
	stream, err := remote.Read(t.Context(), &pb.ReadRequest{Path: "file", Length: size})
	if err != nil {
		t.Fatal(err)
	}
	part, err := stream.Recv()
	if err != nil {
		t.Fatal(err)
	}
	down := make(chan error, 1)
	go func() { down <- srv.Shutdown(t.Context()) }()
	received := len(part.GetData())
	for err == nil {
		part, err = stream.Recv()
		received += len(part.GetData())
	}
	if err != io.EOF || received != size {
		t.Errorf("%d bytes, %v", received, err)
	}
	if c := <-called; c.Method != "Read" || c.Path != "file" || c.BytesRead != size || c.Err != nil {
		t.Errorf("it tells of %+v", c)
	}
	if err := errors.Join(<-down, <-served); err != nil {
		t.Error(err)
	}
}
