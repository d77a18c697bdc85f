package secureconn_test

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/ed25519"
	"crypto/hkdf"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/big"
	"net"
	"slices"
	"testing"
	"testing/iotest"
	"time"

	"golang.org/x/crypto/chacha20poly1305"
)

// This file is a second implementation of the protocol. It was written from SPEC.md alone, shares nothing
// with the package, and is as plain as can be: the tests speak to the package through it, honestly and not.

// second is one side of a connection.
type second struct {
	conn    net.Conn
	session *tls.Conn
	send    *chain
	receive *chain
}

// chain is one direction.
type chain struct {
	chacha   bool
	secret   []byte
	key, iv  []byte
	sequence uint64
}

// sealed is a record as it was on the way, with what it was sealed under.
type sealed struct {
	kind       byte
	plaintext  []byte
	key, nonce string
}

func newChain(secret []byte, chacha bool) *chain {
	c := &chain{chacha: chacha, secret: secret}
	c.derive()
	return c
}

func (c *chain) derive() {
	c.key = expand(c.secret, "culvert-conn/1 key", 32)
	c.iv = expand(c.secret, "culvert-conn/1 iv", 12)
}

func (c *chain) rekey() {
	c.secret = expand(c.secret, "culvert-conn/1 next", 32)
	c.derive()
}

func expand(secret []byte, info string, n int) []byte {
	out, err := hkdf.Expand(sha256.New, secret, info, n)
	if err != nil {
		panic(err)
	}
	return out
}

func (c *chain) aead() cipher.AEAD {
	if c.chacha {
		aead, err := chacha20poly1305.New(c.key)
		if err != nil {
			panic(err)
		}
		return aead
	}
	block, err := aes.NewCipher(c.key)
	if err != nil {
		panic(err)
	}
	aead, err := cipher.NewGCM(block)
	if err != nil {
		panic(err)
	}
	return aead
}

func (c *chain) nonce() []byte {
	number := make([]byte, 12)
	binary.BigEndian.PutUint64(number[4:], c.sequence)
	c.sequence++
	for i := range number {
		number[i] ^= c.iv[i]
	}
	return number
}

// seal makes a record.
func (c *chain) seal(kind byte, plaintext []byte) []byte {
	header := []byte{kind, 0, 0, 0, 0, 0, 0, 0}
	binary.BigEndian.PutUint32(header[4:], uint32(len(plaintext)+16))
	record := slices.Concat(header, c.aead().Seal(nil, c.nonce(), plaintext, header))
	if kind == 2 {
		c.rekey()
	}
	return record
}

// open reads one record.
func (c *chain) open(r io.Reader) (sealed, error) {
	header := make([]byte, 8)
	if _, err := io.ReadFull(r, header); err != nil {
		return sealed{}, err
	}
	body := make([]byte, binary.BigEndian.Uint32(header[4:]))
	if _, err := io.ReadFull(r, body); err != nil {
		return sealed{}, err
	}
	nonce := c.nonce()
	s := sealed{kind: header[0], key: string(c.key), nonce: string(nonce)}
	plaintext, err := c.aead().Open(nil, nonce, body, header)
	if err != nil {
		return s, err
	}
	s.plaintext = plaintext
	if s.kind == 2 {
		c.rekey()
	}
	return s, nil
}

// slowly reads a byte at a time, so that TLS takes nothing of what is behind its last record.
type slowly struct{ net.Conn }

func (s slowly) Read(p []byte) (int, error) { return iotest.OneByteReader(s.Conn).Read(p) }

func spki(key ed25519.PrivateKey) []byte {
	der, err := x509.MarshalPKIXPublicKey(key.Public())
	if err != nil {
		panic(err)
	}
	sum := sha256.Sum256(der)
	return sum[:]
}

func certificate(key ed25519.PrivateKey) tls.Certificate {
	template := &x509.Certificate{SerialNumber: big.NewInt(7), NotAfter: time.Unix(0, 0)}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		panic(err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
}

// secondConfig is what the second implementation asks of TLS.
func secondConfig(own ed25519.PrivateKey) *tls.Config {
	return &tls.Config{
		Certificates:           []tls.Certificate{certificate(own)},
		NextProtos:             []string{"culvert-conn/1"},
		MinVersion:             tls.VersionTLS13,
		CurvePreferences:       []tls.CurveID{tls.X25519MLKEM768},
		SessionTicketsDisabled: true,
		ClientAuth:             tls.RequireAnyClientCert,
		InsecureSkipVerify:     true,
	}
}

// newSecond shakes hands. It is the server if peer is the client's key.
func newSecond(conn net.Conn, own, peer ed25519.PrivateKey, isClient bool, config *tls.Config) (*second, error) {
	s := &second{conn: conn}
	client, server := spki(own), spki(peer)
	if isClient {
		s.session = tls.Client(slowly{conn}, config)
	} else {
		s.session = tls.Server(slowly{conn}, config)
		client, server = server, client
	}
	if err := s.session.Handshake(); err != nil {
		return nil, err
	}
	state := s.session.ConnectionState()
	chains := map[string]*chain{}
	for _, label := range []string{"EXPORTER-culvert-conn/1 client", "EXPORTER-culvert-conn/1 server"} {
		secret, err := state.ExportKeyingMaterial(label, append(client[:32:32], server...), 32)
		if err != nil {
			return nil, err
		}
		chains[label] = newChain(secret, state.CipherSuite == tls.TLS_CHACHA20_POLY1305_SHA256)
	}
	s.send, s.receive = chains["EXPORTER-culvert-conn/1 client"], chains["EXPORTER-culvert-conn/1 server"]
	if !isClient {
		s.send, s.receive = s.receive, s.send
		_, err := s.session.Write([]byte{1})
		return s, err
	}
	answer := make([]byte, 1)
	if _, err := io.ReadFull(s.session, answer); err != nil {
		return nil, err
	}
	if answer[0] != 1 {
		return nil, fmt.Errorf("the server has answered %d", answer[0])
	}
	return s, nil
}

// next returns the next record of the package.
func (s *second) next(t testing.TB) sealed {
	t.Helper()
	got, err := s.receive.open(s.conn)
	if err != nil {
		t.Fatal("a record of the package does not open:", err)
	}
	return got
}

// put sends bytes. The other side may be gone.
func (s *second) put(t testing.TB, b []byte) {
	t.Helper()
	_, err := s.conn.Write(b)
	if err != nil && !errors.Is(err, io.ErrClosedPipe) && !errors.Is(err, net.ErrClosed) {
		t.Error(err)
	}
}
