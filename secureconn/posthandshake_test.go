package secureconn_test

import (
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"crypto/tls"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"io"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/crypto/chacha20poly1305"

	"culvert/secureconn"
)

// tlsWriter makes records of TLS 1.3 which crypto/tls has no way to make.
type tlsWriter struct {
	chacha   bool // or TLS_AES_128_GCM_SHA256
	secret   []byte
	sequence uint64
}

const (
	tlsAlert       = 21
	tlsHandshake   = 22
	tlsApplication = 23
)

func (w *tlsWriter) expand(label string, n int) []byte {
	label = "tls13 " + label
	info := append([]byte{0, byte(n), byte(len(label))}, label...)
	return expand(w.secret, string(append(info, 0)), n)
}

// record makes one with content of a type, and padding.
func (w *tlsWriter) record(kind byte, content []byte, padding int) []byte {
	var aead cipher.AEAD
	var err error
	if w.chacha {
		aead, err = chacha20poly1305.New(w.expand("key", 32))
	} else {
		var block cipher.Block
		if block, err = aes.NewCipher(w.expand("key", 16)); err == nil {
			aead, err = cipher.NewGCM(block)
		}
	}
	if err != nil {
		panic(err)
	}
	nonce := w.expand("iv", 12)
	for i, b := range binary.BigEndian.AppendUint64(nil, w.sequence) {
		nonce[4+i] ^= b
	}
	w.sequence++
	inner := slices.Concat(content, []byte{kind}, make([]byte, padding))
	header := binary.BigEndian.AppendUint16([]byte{tlsApplication, 3, 3}, uint16(len(inner)+16))
	return slices.Concat(header, aead.Seal(nil, nonce, inner, header))
}

// update makes a KeyUpdate, after which the next records are under another key.
func (w *tlsWriter) update(request byte) []byte {
	record := w.record(tlsHandshake, []byte{24, 0, 0, 1, request}, 0)
	w.secret, w.sequence = w.expand("traffic upd", 32), 0
	return record
}

// ticket makes a NewSessionTicket.
func (w *tlsWriter) ticket() []byte {
	body := []byte{0, 0, 1, 0, 1, 2, 3, 4, 1, 9, 0, 3, 'a', 'b', 'c', 0, 0}
	return w.record(tlsHandshake, append([]byte{4, 0, 0, byte(len(body))}, body...), 0)
}

func (w *tlsWriter) accept() []byte { return w.record(tlsApplication, []byte{1}, 0) }

// hostileServer shakes hands as a server and leaves it to the caller to accept the client.
func hostileServer(t *testing.T, conn net.Conn) (*second, *tlsWriter) {
	t.Helper()
	var keys bytes.Buffer
	config := secondConfig(key(2))
	config.KeyLogWriter = &keys
	s := &second{conn: conn, session: tls.Server(slowly{conn}, config)}
	if err := s.session.Handshake(); err != nil {
		t.Error(err)
		return s, new(tlsWriter)
	}
	state := s.session.ConnectionState()
	context := append(spki(key(1)), spki(key(2))...)
	secret, err := state.ExportKeyingMaterial("EXPORTER-culvert-conn/1 server", context, 32)
	if err != nil {
		t.Error(err)
	}
	w := &tlsWriter{chacha: state.CipherSuite == tls.TLS_CHACHA20_POLY1305_SHA256}
	s.send = newChain(secret, w.chacha)
	for line := range strings.Lines(keys.String()) {
		if fields := strings.Fields(line); fields[0] == "SERVER_TRAFFIC_SECRET_0" {
			if w.secret, err = hex.DecodeString(fields[2]); err != nil {
				t.Error(err)
			}
		}
	}
	return s, w
}

// messages are what a server sends after its handshake.
type messages struct {
	stream    func(w *tlsWriter) []byte
	handshake error // of the client
	read      error // of the client, behind the handshake
}

// messagesBehindTheHandshake are those that TLS allows, and some that it does not, before and after the byte that
// accepts the client.
func messagesBehindTheHandshake() map[string]messages {
	repeat := func(n int, f func() []byte) (all []byte) {
		for range n {
			all = append(all, f()...)
		}
		return all
	}
	nothing := func(w *tlsWriter) []byte { return w.record(tlsApplication, nil, 0) }
	return map[string]messages{
		"as it must be": {(*tlsWriter).accept, nil, nil},
		"tickets":       {func(w *tlsWriter) []byte { return append(repeat(3, w.ticket), w.accept()...) }, nil, nil},
		"a new key":     {func(w *tlsWriter) []byte { return append(w.update(0), w.accept()...) }, nil, nil},
		"both want one": {func(w *tlsWriter) []byte { return append(w.update(1), w.accept()...) }, nil, nil},
		"padding":       {func(w *tlsWriter) []byte { return w.record(tlsApplication, []byte{1}, 9000) }, nil, nil},
		"nothing first": {func(w *tlsWriter) []byte { return append(nothing(w), w.accept()...) }, nil, nil},
		"nothing for ever": {
			func(w *tlsWriter) []byte { return repeat(99, func() []byte { return nothing(w) }) }, errAny, nil,
		},
		"tickets for ever": {func(w *tlsWriter) []byte { return repeat(99, w.ticket) }, errAny, nil},
		"keys for ever": {
			func(w *tlsWriter) []byte { return repeat(99, func() []byte { return w.update(0) }) }, errAny, nil,
		},
		"a request": {
			func(w *tlsWriter) []byte { return w.record(tlsHandshake, []byte{13, 0, 0, 3, 0, 0, 0}, 0) }, errAny, nil,
		},
		"the end": {func(w *tlsWriter) []byte { return w.record(tlsAlert, []byte{1, 0}, 0) }, io.ErrUnexpectedEOF, nil},
		"an alert": {
			func(w *tlsWriter) []byte { return w.record(tlsAlert, []byte{2, 42}, 0) }, secureconn.ErrRefused, nil,
		},
		"another byte": {func(w *tlsWriter) []byte { return w.record(tlsApplication, []byte{2}, 0) }, errAny, nil},
		"two bytes": {
			func(w *tlsWriter) []byte { return w.record(tlsApplication, []byte{1, 1}, 0) }, errAny, nil,
		},
		"half a message": {
			func(w *tlsWriter) []byte { return append(w.record(tlsHandshake, []byte{4, 0}, 0), w.accept()...) },
			errAny, nil,
		},
		"the end behind": {
			func(w *tlsWriter) []byte { return append(w.accept(), w.record(tlsAlert, []byte{1, 0}, 0)...) },
			nil, secureconn.ErrRecord,
		},
		"a new key behind": {
			func(w *tlsWriter) []byte { return append(w.accept(), w.update(1)...) }, nil, secureconn.ErrRecord,
		},
		"a ticket behind": {
			func(w *tlsWriter) []byte { return append(w.accept(), w.ticket()...) }, nil, secureconn.ErrRecord,
		},
		"accepted twice": {
			func(w *tlsWriter) []byte { return append(w.accept(), w.accept()...) }, nil, secureconn.ErrRecord,
		},
	}
}

// TestMessagesBehindTheHandshake has a server that is listed send what only a hostile one does.
func TestMessagesBehindTheHandshake(t *testing.T) {
	for name, test := range messagesBehindTheHandshake() {
		t.Run(name, func(t *testing.T) {
			here, there := net.Pipe()
			defer there.Close()
			forClient, _ := configs()
			conn := secureconn.Client(here, forClient)
			defer conn.Close()
			conn.SetPatience(time.Millisecond)
			var background sync.WaitGroup
			defer background.Wait()
			background.Go(func() {
				other, w := hostileServer(t, there)
				stream := test.stream(w)
				if test.read == nil {
					stream = append(stream, other.send.seal(1, []byte("hello"))...)
				}
				other.put(t, stream)
				_, _ = io.Copy(io.Discard, there) // what the client answers
			})
			defer there.Close()
			if err := conn.Handshake(); !isExpected(err, test.handshake) {
				t.Errorf("the error of the handshake is %v", err)
				return
			} else if err != nil {
				return
			}
			got := make([]byte, 5)
			if _, err := io.ReadFull(conn, got); !isExpected(err, test.read) || err == nil && string(got) != "hello" {
				t.Errorf("read %q, %v", got, err)
			}
		})
	}
}

// errAny stands for every error.
var errAny = errors.New("an error")

func isExpected(err, want error) bool {
	return errors.Is(err, want) || err != nil && want == errAny
}
