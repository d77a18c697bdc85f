package secureconn_test

import (
	"bytes"
	"errors"
	"io"
	"net"
	"os"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"culvert/secureconn"
)

// TestCloseIsBounded closes with 2 MiB to send to a peer that always takes a little more than Close asks for.
func TestCloseIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		here, there := net.Pipe()
		forClient, forServer := configs()
		client, server := secureconn.Client(here, forClient), secureconn.Server(there, forServer)
		var background sync.WaitGroup
		background.Go(func() {
			if err := server.Handshake(); err != nil {
				t.Error(err)
				return
			}
			part := make([]byte, 17<<10)
			for {
				<-time.After(4900 * time.Millisecond)
				if _, err := io.ReadFull(there, part); err != nil {
					return
				}
			}
		})
		if n, err := client.Write(noise(2 << 20)); n != 2<<20 || err != nil {
			t.Errorf("Write: %d, %v", n, err)
		}
		start := time.Now()
		err := client.Close()
		if took := time.Since(start); !errors.Is(err, os.ErrDeadlineExceeded) || took != secureconn.CloseLimit {
			t.Errorf("Close after %v: %v", took, err)
		}
		background.Wait()
		there.Close()
	})
}

// afterClose calls every method of a closed connection.
func afterClose(t *testing.T, c *secureconn.Conn) {
	t.Helper()
	p := make([]byte, 10)
	for name, call := range map[string]func() (int64, error){
		"Read":             func() (int64, error) { n, err := c.Read(p); return int64(n), err },
		"empty Read":       func() (int64, error) { n, err := c.Read(nil); return int64(n), err },
		"WriteTo":          func() (int64, error) { return c.WriteTo(io.Discard) },
		"Write":            func() (int64, error) { n, err := c.Write(p); return int64(n), err },
		"empty Write":      func() (int64, error) { n, err := c.Write(nil); return int64(n), err },
		"ReadFrom":         func() (int64, error) { return c.ReadFrom(bytes.NewReader(p)) },
		"WriteBuffers":     func() (int64, error) { return c.WriteBuffers(&net.Buffers{p, p}) },
		"CloseWrite":       func() (int64, error) { return 0, c.CloseWrite() },
		"Close":            func() (int64, error) { return 0, c.Close() },
		"SetDeadline":      func() (int64, error) { return 0, c.SetDeadline(time.Time{}) },
		"SetReadDeadline":  func() (int64, error) { return 0, c.SetReadDeadline(time.Time{}) },
		"SetWriteDeadline": func() (int64, error) { return 0, c.SetWriteDeadline(time.Time{}) },
	} {
		if n, err := call(); n != 0 || err != net.ErrClosed {
			t.Errorf("%s after Close: %d, %v", name, n, err)
		}
	}
}

// TestAfterClose closes connections in all states. What they have received and not handed out does not come any more.
func TestAfterClose(t *testing.T) {
	for kind, connect := range connections {
		t.Run(kind, func(t *testing.T) {
			for name, prepare := range map[string]func(client, server *secureconn.Conn) error{
				"idle": func(*secureconn.Conn, *secureconn.Conn) error { return nil },
				"with bytes that were not read": func(client, server *secureconn.Conn) error {
					go func() { _, _ = server.Write(noise(100_000)) }()
					_, err := io.ReadFull(client, make([]byte, 10))
					return err
				},
				"with the end that was not read": func(client, server *secureconn.Conn) error {
					go func() {
						_, _ = server.Write(noise(100))
						_ = server.CloseWrite()
					}()
					_, err := io.ReadFull(client, make([]byte, 100))
					return err
				},
				"ended": func(client, server *secureconn.Conn) error {
					go func() { _ = server.CloseWrite() }()
					_, err := client.Read(make([]byte, 1))
					if err == io.EOF {
						err = nil
					}
					return err
				},
				"half closed": func(client, server *secureconn.Conn) error {
					go func() { _, _ = io.Copy(io.Discard, server) }()
					return client.CloseWrite()
				},
				"with deadlines that have passed": func(client, _ *secureconn.Conn) error {
					return client.SetDeadline(time.Unix(1, 0))
				},
				"broken": func(client, server *secureconn.Conn) error {
					_ = server.NetConn().Close()
					if _, err := client.Read(make([]byte, 1)); err == nil {
						return errors.New("a broken connection was read")
					}
					return nil
				},
			} {
				t.Run(name, func(t *testing.T) {
					client, server := secure(t, connect)
					client.SetPatience(10 * time.Millisecond) // the peer takes nothing
					server.SetPatience(10 * time.Millisecond)
					if err := prepare(client, server); err != nil {
						t.Fatal(err)
					}
					_ = client.Close() // nobody takes its CLOSE
					afterClose(t, client)
				})
			}
			t.Run("without a handshake", func(t *testing.T) {
				a, b := connect(t)
				defer b.Close()
				forClient, _ := configs()
				client := secureconn.Client(a, forClient)
				if err := client.Close(); err != nil {
					t.Error(err)
				}
				afterClose(t, client)
			})
		})
	}
}

// TestCloseEndsReads closes while another goroutine reads, and while the peer takes nothing. The reader does not wait
// for the peer.
func TestCloseEndsReads(t *testing.T) {
	for name, read := range map[string]func(c *secureconn.Conn) (int64, error){
		"Read":    func(c *secureconn.Conn) (int64, error) { n, err := c.Read(make([]byte, 1)); return int64(n), err },
		"WriteTo": func(c *secureconn.Conn) (int64, error) { return c.WriteTo(io.Discard) },
	} {
		synctest.Test(t, func(t *testing.T) {
			client, server := secure(t, pipePair)
			var background sync.WaitGroup
			start := time.Now()
			background.Go(func() {
				if n, err := read(client); n != 0 || err != net.ErrClosed || time.Since(start) > 0 {
					t.Errorf("%s after %v: %d, %v", name, time.Since(start), n, err)
				}
			})
			synctest.Wait()
			if err := client.Close(); !errors.Is(err, os.ErrDeadlineExceeded) {
				t.Errorf("Close: %v", err)
			}
			background.Wait()
			server.Close()
		})
	}
}

// blocking is a writer that waits in its first Write.
type blocking struct {
	writing, release chan struct{}
	calls            int
}

func (b *blocking) Write(p []byte) (int, error) {
	if b.calls++; b.calls == 1 {
		close(b.writing)
		<-b.release
	}
	return len(p), nil
}

// TestCloseEndsWriteTo closes while WriteTo hands out what has come.
func TestCloseEndsWriteTo(t *testing.T) {
	client, server := secure(t, tcpPair)
	go func() {
		for range 100 {
			_, _ = server.Write(make([]byte, 100)) // a record each
		}
	}()
	w := &blocking{writing: make(chan struct{}), release: make(chan struct{})}
	done := make(chan error)
	go func() {
		_, err := client.WriteTo(w)
		done <- err
	}()
	<-w.writing
	_ = client.Close()
	close(w.release)
	if err := <-done; err != net.ErrClosed || w.calls > 1 {
		t.Errorf("%v, after %d more records", err, w.calls-1)
	}
}

// TestCloseDuringHandshake closes while the handshake waits for the peer.
func TestCloseDuringHandshake(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, b := net.Pipe()
		forClient, _ := configs()
		client := secureconn.Client(a, forClient)
		var background sync.WaitGroup
		background.Go(func() {
			if _, err := client.Read(make([]byte, 1)); err != net.ErrClosed {
				t.Errorf("Read: %v", err)
			}
		})
		synctest.Wait()
		if err := client.Close(); err != nil {
			t.Error(err)
		}
		background.Wait()
		b.Close()
	})
}
