package secureconn_test

import (
	"bytes"
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"culvert/secureconn"
)

// TestEmptyRead reads nothing while another Read waits.
func TestEmptyRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client, server := secure(t, pipePair)
		var background sync.WaitGroup
		background.Go(func() { _, _ = client.Read(make([]byte, 1)) })
		synctest.Wait()
		if n, err := client.Read(nil); n != 0 || err != nil {
			t.Errorf("Read of nothing: %d, %v", n, err)
		}
		client.Close()
		server.Close()
		background.Wait()
	})
}

// TestDeadlineDuringClose takes the deadline away while Close waits for a peer who takes nothing. Close keeps its own.
func TestDeadlineDuringClose(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client, server := secure(t, pipePair)
		var background sync.WaitGroup
		background.Go(func() {
			start := time.Now()
			err := client.Close()
			if took := time.Since(start); !errors.Is(err, os.ErrDeadlineExceeded) || took != secureconn.CloseTimeout {
				t.Errorf("Close after %v: %v", took, err)
			}
		})
		synctest.Wait()
		if err := client.SetDeadline(time.Time{}); err != net.ErrClosed {
			t.Errorf("SetDeadline after Close: %v", err)
		}
		background.Wait()
		server.Close()
	})
}

// short is a writer that takes less than it is given, and does not say why.
type short struct{ bytes.Buffer }

func (s *short) Write(p []byte) (int, error) { return s.Buffer.Write(p[:len(p)/2]) }

// TestShortWriter has WriteTo meet a writer that breaks its contract. It neither waits for ever nor loses a byte.
func TestShortWriter(t *testing.T) {
	client, server := secure(t, tcpPair)
	content := noise(100_000)
	if _, err := client.Write(content); err != nil {
		t.Fatal(err)
	}
	if err := client.CloseWrite(); err != nil {
		t.Fatal(err)
	}
	var got short
	n, err := server.WriteTo(&got)
	if err != io.ErrShortWrite || n != int64(got.Len()) {
		t.Errorf("WriteTo: %d of %d bytes, %v", n, got.Len(), err)
	}
	rest, err := io.ReadAll(server)
	if all := append(got.Bytes(), rest...); err != nil || !bytes.Equal(all, content) {
		t.Errorf("read %d bytes, %v", len(all), err)
	}
}

// failing is a connection whose next call of Read or Write fails with an error, and all others in another way.
type failing struct {
	net.Conn
	mu  sync.Mutex
	err error
}

func (f *failing) fails() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	err := f.err
	if err != nil {
		f.err = io.ErrNoProgress
	}
	return err
}

func (f *failing) Read(p []byte) (int, error) {
	if err := f.fails(); err != nil {
		return 0, err
	}
	return f.Conn.Read(p)
}

func (f *failing) Write(p []byte) (int, error) {
	if err := f.fails(); err != nil {
		return 0, err
	}
	return f.Conn.Write(p)
}

func (f *failing) set(err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.err = err
}

// TestLostConnection has the system give a connection up. Its error is that of a timeout, and yet for good.
func TestLostConnection(t *testing.T) {
	lost := &net.OpError{Op: "read", Net: "tcp", Err: os.NewSyscallError("read", syscall.ETIMEDOUT)}
	var conn *failing
	connect := func(tb testing.TB) (client, server net.Conn) {
		a, b := tcpPair(tb)
		conn = &failing{Conn: a}
		return conn, b
	}
	for call, use := range map[string]func(c *secureconn.Conn) error{
		"Read":  func(c *secureconn.Conn) error { _, err := c.Read(make([]byte, 1)); return err },
		"Write": func(c *secureconn.Conn) error { _, err := c.Write(make([]byte, 1)); return err },
	} {
		t.Run(call, func(t *testing.T) {
			client, _ := secure(t, connect)
			conn.set(lost)
			for range 3 {
				if err := use(client); !errors.Is(err, syscall.ETIMEDOUT) {
					t.Errorf("the error is %v", err)
				}
			}
			conn.set(nil)
		})
	}
}

// TestEverythingAtOnce calls every method in every order from many goroutines, up to Close. Whatever happens, what
// comes is authentic.
func TestEverythingAtOnce(t *testing.T) {
	for kind, connect := range connections {
		for seed := range uint64(10) {
			t.Run(kind, func(t *testing.T) {
				t.Parallel()
				client, server := secure(t, connect)
				client.SetPatience(50 * time.Millisecond)
				server.SetPatience(50 * time.Millisecond)
				var background sync.WaitGroup
				for i := range uint64(12) {
					c := map[bool]*secureconn.Conn{true: client, false: server}[i%2 == 0]
					background.Go(func() { useAtRandom(t, c, rand.New(rand.NewPCG(seed, i))) })
				}
				// All may wait for each other.
				end := time.AfterFunc(300*time.Millisecond, func() { client.Close(); server.Close() })
				background.Wait()
				end.Stop()
				client.Close()
				server.Close()
			})
		}
	}
}

func useAtRandom(t *testing.T, c *secureconn.Conn, random *rand.Rand) {
	buf := make([]byte, 1<<20)
	for range 200 {
		var err error
		part := buf[:random.IntN(1<<(1+random.IntN(20)))]
		switch k := random.IntN(1000); {
		case k == 0 && random.IntN(10) == 0:
			err = c.Close()
		case k == 1 && random.IntN(10) == 0:
			err = c.CloseWrite()
		case k < 300:
			_, err = c.Write(part)
		case k < 400:
			_, err = c.ReadFrom(bytes.NewReader(part))
		case k < 500:
			list := net.Buffers{part, part[:len(part)/2]}
			_, err = c.WriteBuffers(&list)
		case k < 700:
			_, err = c.Read(part)
		case k < 710:
			_, err = c.WriteTo(io.Discard)
		case k < 800:
			err = c.SetDeadline(time.Now().Add(time.Duration(random.Int64N(int64(3 * time.Millisecond)))))
		case k < 850:
			err = c.SetReadDeadline(time.Now().Add(time.Duration(random.Int64N(int64(time.Millisecond)))))
		case k < 900:
			err = c.SetWriteDeadline(time.Now().Add(time.Duration(random.Int64N(int64(time.Millisecond)))))
		case k < 990:
			c.Stats()
			c.Peer()
		default:
			err = c.SetDeadline(time.Now().Add(time.Second))
		}
		if errors.Is(err, secureconn.ErrRecord) {
			t.Error(err)
			return
		}
	}
	_ = c.SetDeadline(time.Now())
}
