package secureconn_test

import (
	"bytes"
	"encoding/binary"
	"io"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	"culvert/secureconn"
)

// given is a connection on which bytes come in pieces, and then the end.
type given struct {
	net.Conn
	rest []byte
	size int
}

func (g *given) Read(p []byte) (int, error) {
	if len(g.rest) == 0 {
		return 0, io.EOF
	}
	n := copy(p[:min(len(p), g.size)], g.rest)
	g.rest = g.rest[n:]
	return n, nil
}

func (*given) SetWriteDeadline(time.Time) error { return nil }

// FuzzRecords has the package read bytes that nobody has sealed for it, or that somebody has changed. Whatever comes,
// it may hand out nothing but the beginning of the stream, and see its end only behind all of it.
func FuzzRecords(f *testing.F) {
	secret := bytes.Repeat([]byte{7}, 32)
	genuine := exchange(newChain(secret, false))
	whole := slices.Concat(genuine...)
	f.Add(whole, uint16(1000), uint16(1000))
	f.Add(whole, uint16(1), uint16(1))
	f.Add(whole[:len(whole)-1], uint16(7), uint16(3))
	f.Add(append(slices.Clone(whole), "more"...), uint16(50), uint16(5))
	f.Add(slices.Concat(genuine[0], genuine[0]), uint16(50), uint16(5))
	f.Add(slices.Concat(genuine[1], genuine[0]), uint16(50), uint16(5))
	f.Add([]byte{1, 0, 0, 0, 255, 255, 255, 255}, uint16(50), uint16(5))
	f.Add([]byte{1, 0, 0, 0, 0, 8, 0, 16, 1, 2, 3}, uint16(50), uint16(5))
	f.Fuzz(func(t *testing.T, stream []byte, piece, size uint16) {
		conn := &given{rest: stream, size: max(1, int(piece))}
		c := secureconn.NewReceiver(conn, bytes.Clone(secret))
		var got []byte
		var err error
		for err == nil {
			part := make([]byte, max(1, int(size)))
			var n int
			n, err = c.Read(part)
			got = append(got, part[:n]...)
		}
		if !strings.HasPrefix(exchanged, string(got)) {
			t.Errorf("read %q", got)
		}
		isWhole := bytes.HasPrefix(stream, whole)
		if isWhole != (err == io.EOF) || isWhole && string(got) != exchanged {
			t.Errorf("read %q, %v", got, err)
		}
	})
}

// FuzzHandOver has TLS read records, and then looks for what came behind them.
func FuzzHandOver(f *testing.F) {
	f.Add([]byte{22, 3, 1, 0, 3, 1, 2, 3, 23, 3, 3, 0, 1, 9, 'r', 'e', 's', 't'}, uint8(2), uint16(100), uint16(600))
	f.Add([]byte{22, 3, 1, 0, 0, 23, 3, 3, 0, 0, 'r', 'e', 's', 't'}, uint8(2), uint16(1), uint16(2))
	f.Add(append([]byte{22, 3, 1, 0x30, 0}, make([]byte, 0x3000+100)...), uint8(1), uint16(5000), uint16(600))
	f.Fuzz(func(t *testing.T, stream []byte, records uint8, piece, size uint16) {
		gate, rest := secureconn.NewGate(&given{rest: stream, size: max(1, int(piece))})
		end := 0
		for range records {
			if len(stream) < end+5 {
				return
			}
			end += 5 + int(binary.BigEndian.Uint16(stream[end+3:]))
		}
		if len(stream) < end || end > secureconn.MaxHandshake {
			return
		}
		// As crypto/tls does, read into more room than the record needs, and stop when it is whole.
		var got []byte
		for len(got) < end {
			part := make([]byte, max(1, int(size)))
			n, err := gate.Read(part)
			if n == 0 || err != nil {
				t.Fatalf("%d bytes, then %v", n, err)
			}
			got = append(got, part[:n]...)
		}
		if !bytes.Equal(got, stream[:end]) {
			t.Fatalf("TLS has got %d bytes, and its records have %d", len(got), end)
		}
		got, err := io.ReadAll(rest())
		if err != nil || !bytes.Equal(got, stream[end:]) {
			t.Errorf("behind them are %d bytes, want %d", len(got), len(stream)-end)
		}
	})
}
