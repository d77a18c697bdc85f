package cipherio_test

import (
	"bytes"
	"crypto/cipher"
	"fmt"
	"io"
	"testing"

	"culvert/cipherio"
)

// FuzzWriter reads script as a sequence of writes, four bytes each: three for the size, one for what the writer below
// answers. Ours and the original must do the same.
func FuzzWriter(f *testing.F) {
	f.Add([]byte{0, 0, 0, 0, 240, 0, 0, 0, 0, 0, 1, 0, 1, 0, 1, 0, 5, 0, 0, 0})
	f.Add([]byte{240, 0, 0, 3, 0, 16, 0, 0, 1, 0, 0, 9})
	f.Add([]byte{255, 255, 2, 0, 0, 0, 0, 5, 255, 255, 0, 7})
	src := randomBytes(1 << 18)
	f.Fuzz(func(t *testing.T, script []byte) {
		p := newPair()
		for ; len(script) >= 4; script = script[4:] {
			size := (int(script[0]) | int(script[1])<<8 | int(script[2])<<16) % len(src)
			a := answer{}
			if size <= scratchSize {
				a = answerOf(script[3], size)
			}
			p.write(t, src[:size], a)
		}
	})
}

// answerOf makes the answer to a write out of a byte. Most are those of a good writer.
func answerOf(b byte, size int) answer {
	a := answer{more: [...]int{0, 0, 0, -1, 1, -size, size, -size - 1}[b%8]}
	if b>>3%4 == 1 {
		a.err = errSink
	}
	return a
}

// FuzzReader gives a text to both, in reads whose sizes and results below the script tells: a byte each.
func FuzzReader(f *testing.F) {
	f.Add([]byte("some text"), []byte{0, 0, 4, 4, 1, 200, 9, 9})
	f.Add([]byte{}, []byte{1, 1})
	f.Fuzz(func(t *testing.T, text, script []byte) {
		ours := cipherio.StreamReader{S: newStream(), R: &scripted{text: text, counts: script}}
		original := cipher.StreamReader{S: newStream(), R: &scripted{text: text, counts: script}}
		for _, size := range script {
			p, q := make([]byte, size, 256), make([]byte, size, 256)
			got := outcome(func() (int, error) { return ours.Read(p) })
			want := outcome(func() (int, error) { return original.Read(q) })
			if got != want || !bytes.Equal(p[:cap(p)], q[:cap(q)]) {
				t.Fatalf("read of %d: %s; the original: %s; or they differ in bytes", size, got, want)
			}
		}
	})
}

// scripted reads from text as many bytes as its script says, backwards, and lies about one count in eight.
type scripted struct {
	text, counts []byte
}

func (s *scripted) Read(p []byte) (int, error) {
	if len(s.counts) == 0 || len(s.text) == 0 {
		return 0, io.EOF
	}
	last := len(s.counts) - 1
	count := int(s.counts[last])
	s.counts = s.counts[:last]
	n := copy(p, s.text[:min(count, len(s.text))])
	s.text = s.text[n:]
	switch count % 16 {
	case 1:
		return n + count, nil
	case 2:
		return n, fmt.Errorf("scripted: %d", count)
	case 3:
		return -count, nil
	}
	return n, nil
}
