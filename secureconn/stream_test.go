package secureconn_test

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"sync"
	"testing"
	"testing/iotest"

	"culvert/secureconn"
)

var connections = map[string]func(testing.TB) (client, server net.Conn){"tcp": tcpPair, "pipe": pipePair}

// noise returns n bytes that do not repeat.
func noise(n int) []byte {
	b := make([]byte, n)
	_, _ = rand.NewChaCha8([32]byte{}).Read(b)
	return b
}

// streamWriters are the ways to send bytes.
func streamWriters(t *testing.T, content []byte) map[string]func(c *secureconn.Conn) error {
	return map[string]func(c *secureconn.Conn) error{
		"Write": func(c *secureconn.Conn) error {
			n, err := c.Write(content)
			if n != len(content) {
				t.Errorf("Write of %d bytes: %d", len(content), n)
			}
			return err
		},
		"Write of random sizes": func(c *secureconn.Conn) error {
			for _, part := range parts(content, 3) {
				if _, err := c.Write(part); err != nil {
					return err
				}
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
			list := parts(content, 5)
			n, err := c.WriteBuffers(&list)
			if n != int64(len(content)) || len(list) != 0 {
				t.Errorf("WriteBuffers of %d bytes: %d, and %d slices are left", len(content), n, len(list))
			}
			return err
		},
	}
}

// parts cuts b into slices of random sizes, none among them.
func parts(b []byte, seed uint64) net.Buffers {
	random := rand.New(rand.NewPCG(seed, 0))
	var list net.Buffers
	for len(b) > 0 {
		n := min(len(b), random.IntN(1<<(1+random.IntN(20))))
		list, b = append(list, b[:n]), b[n:]
	}
	return list
}

// streamReaders are the ways to read a stream of n bytes.
func streamReaders(n int) map[string]func(c *secureconn.Conn) ([]byte, error) {
	return map[string]func(c *secureconn.Conn) ([]byte, error){
		"Read": func(c *secureconn.Conn) ([]byte, error) {
			got := make([]byte, n+1)
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
}

// TestStream sends bytes in every way there is, in both directions at once, and has them read in every way there is.
func TestStream(t *testing.T) {
	content := noise(3 << 20)
	for kind, connect := range connections {
		for writer, write := range streamWriters(t, content) {
			for reader, read := range streamReaders(len(content)) {
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

// TestManyAtOnce uses every method at once, which is what the race detector is for.
func TestManyAtOnce(t *testing.T) {
	client, server := secure(t, tcpPair)
	var background sync.WaitGroup
	for _, c := range []*secureconn.Conn{client, server} {
		var writers sync.WaitGroup
		for range 4 {
			writers.Go(func() {
				for range 50 {
					if _, err := c.Write(make([]byte, 10_000)); err != nil {
						t.Error(err)
					}
					c.Stats()
					c.Peer()
				}
			})
		}
		background.Go(func() {
			writers.Wait()
			if err := c.CloseWrite(); err != nil {
				t.Error(err)
			}
		})
		var total sync.WaitGroup
		counts := make([]int64, 4)
		for i := range counts {
			total.Go(func() {
				n, err := io.Copy(io.Discard, readerOnly{c})
				if err != nil {
					t.Error(err)
				}
				counts[i] = n
			})
		}
		background.Go(func() {
			total.Wait()
			if sum := counts[0] + counts[1] + counts[2] + counts[3]; sum != 4*50*10_000 {
				t.Errorf("read %d bytes", sum)
			}
		})
	}
	background.Wait()
}

type readerOnly struct{ io.Reader }
