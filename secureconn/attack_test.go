package secureconn_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"slices"
	"strings"
	"sync"
	"testing"

	"culvert/secureconn"
)

// exchange are the records of a short stream, as the second implementation has sealed them.
func exchange(c *chain) [][]byte {
	return [][]byte{
		c.seal(1, []byte("first ")),
		c.seal(1, []byte("second ")),
		c.seal(2, nil),
		c.seal(1, []byte("third")),
		c.seal(3, nil),
	}
}

const exchanged = "first second third"

// receive has the package read a stream of bytes to its end.
func receive(t *testing.T, conn *secureconn.Conn, other *second, stream []byte, close bool) (string, error) {
	t.Helper()
	var background sync.WaitGroup
	background.Go(func() {
		other.put(t, stream)
		if close {
			other.conn.Close()
		}
	})
	got, err := io.ReadAll(conn)
	other.conn.Close()
	background.Wait()
	return string(got), err
}

type records = [][]byte

// changes are what somebody on the way may do to the records of exchange.
func changes() map[string]func(records) []byte {
	join := func(r records) []byte { return slices.Concat(r...) }
	without := func(i int) func(records) []byte {
		return func(r records) []byte { return join(slices.Delete(r, i, i+1)) }
	}
	swap := func(i int) func(records) []byte {
		return func(r records) []byte { r[i], r[i+1] = r[i+1], r[i]; return join(r) }
	}
	repeat := func(i int) func(records) []byte {
		return func(r records) []byte { return join(slices.Insert(r, i, r[i])) }
	}
	flip := func(record, at int, bit byte) func(records) []byte {
		return func(r records) []byte {
			if at < 0 {
				at += len(r[record])
			}
			r[record][at] ^= bit
			return join(r)
		}
	}
	length := func(record int, n uint32) func(records) []byte {
		return func(r records) []byte { binary.BigEndian.PutUint32(r[record][4:], n); return join(r) }
	}
	return map[string]func(records) []byte{
		"first left out":     without(0),
		"second left out":    without(1),
		"re-key left out":    without(2),
		"first swapped":      swap(0),
		"re-key too early":   swap(1),
		"re-key too late":    swap(2),
		"end too early":      swap(3),
		"first repeated":     repeat(0),
		"re-key repeated":    repeat(2),
		"last repeated":      repeat(3),
		"a type of its own":  flip(1, 0, 0x80),
		"data as re-key":     flip(1, 0, 3),
		"re-key as data":     flip(2, 0, 3),
		"end as re-key":      flip(4, 0, 1),
		"flag 1":             flip(1, 1, 1),
		"flag 2":             flip(1, 2, 0x10),
		"flag 3":             flip(1, 3, 0x80),
		"longer by a bit":    flip(1, 7, 1),
		"ciphertext, first":  flip(1, 8, 1),
		"ciphertext, middle": flip(1, 11, 0x40),
		"tag, first":         flip(1, -16, 1),
		"tag, last":          flip(1, -1, 0x80),
		"tag of re-key":      flip(2, -1, 1),
		"tag of end":         flip(4, -1, 1),
		"no length":          length(0, 0),
		"only a tag":         length(0, 16),
		"a byte too short":   length(0, 15),
		"4 GiB":              length(0, 1<<32-1),
		"a byte too long":    length(0, secureconn.MaxPlaintext+17),
		"end with bytes":     length(4, 17),
		"re-key with bytes":  length(2, 17),
		"bytes of nobody":    func(r records) []byte { return []byte(strings.Repeat("x", 100)) },
	}
}

// TestAttacks has somebody on the way change what is sent. Nothing may be read that was not sent at that place, and the
// end of the stream only if it is the end.
func TestAttacks(t *testing.T) {
	for name, change := range changes() {
		t.Run(name, func(t *testing.T) {
			conn, other := withSecond(t, true)
			got, err := receive(t, conn, other, change(exchange(other.send)), true)
			// A length that is wrong and in bounds has the package wait for bytes that do not come.
			if !errors.Is(err, secureconn.ErrRecord) && err != io.ErrUnexpectedEOF {
				t.Errorf("the error is %v", err)
			}
			whole := strings.Contains(name, "end") || name == "last repeated"
			if !strings.HasPrefix(exchanged, got) || got == exchanged && !whole {
				t.Errorf("read %q", got)
			}
			if _, again := conn.Read(make([]byte, 9)); again != err {
				t.Errorf("the next Read has the error %v, not %v", again, err)
			}
			if errors.Is(err, secureconn.ErrRecord) {
				if _, err := conn.Write([]byte("more")); !errors.Is(err, secureconn.ErrRecord) {
					t.Errorf("Write after that has the error %v", err)
				}
			}
		})
	}
}

// TestEveryBit flips each bit of a record on its way.
func TestEveryBit(t *testing.T) {
	const plaintext = "plaintext"
	for at := range 8 * (8 + len(plaintext) + 16) {
		conn, other := withSecond(t, at%2 == 0)
		stream := append(other.send.seal(1, []byte(plaintext)), other.send.seal(3, nil)...)
		stream[at/8] ^= 1 << (at % 8)
		got, err := receive(t, conn, other, stream, true)
		if got != "" || !errors.Is(err, secureconn.ErrRecord) && err != io.ErrUnexpectedEOF {
			t.Errorf("bit %d of byte %d: read %q, %v", at%8, at/8, got, err)
		}
		conn.Close()
	}
}

// TestReflection sends back to the package what it has sent, and what the same record is in another connection.
func TestReflection(t *testing.T) {
	for side, isClient := range sides {
		t.Run(side, func(t *testing.T) {
			conn, other := withSecond(t, isClient)
			go func() { _, _ = conn.Write([]byte("hello")) }()
			record := make([]byte, 8+5+16)
			if _, err := io.ReadFull(other.conn, record); err != nil {
				t.Fatal(err)
			}
			if got, err := receive(t, conn, other, record, true); got != "" || !errors.Is(err, secureconn.ErrRecord) {
				t.Errorf("its own record: read %q, %v", got, err)
			}
			conn, other = withSecond(t, isClient)
			if got, err := receive(t, conn, other, record, true); got != "" || !errors.Is(err, secureconn.ErrRecord) {
				t.Errorf("the record of another connection: read %q, %v", got, err)
			}
		})
	}
}

// TestKeyLimits has a peer who does not follow the rules for keys.
func TestKeyLimits(t *testing.T) {
	t.Run("two re-keys in a row", func(t *testing.T) {
		conn, other := withSecond(t, true)
		stream := slices.Concat(other.send.seal(1, []byte("a")), other.send.seal(2, nil), other.send.seal(2, nil))
		got, err := receive(t, conn, other, stream, true)
		if got != "a" || !errors.Is(err, secureconn.ErrRecord) {
			t.Errorf("read %q, %v", got, err)
		}
	})
	t.Run("never a new key", func(t *testing.T) {
		conn, other := withSecond(t, true)
		conn.SetMaxBytes(100)
		var stream []byte
		for range 5 {
			stream = append(stream, other.send.seal(1, []byte("a"))...)
		}
		got, err := receive(t, conn, other, stream, true)
		if got != "aaaa" || !errors.Is(err, secureconn.ErrRecord) {
			t.Errorf("read %q, %v", got, err)
		}
	})
}

// TestBehindTheEnd has somebody add bytes behind the end of the stream, which nobody reads.
func TestBehindTheEnd(t *testing.T) {
	conn, other := withSecond(t, true)
	stream := append(slices.Concat(exchange(other.send)...), "more bytes of somebody"...)
	if got, err := receive(t, conn, other, stream, true); got != exchanged || err != nil {
		t.Errorf("read %q, %v", got, err)
	}
	if n, err := conn.Read(make([]byte, 1)); n != 0 || err != io.EOF {
		t.Errorf("at the end: %d, %v", n, err)
	}
}

// TestCutRecords cuts the stream behind each of its bytes.
func TestCutRecords(t *testing.T) {
	whole := 5*24 + len(exchanged)
	for at := range whole + 1 {
		conn, other := withSecond(t, at%2 == 0)
		stream := slices.Concat(exchange(other.send)...)
		if len(stream) != whole {
			t.Fatalf("the stream has %d bytes, want %d", len(stream), whole)
		}
		got, err := receive(t, conn, other, stream[:at], true)
		switch {
		case !strings.HasPrefix(exchanged, got):
			t.Errorf("cut at %d: read %q", at, got)
		case at == whole && (err != nil || got != exchanged):
			t.Errorf("not cut: read %q, %v", got, err)
		case at < whole && err != io.ErrUnexpectedEOF:
			t.Errorf("cut at %d: the error is %v", at, err)
		}
		conn.Close()
	}
}

// TestOversizedRecord has the longest record that is allowed, and one that is longer and otherwise right.
func TestOversizedRecord(t *testing.T) {
	conn, other := withSecond(t, true)
	plaintext := bytes.Repeat([]byte("x"), secureconn.MaxPlaintext)
	got, err := receive(t, conn, other, append(other.send.seal(1, plaintext), other.send.seal(3, nil)...), true)
	if err != nil || got != string(plaintext) {
		t.Errorf("a record of the greatest length: read %d bytes, %v", len(got), err)
	}
	conn, other = withSecond(t, true)
	plaintext = append(plaintext, 'x')
	got, err = receive(t, conn, other, other.send.seal(1, plaintext), true)
	if got != "" || !errors.Is(err, secureconn.ErrRecord) {
		t.Errorf("a longer one: read %d bytes, %v", len(got), err)
	}
}
