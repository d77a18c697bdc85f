package bytebuf_test

import (
	"io"
	"strings"
	"testing"

	"culvert/bytebuf"
)

func TestTakeString(t *testing.T) {
	for _, size := range []int{0, 1, 33, 64, 65, 512, 10_000} {
		content := strings.Repeat("a", size)
		var b bytebuf.Buffer
		b.WriteString(content)
		got := b.TakeString()
		if got != content || b.Len() != 0 || b.String() != "" {
			t.Fatalf("took %d of %d bytes, left %d", len(got), size, b.Len())
		}
		if err := b.UnreadByte(); err == nil {
			t.Fatal("UnreadByte after TakeString gave no error")
		}
		b.WriteString(strings.Repeat("b", size))
		b.Free()
		if got != content {
			t.Fatalf("a string of %d bytes changed to %.20q", size, got)
		}
	}
}

// TestTakeStringKeepsMemory takes what is little beside the memory, which then is copied.
func TestTakeStringKeepsMemory(t *testing.T) {
	var b bytebuf.Buffer
	b.Grow(1000)
	capacity := b.Cap()
	b.WriteString(strings.Repeat("a", 100))
	if b.TakeString(); b.Cap() != capacity {
		t.Errorf("%d bytes of %d went over to a string of 100", capacity-b.Cap(), capacity)
	}
}

// TestTakeStringOfWhatOthersHold changes slices that were handed out, after the content was taken as a string.
func TestTakeStringOfWhatOthersHold(t *testing.T) {
	content := strings.Repeat("a", 1000)
	for name, slice := range map[string]func(b *bytebuf.Buffer) []byte{
		"Bytes":           func(b *bytebuf.Buffer) []byte { return b.Bytes() },
		"Peek":            func(b *bytebuf.Buffer) []byte { p, _ := b.Peek(1000); return p },
		"Next":            func(b *bytebuf.Buffer) []byte { return b.Next(1)[:b.Len()] },
		"AvailableBuffer": func(b *bytebuf.Buffer) []byte { return b.AvailableBuffer()[:b.Available()] },
		"Extend":          func(b *bytebuf.Buffer) []byte { return b.Extend(10) },
		"Bytes within ReadFrom": func(b *bytebuf.Buffer) (held []byte) {
			_, err := b.ReadFrom(readerFunc(func([]byte) (int, error) { held = b.Bytes(); return 0, io.EOF }))
			if err != nil {
				t.Error(err)
			}
			return held
		},
		"Bytes within WriteTo": func(b *bytebuf.Buffer) (held []byte) {
			_, err := b.WriteTo(writerFunc(func([]byte) (int, error) { held = b.Bytes(); return 0, errStream }))
			if err != errStream {
				t.Error(err)
			}
			return held
		},
	} {
		var b bytebuf.Buffer
		b.WriteString(content)
		held := slice(&b)
		taken := b.TakeString()
		want := strings.Clone(taken)
		for i := range held {
			held[i] = 'b'
		}
		if taken != want {
			t.Errorf("%s: the string changed with the slice", name)
		}
	}
}
