package secureconn_test

import (
	"bytes"
	"errors"
	"io"
	"net"
	"sync"
	"testing"
	"testing/iotest"
	"testing/synctest"
	"time"

	"culvert/secureconn"
)

func TestHalfClose(t *testing.T) {
	client, server := secure(t, tcpPair)
	if _, err := client.Write([]byte("question")); err != nil {
		t.Fatal(err)
	}
	if err := client.CloseWrite(); err != nil {
		t.Fatal(err)
	}
	if err := client.CloseWrite(); err != nil {
		t.Error("a second CloseWrite:", err)
	}
	if _, err := client.Write([]byte("x")); err == nil {
		t.Error("Write after CloseWrite went well")
	}
	if got, err := io.ReadAll(server); err != nil || string(got) != "question" {
		t.Errorf("the server has read %q, %v", got, err)
	}
	if _, err := server.Write([]byte("answer")); err != nil {
		t.Error(err)
	}
	if err := server.Close(); err != nil {
		t.Error(err)
	}
	if got, err := io.ReadAll(client); err != nil || string(got) != "answer" {
		t.Errorf("the client has read %q, %v", got, err)
	}
	if err := client.Close(); err != nil {
		t.Error(err)
	}
	if err := client.Close(); err != net.ErrClosed {
		t.Errorf("a second Close: %v", err)
	}
	if _, err := client.Write([]byte("x")); err != net.ErrClosed {
		t.Errorf("Write after Close: %v", err)
	}
	if _, err := server.Read(make([]byte, 1)); err != net.ErrClosed {
		t.Errorf("Read after the end and Close: %v", err)
	}
}

// TestCloseSendsAll closes right after a large Write, to a peer who takes his time.
func TestCloseSendsAll(t *testing.T) {
	for kind, connect := range connections {
		t.Run(kind, func(t *testing.T) {
			client, server := secure(t, connect)
			content := noise(5 << 20)
			var background sync.WaitGroup
			background.Go(func() {
				_, err := client.Write(content)
				if err := errors.Join(err, client.Close()); err != nil {
					t.Error(err)
				}
			})
			got, err := io.ReadAll(iotest.HalfReader(server))
			if err != nil || !bytes.Equal(got, content) {
				t.Errorf("read %d bytes, %v", len(got), err)
			}
			background.Wait()
		})
	}
}

// TestSlowPeer has Close wait for a peer who takes little at a time, but goes on.
func TestSlowPeer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		here, there := net.Pipe()
		forClient, forServer := configs()
		client, server := secureconn.Client(here, forClient), secureconn.Server(&pieces{there, 20 << 10}, forServer)
		var background sync.WaitGroup
		background.Go(func() {
			var got []byte
			for {
				part := make([]byte, 64<<10)
				<-time.After(4 * time.Second)
				n, err := server.Read(part)
				got = append(got, part[:n]...)
				if err != nil {
					if err != io.EOF || len(got) != 100<<10 {
						t.Errorf("read %d bytes, %v", len(got), err)
					}
					return
				}
			}
		})
		_, err := client.Write(noise(100 << 10))
		if err := errors.Join(err, client.Close()); err != nil {
			t.Error(err)
		}
		background.Wait()
		server.Close()
	})
}

// TestCloseDuringCalls closes while others read and write.
func TestCloseDuringCalls(t *testing.T) {
	for kind, connect := range connections {
		t.Run(kind, func(t *testing.T) {
			client, server := secure(t, connect)
			var background sync.WaitGroup
			background.Go(func() {
				for {
					if _, err := client.Write(make([]byte, 1<<20)); err != nil {
						return
					}
				}
			})
			background.Go(func() {
				if _, err := client.Read(make([]byte, 1)); err == nil {
					t.Error("Read went well")
				}
			})
			if _, err := io.ReadFull(server, make([]byte, 10<<20)); err != nil {
				t.Error(err)
			}
			background.Go(func() {
				// The Close may by chance come between two calls of Write.
				if _, err := io.Copy(io.Discard, server); err != nil && err != io.ErrUnexpectedEOF {
					t.Errorf("the peer reads %v", err)
				}
			})
			if err := client.Close(); err != nil {
				t.Error(err)
			}
			background.Wait()
		})
	}
}

// TestCloseDuringWrite closes while a Write waits for the peer.
func TestCloseDuringWrite(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client, server := secure(t, pipePair)
		var background sync.WaitGroup
		background.Go(func() {
			if n, err := client.Write(make([]byte, 8<<20)); n == 8<<20 || err == nil {
				t.Errorf("Write: %d, %v", n, err)
			}
		})
		synctest.Wait()
		start := time.Now()
		if err := client.Close(); err != nil || time.Since(start) > 0 {
			t.Errorf("Close after %v: %v", time.Since(start), err)
		}
		background.Wait()
		if _, err := io.Copy(io.Discard, server); err != io.ErrUnexpectedEOF {
			t.Errorf("the peer reads %v", err)
		}
		server.Close()
	})
}
