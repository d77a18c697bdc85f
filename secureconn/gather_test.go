package secureconn_test

import (
	"bytes"
	"io"
	"net"
	"sync"
	"testing"
	"testing/synctest"

	"culvert/bytebuf"
)

// scribbler is a reader that uses all of the memory it is given, as readers may, and returns a part of it.
type scribbler struct {
	text  []byte
	count int // of reads
	part  int // of the memory, in percent
}

func (s *scribbler) Read(p []byte) (int, error) {
	if s.count--; s.count < 0 {
		return 0, io.EOF
	}
	for rest := p; len(rest) > 0; {
		rest = rest[copy(rest, s.text):]
	}
	return len(p) * s.part / 100, nil
}

// freeMemory reports whether the free lists have memory with a text in it.
func freeMemory(text []byte) bool {
	found := false
	var taken []*bytebuf.Buffer
	for size := 64; size <= 1<<20; size += size / 4 {
		for range 4 {
			b := new(bytebuf.Buffer)
			taken = append(taken, b)
			found = found || bytes.Contains(b.Extend(size), text)
		}
	}
	for _, b := range taken {
		b.Free()
	}
	return found
}

// TestGatheredPlaintextIsErased sends from readers that write to more of their memory than they return, and looks for
// that in the memory that others get.
func TestGatheredPlaintextIsErased(t *testing.T) {
	for part, text := range map[int]string{0: "never returned ", 1: "one percent of this ", 99: "most of this "} {
		client, server := secure(t, tcpPair)
		var background sync.WaitGroup
		background.Go(func() { _, _ = io.Copy(io.Discard, server) })
		source := &scribbler{text: []byte(text), count: 20, part: part}
		if _, err := client.ReadFrom(source); err != nil {
			t.Error(err)
		}
		if err := client.Close(); err != nil {
			t.Error(err)
		}
		background.Wait()
		if freeMemory(source.text) {
			t.Errorf("what a reader has left behind the %d %% that it returned is in the free lists", part)
		}
	}
}

// TestUnsealedPlaintextIsErased gathers slices, behind a record that is on its way, into one that has no number any
// more.
func TestUnsealedPlaintextIsErased(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client, server := secure(t, pipePair)
		record := make([]byte, 20<<10)
		if _, err := client.Write(record); err != nil { // by a helper
			t.Fatal(err)
		}
		synctest.Wait() // it waits for the peer
		client.SetSequence(1<<64 - 1)
		secret := bytes.Repeat([]byte("gathered and not sealed "), 100)
		if n, err := client.WriteBuffers(&net.Buffers{secret, secret}); n != 0 || err == nil {
			t.Errorf("WriteBuffers: %d, %v", n, err)
		}
		if _, err := io.ReadFull(server, record); err != nil {
			t.Error(err)
		}
		synctest.Wait()
		if freeMemory(secret[:48]) {
			t.Error("the plaintext is in the free lists")
		}
	})
}

// TestReadFromNothing sends from a reader that returns neither bytes nor an error.
func TestReadFromNothing(t *testing.T) {
	client, _ := secure(t, tcpPair)
	if n, err := client.ReadFrom(emptyReader{}); n != 0 || err != io.ErrNoProgress {
		t.Errorf("%d, %v", n, err)
	}
	if n, err := client.ReadFrom(lyingReader{}); n != 0 || err == nil {
		t.Errorf("a reader that returns more than it was asked for: %d, %v", n, err)
	}
	if _, err := client.Write([]byte("x")); err != nil {
		t.Errorf("Write after that: %v", err)
	}
}

type emptyReader struct{}

func (emptyReader) Read([]byte) (int, error) { return 0, nil }

type lyingReader struct{}

func (lyingReader) Read(p []byte) (int, error) { return len(p) + 1, nil }
