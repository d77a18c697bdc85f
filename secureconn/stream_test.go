package secureconn_test

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"testing/iotest"
	"testing/synctest"
	"time"

	"culvert/internal/testkit"
	"culvert/secureconn"
)

var connections = map[string]func(testing.TB) (client, server net.Conn){"tcp": tcpPair, "pipe": pipePair}

// noise gives n bytes that do not repeat.
func noise(n int) []byte {
	b := make([]byte, n)
	_, _ = rand.NewChaCha8([32]byte{}).Read(b)
	return b
}

// TestStream sends bytes in every way there is, in both directions at once, and has them read in every way there is.
func TestStream(t *testing.T) {
	content := noise(3 << 20)
	writers := map[string]func(c *secureconn.Conn) error{
		"Write": func(c *secureconn.Conn) error {
			n, err := c.Write(content)
			if n != len(content) {
				t.Errorf("Write of %d bytes: %d", len(content), n)
			}
			return err
		},
		"Write of random sizes": func(c *secureconn.Conn) error {
			random := rand.New(rand.NewPCG(3, 4))
			for rest := content; len(rest) > 0; {
				n := min(len(rest), random.IntN(1<<(1+random.IntN(20))))
				if _, err := c.Write(rest[:n]); err != nil {
					return err
				}
				rest = rest[n:]
			}
			return nil
		},
		"ReadFrom": func(c *secureconn.Conn) error {
			n, err := c.ReadFrom(iotest.DataErrReader(bytes.NewReader(content)))
			if n != int64(len(content)) {
				t.Errorf("ReadFrom of %d bytes: %d", len(content), n)
			}
			return err
		},
		"ReadFrom of halves": func(c *secureconn.Conn) error {
			_, err := io.Copy(c, iotest.HalfReader(bytes.NewReader(content)))
			return err
		},
		"WriteBuffers": func(c *secureconn.Conn) error {
			random := rand.New(rand.NewPCG(5, 6))
			var list net.Buffers
			for rest := content; len(rest) > 0; {
				n := min(len(rest), random.IntN(1<<(1+random.IntN(20))))
				list, rest = append(list, rest[:n]), rest[n:]
			}
			n, err := c.WriteBuffers(&list)
			if n != int64(len(content)) || len(list) != 0 {
				t.Errorf("WriteBuffers of %d bytes: %d, and %d slices are left", len(content), n, len(list))
			}
			return err
		},
	}
	readers := map[string]func(c *secureconn.Conn) ([]byte, error){
		"Read": func(c *secureconn.Conn) ([]byte, error) {
			got := make([]byte, len(content)+1)
			n, err := io.ReadFull(c, got)
			if err == io.ErrUnexpectedEOF {
				err = nil
			}
			return got[:n], err
		},
		"Read of random sizes": func(c *secureconn.Conn) ([]byte, error) {
			random := rand.New(rand.NewPCG(7, 8))
			var got []byte
			for {
				part := make([]byte, random.IntN(1<<(1+random.IntN(20))))
				n, err := c.Read(part)
				got = append(got, part[:n]...)
				if err == io.EOF {
					return got, nil
				}
				if err != nil {
					return got, err
				}
			}
		},
		"WriteTo": func(c *secureconn.Conn) ([]byte, error) {
			var got bytes.Buffer
			_, err := c.WriteTo(&got)
			return got.Bytes(), err
		},
	}
	for kind, connect := range connections {
		for writer, write := range writers {
			for reader, read := range readers {
				t.Run(kind+", "+writer+", "+reader, func(t *testing.T) {
					t.Parallel()
					client, server := secure(t, connect)
					var background sync.WaitGroup
					for _, c := range []*secureconn.Conn{client, server} {
						background.Go(func() {
							if err := errors.Join(write(c), c.CloseWrite()); err != nil {
								t.Error(err)
							}
						})
						background.Go(func() {
							got, err := read(c)
							if err != nil || !bytes.Equal(got, content) {
								t.Errorf("read %d bytes, %v; want %d", len(got), err, len(content))
							}
							if n, err := c.Read(make([]byte, 1)); n != 0 || err != io.EOF {
								t.Errorf("at the end: %d, %v", n, err)
							}
						})
					}
					background.Wait()
					if err := errors.Join(client.Close(), server.Close()); err != nil {
						t.Error(err)
					}
				})
			}
		}
	}
}

// TestRekey sends in both directions at once, with many new keys by bytes, and by time.
func TestRekey(t *testing.T) {
	for name, set := range map[string]func(*secureconn.Conn){
		"by bytes": func(c *secureconn.Conn) { c.SetRekey(1<<20, secureconn.RekeyAge) },
		"by time":  func(c *secureconn.Conn) { c.SetRekey(1<<30, 1) },
	} {
		t.Run(name, func(t *testing.T) {
			client, server := secure(t, tcpPair)
			var background sync.WaitGroup
			content := noise(300_000)
			const rounds = 20
			for _, c := range []*secureconn.Conn{client, server} {
				set(c)
				background.Go(func() {
					for range rounds {
						if _, err := c.Write(content); err != nil {
							t.Error(err)
						}
					}
					if err := c.CloseWrite(); err != nil {
						t.Error(err)
					}
				})
				background.Go(func() {
					got := make([]byte, len(content))
					for range rounds {
						if _, err := io.ReadFull(c, got); err != nil || !bytes.Equal(got, content) {
							t.Error("the bytes are others:", err)
							return
						}
					}
					if _, err := c.Read(got); err != io.EOF {
						t.Error(err)
					}
				})
			}
			background.Wait()
			a, b := client.Stats(), server.Stats()
			if min(a.RekeysSent, b.RekeysSent) < 3 || a.RekeysReceived != b.RekeysSent ||
				b.RekeysReceived != a.RekeysSent {
				t.Errorf("re-keys: %+v and %+v", a, b)
			}
		})
	}
}

// TestRekeyAfterAPause has a key grow old on a connection that nobody uses.
func TestRekeyAfterAPause(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client, server := secure(t, pipePair)
		go func() { _, _ = io.Copy(server, server) }()
		ask := func() {
			if _, err := client.Write([]byte("ping")); err != nil {
				t.Error(err)
			}
			if _, err := io.ReadFull(client, make([]byte, 4)); err != nil {
				t.Error(err)
			}
		}
		ask()
		<-time.After(secureconn.RekeyAge)
		ask()
		if got := client.Stats(); got.RekeysSent != 0 || got.RekeysReceived != 0 {
			t.Errorf("too early: %+v", got)
		}
		<-time.After(time.Second)
		ask()
		if got := client.Stats(); got.RekeysSent != 1 || got.RekeysReceived != 1 {
			t.Errorf("after the pause: %+v", got)
		}
		client.Close()
		server.Close()
	})
}

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
	if _, err := client.Write([]byte("x")); err == nil {
		t.Error("Write after Close went well")
	}
	if _, err := server.Read(make([]byte, 1)); err != io.EOF {
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

// TestReaderThatStops has a peer send for ever to somebody who stops reading.
func TestReaderThatStops(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		conn, other := withSecond(t, true)
		record := noise(secureconn.MaxPlaintext)
		var sent atomic.Int64
		var background sync.WaitGroup
		background.Go(func() {
			for {
				if _, err := other.conn.Write(other.send.seal(1, record)); err != nil {
					return
				}
				sent.Add(1)
			}
		})
		for range 2 { // the second one finds the helper at work
			if _, err := io.ReadFull(conn, make([]byte, len(record)+1)); err != nil {
				t.Error(err)
			}
		}
		synctest.Wait()
		// Two records and two bytes were read, so the third one is held.
		if held := sent.Load() - 2; held > secureconn.ReceiveBuffers {
			t.Errorf("%d records were taken without being read", held)
		}
		conn.Close()
		other.conn.Close()
		background.Wait()
	})
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
					if err != io.EOF || len(got) != 200<<10 {
						t.Errorf("read %d bytes, %v", len(got), err)
					}
					return
				}
			}
		})
		_, err := client.Write(noise(200 << 10))
		if err := errors.Join(err, client.Close()); err != nil {
			t.Error(err)
		}
		background.Wait()
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

// TestAllocs counts the allocations of both ends for records of several sizes.
func TestAllocs(t *testing.T) {
	for _, size := range []int{100, 16 << 10, 64 << 10, 1 << 20} {
		client, server := secure(t, tcpPair)
		out, in := make([]byte, size), make([]byte, size)
		testkit.Allocs(t, 0, func() {
			if _, err := client.Write(out); err != nil {
				t.Error(err)
			}
			if _, err := io.ReadFull(server, in); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestIdleMemory compares the memory of connections that have been busy with a bound for each.
func TestIdleMemory(t *testing.T) {
	const count = 100
	content := noise(1 << 20)
	conns := make([]*secureconn.Conn, 0, 2*count)
	live := func() uint64 {
		var m runtime.MemStats
		for range 3 { // free lists are given up after two
			runtime.GC()
		}
		runtime.ReadMemStats(&m)
		return m.HeapAlloc + m.StackInuse
	}
	before := live()
	for range count {
		client, server := secure(t, tcpPair)
		done := make(chan error, 1)
		go func() {
			_, err := client.Write(content)
			done <- err
		}()
		if _, err := io.ReadFull(server, make([]byte, len(content))); err != nil {
			t.Fatal(err)
		}
		if err := <-done; err != nil {
			t.Fatal(err)
		}
		conns = append(conns, client, server)
	}
	each := (int64(live()) - int64(before)) / int64(len(conns))
	t.Logf("%d bytes for each connection", each)
	if each > 64<<10 && !raceEnabled {
		t.Errorf("an idle connection has %d bytes", each)
	}
	runtime.KeepAlive(conns)
}

// TestHash sends a stream through io.Copy on both sides.
func TestHash(t *testing.T) {
	client, server := secure(t, tcpPair)
	content := noise(9_999_999)
	go func() {
		_, err := io.Copy(client, bytes.NewReader(content))
		if err := errors.Join(err, client.Close()); err != nil {
			t.Error(err)
		}
	}()
	hash := sha256.New()
	n, err := io.Copy(hash, server)
	if want := sha256.Sum256(content); err != nil || n != int64(len(content)) || !bytes.Equal(hash.Sum(nil), want[:]) {
		t.Errorf("copied %d bytes, %v", n, err)
	}
}
