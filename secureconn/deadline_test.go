package secureconn_test

import (
	"bytes"
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"culvert/secureconn"
)

// TestPeerThatNeverReads has a deadline, and then Close, end what the peer would have last for ever.
func TestPeerThatNeverReads(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client, server := secure(t, pipePair)
		content := noise(1 << 20)
		if err := client.SetWriteDeadline(time.Now().Add(time.Minute)); err != nil {
			t.Fatal(err)
		}
		start, sent := time.Now(), 0
		var err error
		for err == nil {
			var n int
			n, err = client.Write(content)
			sent += n
		}
		if took := time.Since(start); !errors.Is(err, os.ErrDeadlineExceeded) || took != time.Minute {
			t.Errorf("after %v: %v", took, err)
		}
		if sent > secureconn.SendQueue {
			t.Errorf("%d bytes were taken without being read", sent)
		}
		if n, err := client.Write(content); n != 0 || !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("the next Write: %d, %v", n, err)
		}
		start = time.Now()
		err = client.Close()
		if took := time.Since(start); !errors.Is(err, os.ErrDeadlineExceeded) || took != secureconn.CloseTimeout {
			t.Errorf("Close after %v: %v", took, err)
		}
		if _, err := io.ReadAll(server); err != io.ErrUnexpectedEOF {
			t.Errorf("the peer reads %v", err)
		}
		server.Close()
	})
}

// TestWriteAfterDeadline has the rest of what a deadline has cut go out with the next one, and nothing be lost.
func TestWriteAfterDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client, server := secure(t, pipePair)
		content := noise(3 << 20)
		if err := client.SetWriteDeadline(time.Now().Add(time.Second)); err != nil {
			t.Fatal(err)
		}
		n, err := client.Write(content)
		if !errors.Is(err, os.ErrDeadlineExceeded) || n == 0 || n == len(content) {
			t.Fatalf("Write: %d, %v", n, err)
		}
		var background sync.WaitGroup
		background.Go(func() {
			got := make([]byte, n)
			if _, err := io.ReadFull(server, got); err != nil || !bytes.Equal(got, content[:n]) {
				t.Error("what was sealed does not come:", err)
			}
		})
		synctest.Wait()
		// To set the deadline is enough to have the queue written.
		if err := client.SetWriteDeadline(time.Time{}); err != nil {
			t.Fatal(err)
		}
		background.Wait()
		background.Go(func() {
			got, err := io.ReadAll(server)
			if err != nil || !bytes.Equal(got, content[n:]) {
				t.Errorf("read %d bytes more, %v", len(got), err)
			}
		})
		_, err = client.Write(content[n:])
		if err := errors.Join(err, client.Close()); err != nil {
			t.Error(err)
		}
		background.Wait()
		server.Close()
	})
}

// TestReadDeadline has a record come in two parts, with a deadline between them.
func TestReadDeadline(t *testing.T) {
	conn, other := withSecondOver(t, true, tcpPair)
	record := other.send.seal(1, noise(100_000))
	other.put(t, record[:50_000])
	if err := conn.SetReadDeadline(time.Now().Add(-1)); err != nil {
		t.Fatal(err)
	}
	if n, err := conn.Read(make([]byte, 100_000)); n != 0 || !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("Read: %d, %v", n, err)
	}
	if err := conn.SetReadDeadline(time.Time{}); err != nil {
		t.Fatal(err)
	}
	other.put(t, record[50_000:])
	got := make([]byte, 100_000)
	if _, err := io.ReadFull(conn, got); err != nil || !bytes.Equal(got, noise(100_000)) {
		t.Error(err)
	}
}

// TestDeadlinesLoseNothing has deadlines pass in the middle of calls of every kind, at random times, on both sides.
// What the calls have counted is what arrives.
func TestDeadlinesLoseNothing(t *testing.T) {
	for kind, connect := range connections {
		for seed := range uint64(8) {
			t.Run(kind, func(t *testing.T) {
				t.Parallel()
				client, server := secure(t, connect)
				client.SetRekey(300_000, secureconn.RekeyAge)
				content := noise(4 << 20)
				var background sync.WaitGroup
				background.Go(func() { sendWithDeadlines(t, client, content, seed) })
				got := readWithDeadlines(t, server, seed)
				background.Wait()
				if !bytes.Equal(got, content) {
					t.Errorf("read %d bytes, and they are others", len(got))
				}
			})
		}
	}
}

// sendWithDeadlines sends content, and goes on after each deadline with what the last call has not counted.
func sendWithDeadlines(t *testing.T, c *secureconn.Conn, content []byte, seed uint64) {
	random := rand.New(rand.NewPCG(seed, 1))
	for len(content) > 0 {
		deadline := time.Now().Add(time.Duration(random.Int64N(int64(time.Millisecond))) - 100*time.Microsecond)
		if err := c.SetWriteDeadline(deadline); err != nil {
			t.Error(err)
		}
		part := content[:min(len(content), random.IntN(1<<(1+random.IntN(21))))]
		var n int64
		var err error
		switch random.IntN(3) {
		case 0:
			var written int
			written, err = c.Write(part)
			n = int64(written)
		case 1:
			r := bytes.NewReader(part)
			n, err = c.ReadFrom(r)
			if int64(len(part)-r.Len()) != n {
				t.Errorf("ReadFrom has counted %d bytes, and taken %d", n, len(part)-r.Len())
			}
		case 2:
			list := parts(part, seed)
			n, err = c.WriteBuffers(&list)
			left := 0
			for _, b := range list {
				left += len(b)
			}
			if int64(len(part)-left) != n {
				t.Errorf("WriteBuffers has counted %d bytes, and taken %d", n, len(part)-left)
			}
		}
		if err != nil && !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Error(err)
			return
		}
		if err == nil && n != int64(len(part)) {
			t.Errorf("%d bytes without an error, want %d", n, len(part))
		}
		content = content[n:]
	}
	if err := errors.Join(c.SetWriteDeadline(time.Time{}), c.Close()); err != nil {
		t.Error(err)
	}
}

// readWithDeadlines reads up to the end of the stream.
func readWithDeadlines(t *testing.T, c *secureconn.Conn, seed uint64) []byte {
	random := rand.New(rand.NewPCG(seed, 2))
	var got bytes.Buffer
	for {
		deadline := time.Now().Add(time.Duration(random.Int64N(int64(time.Millisecond))) - 100*time.Microsecond)
		_ = c.SetReadDeadline(deadline) // a pipe has none when the other side is closed
		var err error
		if random.IntN(2) == 0 {
			if _, err = c.WriteTo(&got); err == nil {
				return got.Bytes()
			}
		} else {
			part := make([]byte, random.IntN(1<<(1+random.IntN(20))))
			var n int
			n, err = c.Read(part)
			got.Write(part[:n])
			if err == io.EOF {
				return got.Bytes()
			}
		}
		if err != nil && !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Error(err)
			return got.Bytes()
		}
	}
}

// late is a connection with a Write that is ended by a deadline, and says so only when it is let go.
type late struct {
	net.Conn
	armed atomic.Bool
	letGo chan struct{}
}

func (l *late) Write(p []byte) (int, error) {
	if l.armed.CompareAndSwap(true, false) {
		<-l.letGo
		return 0, os.ErrDeadlineExceeded
	}
	return l.Conn.Write(p)
}

// TestLateDeadline has an earlier deadline end a write while Close waits for the peer, under a deadline of its own.
func TestLateDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		network := &late{letGo: make(chan struct{})}
		client, server := secure(t, func(testing.TB) (net.Conn, net.Conn) {
			a, b := net.Pipe()
			network.Conn = a
			return network, b
		})
		content := noise(100_000)
		network.armed.Store(true)
		if _, err := client.Write(content); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		var background sync.WaitGroup
		background.Go(func() {
			if err := client.Close(); err != nil {
				t.Errorf("Close: %v", err)
			}
		})
		synctest.Wait()
		close(network.letGo)
		if got, err := io.ReadAll(server); err != nil || !bytes.Equal(got, content) {
			t.Errorf("read %d bytes, %v", len(got), err)
		}
		background.Wait()
		server.Close()
	})
}
