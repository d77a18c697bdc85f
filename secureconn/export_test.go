package secureconn

import (
	"bytes"
	"crypto/tls"
	"io"
	"net"
	"slices"
	"time"
)

// SetPatience changes how long Close waits for a peer who takes nothing.
func (c *Conn) SetPatience(d time.Duration) { c.sender.patience = d }

// SetRekey changes after how many bytes, and after what time, a key is replaced in the direction of this side.
func (c *Conn) SetRekey(bytes int64, age time.Duration) {
	c.sender.out.limit, c.sender.out.age = bytes, age
}

// RekeyAge is for SetRekey by bytes alone.
const RekeyAge = rekeyAge

// MaxPlaintext is the bound of the format.
const MaxPlaintext = maxPlaintext

// SetSequence changes the number of the next record in both directions.
func (c *Conn) SetSequence(n uint64) { c.sender.out.sequence, c.receiver.in.sequence = n, n }

// Secrets gives the memory of the secrets that are in use, outgoing and incoming.
func (c *Conn) Secrets() [2][]byte { return [2][]byte{c.sender.out.secret, c.receiver.in.secret} }

// CloseLimit is how long Close takes at most.
const CloseLimit = closeLimit

// MaxHandshake is how many bytes of the peer TLS gets to read.
const MaxHandshake = maxHandshake

// SetMaxBytes changes how many bytes this side takes under one key.
func (c *Conn) SetMaxBytes(n int64) { c.receiver.in.limit = n }

// SendQueue is more than the greatest number of bytes that may be sealed and not written.
const SendQueue = sendParcels * 2 * recordSize

// CloseTimeout is how long Close waits for a peer who takes nothing.
const CloseTimeout = closeTimeout

// NewReceiver makes a connection that has shaken hands, whose peer sends under AES-256-GCM and a known secret.
func NewReceiver(conn net.Conn, secret []byte) *Conn {
	c := newConn(conn, nil, true)
	c.receiver.in.newAEAD = newAEAD(tls.TLS_AES_128_GCM_SHA256)
	if err := c.receiver.in.start(secret); err != nil {
		panic(err)
	}
	c.ready.Store(true)
	return c
}

// NewGate gives what TLS reads from, and a function for what comes behind that.
func NewGate(conn net.Conn) (gate io.Reader, rest func() io.Reader) {
	c := newConn(conn, nil, true)
	g := c.newGate()
	return g, func() io.Reader {
		c.takeOver(g.batch)
		if c.receiver.partial == nil {
			return conn
		}
		return io.MultiReader(bytes.NewReader(c.receiver.partial.buf[:c.receiver.partial.end]), conn)
	}
}

// Seal appends what a direction with this secret sends: data records, and a re-key before each number in rekeys.
func Seal(suite uint16, secret []byte, plaintexts [][]byte, rekeys map[int]bool) ([]byte, error) {
	d := direction{newAEAD: newAEAD(suite)}
	if err := d.start(secret); err != nil {
		return nil, err
	}
	var stream []byte
	var err error
	for i, p := range plaintexts {
		stream = slices.Grow(stream, len(p)+3*overhead)
		if rekeys[i] {
			if stream, err = d.seal(stream, kindRekey, nil); err != nil {
				return nil, err
			}
		}
		if stream, err = d.seal(stream, kindData, p); err != nil {
			return nil, err
		}
	}
	return d.seal(stream, kindClose, nil)
}

// ReceiveBuffers is how many records may have come and not been read, and the one that is being read.
const ReceiveBuffers = ahead + 2
