package secureconn_test

import (
	"bytes"
	"errors"
	"slices"
	"testing"
	"testing/synctest"

	"culvert/secureconn"
)

// TestOpenedTogether has one Read find several records that have come. One that was changed ends the stream, whatever
// is behind it.
func TestOpenedTogether(t *testing.T) {
	const size, count = 100_000, 3
	for changed := range count + 1 { // the last time none is
		synctest.Test(t, func(t *testing.T) {
			conn, other := withSecond(t, true)
			content := noise(count * size)
			stream := other.send.seal(1, content[:1+size])
			for part := range slices.Chunk(content, size) {
				record := other.send.seal(1, part)
				if len(stream)/size-1 == changed {
					record[len(record)-1] ^= 1
				}
				stream = append(stream, record...)
			}
			go other.put(t, stream)
			p := make([]byte, count*size)
			if n, err := conn.Read(p[:1+size]); n != 1+size || err != nil {
				t.Fatalf("the first record: %d, %v", n, err)
			}
			clear(p)
			synctest.Wait() // for the others to be there
			n, err := conn.Read(p)
			want := min(changed, count) * size
			if n != want || !bytes.Equal(p[:n], content[:n]) || (n == 0) != errors.Is(err, secureconn.ErrRecord) {
				t.Errorf("record %d changed: Read %d, %v; want %d", changed, n, err, want)
			}
			if behind := bytes.Trim(p[n:], "\x00"); len(behind) > 0 {
				t.Errorf("record %d changed: %d bytes from behind it", changed, len(behind))
			}
			if changed == count {
				return
			}
			if n, err := conn.Read(p); n != 0 || !errors.Is(err, secureconn.ErrRecord) {
				t.Errorf("record %d changed: the next Read %d, %v", changed, n, err)
			}
		})
	}
}

// TestWriteBehind has Write return before the peer is found to be gone. The error comes later, and for good.
func TestWriteBehind(t *testing.T) {
	client, server := secure(t, pipePair)
	if err := server.NetConn().Close(); err != nil {
		t.Fatal(err)
	}
	content := noise(1 << 20)
	var err error
	sent := 0
	for err == nil {
		var n int
		n, err = client.Write(content)
		sent += n
	}
	if sent > secureconn.SendQueue+len(content) {
		t.Errorf("%d bytes were taken", sent)
	}
	if n, again := client.Write(content); n != 0 || again != err {
		t.Errorf("the next Write: %d, %v; want %v", n, again, err)
	}
	if again := client.Close(); !errors.Is(again, err) {
		t.Errorf("Close: %v; want %v", again, err)
	}
}
