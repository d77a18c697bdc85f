package streams

import (
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"sync"

	"culvert/bench/internal/harness"
	"culvert/secureconn"
)

// pipeBenchmarks reproduce what KeibiDrop published of its SecureConn over net.Pipe: records with a length of four
// bytes, a nonce of twelve, the ciphertext and its tag, before it copied less and after. The code is ours, the method
// theirs. Neither has any of the other properties of secureconn; what is compared is speed. The limits are the pipe,
// and sealing alone on one core.
func pipeBenchmarks(s *harness.Session, ids *Identities) []harness.Benchmark {
	var benchmarks []harness.Benchmark
	for _, size := range []int{1 << 20, 4 << 20} {
		b := harness.Benchmark{Name: fmt.Sprintf("Pipe/write=%d", size), Goals: []harness.Goal{
			{Variant: "impl=culvert", Peer: "impl=after", Unit: "MB/s", Min: 2},
		}}
		total := int64(s.Size(2<<30, 4<<20))
		for _, w := range []struct {
			impl    string
			connect connecter
		}{
			{"pipe", connectPipe},
			{"before", wrapped(func(c articleConn) net.Conn { return &copyingConn{articleConn: c} })},
			{"after", wrapped(func(c articleConn) net.Conn { return &slicingConn{articleConn: c} })},
			{"culvert", connectSecurePipe},
		} {
			b.Variants = append(b.Variants, harness.Variant{Key: "impl=" + w.impl, Run: func() (harness.Sample, error) {
				return ids.transfer(w.connect, 1, size, total)
			}})
		}
		b.Variants = append(b.Variants, harness.Variant{Key: "impl=seal", Run: func() (harness.Sample, error) {
			aead, err := newGCM()
			plaintext, record := make([]byte, size), make([]byte, 0, size+articleOverhead)
			if err != nil {
				return nil, err
			}
			return harness.Work{Bytes: total}.Here(func() error {
				for left := total; left > 0; left -= int64(size) {
					record = sealArticle(record[:0], aead, 1, plaintext)
				}
				return nil
			})
		}})
		benchmarks = append(benchmarks, b)
	}
	return benchmarks
}

func connectPipe(*Identities) (from, to net.Conn, err error) {
	from, to = net.Pipe()
	return from, to, nil
}

func connectSecurePipe(ids *Identities) (from, to net.Conn, err error) {
	a, b := net.Pipe()
	client, server := secureconn.Client(a, ids.client), secureconn.Server(b, ids.server)
	return client, server, both(client.Handshake, server.Handshake)
}

// wrapped makes both ends of a pipe with a known key.
func wrapped(wrap func(articleConn) net.Conn) connecter {
	return func(*Identities) (from, to net.Conn, err error) {
		a, b := net.Pipe()
		aead, err := newGCM()
		return wrap(articleConn{Conn: a, aead: aead}), wrap(articleConn{Conn: b, aead: aead}), err
	}
}

// newGCM returns AES-256-GCM.
func newGCM() (cipher.AEAD, error) {
	block, err := aes.NewCipher(make([]byte, 32))
	if err != nil {
		return nil, err
	}
	return cipher.NewGCM(block)
}

const (
	articleHead     = 4 + 12
	articleOverhead = articleHead + 16
)

// sealArticle appends a message to dst.
func sealArticle(dst []byte, aead cipher.AEAD, counter uint64, p []byte) []byte {
	var nonce [12]byte
	binary.BigEndian.PutUint64(nonce[4:], counter)
	dst = binary.BigEndian.AppendUint32(dst, uint32(len(p)+12+16))
	dst = append(dst, nonce[:]...)
	return aead.Seal(dst, dst[len(dst)-12:], p, nil)
}

// readArticle reads a message into memory of its own: nonce, ciphertext and tag.
func readArticle(r io.Reader) ([]byte, error) {
	var head [4]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return nil, err
	}
	body := make([]byte, binary.BigEndian.Uint32(head[:]))
	_, err := io.ReadFull(r, body)
	return body, err
}

// articleConn is what both have.
type articleConn struct {
	net.Conn
	aead    cipher.AEAD
	counter uint64
}

// writeSealed writes a message, for which there is memory.
func (c *articleConn) writeSealed(memory, p []byte) (int, error) {
	c.counter++
	if _, err := c.Conn.Write(sealArticle(memory[:0], c.aead, c.counter, p)); err != nil {
		return 0, err
	}
	return len(p), nil
}

// copyingConn is before: each message out has memory of its own, and each message in is copied into a bytes.Buffer and
// out of it again.
type copyingConn struct {
	articleConn
	opened bytes.Buffer
}

func (c *copyingConn) Write(p []byte) (int, error) {
	return c.writeSealed(make([]byte, len(p)+articleOverhead), p)
}

func (c *copyingConn) Read(p []byte) (int, error) {
	if c.opened.Len() == 0 {
		body, err := readArticle(c.Conn)
		if err != nil {
			return 0, err
		}
		plaintext, err := c.aead.Open(nil, body[:12], body[12:], nil)
		if err != nil {
			return 0, err
		}
		c.opened.Write(plaintext)
	}
	return c.opened.Read(p)
}

// slicingConn is after: messages out have memory from a pool, and of one that has come the rest is kept as a slice.
type slicingConn struct {
	articleConn
	rest []byte
}

var articlePool = sync.Pool{New: func() any { return new([]byte) }}

func (c *slicingConn) Write(p []byte) (int, error) {
	memory := articlePool.Get().(*[]byte)
	defer articlePool.Put(memory)
	if cap(*memory) < len(p)+articleOverhead {
		*memory = make([]byte, len(p)+articleOverhead)
	}
	return c.writeSealed(*memory, p)
}

func (c *slicingConn) Read(p []byte) (int, error) {
	if len(c.rest) == 0 {
		body, err := readArticle(c.Conn)
		if err != nil {
			return 0, err
		}
		if c.rest, err = c.aead.Open(body[12:12], body[:12], body[12:], nil); err != nil {
			return 0, err
		}
	}
	n := copy(p, c.rest)
	c.rest = c.rest[n:]
	return n, nil
}
