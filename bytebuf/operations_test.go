package bytebuf_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"runtime"
	"strconv"
	"strings"

	"culvert/bytebuf"
)

// buffer is what both kinds of Buffer have.
type buffer interface {
	AvailableBuffer() []byte
	Available() int
	Bytes() []byte
	Cap() int
	Grow(n int)
	Len() int
	Next(n int) []byte
	Peek(n int) ([]byte, error)
	Read(p []byte) (int, error)
	ReadByte() (byte, error)
	ReadBytes(delim byte) ([]byte, error)
	ReadFrom(r io.Reader) (int64, error)
	ReadRune() (rune, int, error)
	ReadString(delim byte) (string, error)
	Reset()
	String() string
	Truncate(n int)
	UnreadByte() error
	UnreadRune() error
	Write(p []byte) (int, error)
	WriteByte(c byte) error
	WriteRune(r rune) (int, error)
	WriteString(s string) (int, error)
	WriteTo(w io.Writer) (int64, error)
}

var (
	_ buffer = (*bytes.Buffer)(nil)
	_ buffer = (*bytebuf.Buffer)(nil)
)

// huge is more than any memory; where pointers have 32 bits there is no such number, and it is 0.
const huge = strconv.IntSize / 64 * math.MaxInt

var errStream = errors.New("stream: broken")

// attempt returns the results of the calls in words, or their panic.
func attempt(b buffer, calls func(buffer) string) (result string) {
	defer func() {
		switch p := recover().(type) {
		case nil:
		case runtime.Error:
			text, _, _ := strings.Cut(p.Error(), "[") // what follows are numbers that depend on the capacity
			result = "runtime panic: " + text
		case error:
			result = "panic: " + describe(p)
		default:
			result = "panic: " + strings.ReplaceAll(fmt.Sprint(p), "bytebuf.", "bytes.")
		}
	}()
	return calls(b)
}

// describe says which error it is, in the same words for both kinds of Buffer.
func describe(err error) string {
	switch err {
	case nil:
		return "no error"
	case io.EOF, io.ErrShortWrite, bytes.ErrTooLarge, errStream:
		return fmt.Sprintf("error %p", err)
	default:
		return strings.ReplaceAll(err.Error(), "bytebuf.", "bytes.")
	}
}

// offset is how many bytes the memory has before the content.
func offset(b buffer) int { return b.Cap() - b.Available() - b.Len() }

// operation is one step of a sequence.
type operation struct {
	name      string
	run       func(s *sequence)
	keepsRead bool // and thereby what can be unread
}

// operations is filled by its parts below.
var operations = append(append(append([]operation(nil), writes...), reads...), others...)

var writes = []operation{
	{name: "Write", run: func(s *sequence) {
		p := s.input.text(s.input.size())
		s.both(func(b buffer) string { n, err := b.Write(p); return fmt.Sprint(n, describe(err)) })
	}},
	{name: "WriteString", run: func(s *sequence) {
		p := string(s.input.text(s.input.size()))
		s.both(func(b buffer) string { n, err := b.WriteString(p); return fmt.Sprint(n, describe(err)) })
	}},
	{name: "WriteByte", run: func(s *sequence) {
		c := byte(s.input.next())
		s.both(func(b buffer) string { return describe(b.WriteByte(c)) })
	}},
	{name: "WriteRune", run: func(s *sequence) {
		runes := [...]rune{
			'a', 0, 0x7F, 0x80, 'é', '€', '𝄞', 0xD800, 0x10FFFF, 0x110000, -1, math.MinInt32, math.MaxInt32,
		}
		r := runes[s.input.next()%len(runes)]
		s.both(func(b buffer) string { n, err := b.WriteRune(r); return fmt.Sprint(n, describe(err)) })
	}},
	{name: "AvailableBuffer", run: func(s *sequence) {
		text := s.input.text(s.input.size())
		appended := map[buffer][]byte{}
		s.both(func(b buffer) string {
			room := b.AvailableBuffer()
			result := fmt.Sprint(len(room), cap(room) == b.Available())
			appended[b] = append(room, text...)
			return result
		})
		s.both(func(b buffer) string { n, err := b.Write(appended[b]); return fmt.Sprint(n, describe(err)) })
		s.handOut(appended[s.ours])
	}},
	{name: "Extend", run: func(s *sequence) {
		text := s.input.text(s.input.size())
		var room []byte
		s.both(func(b buffer) string {
			if ours, ok := b.(*bytebuf.Buffer); ok {
				room = ours.Extend(len(text))
				return fmt.Sprint(copy(room, text))
			}
			n, err := b.Write(text)
			if err != nil {
				return describe(err)
			}
			return fmt.Sprint(n)
		})
		s.handOut(room)
	}},
	{name: "ReadFrom", run: func(s *sequence) {
		script := newReadScript(&s.input)
		s.both(func(b buffer) string {
			reader := scriptReader{steps: script}
			defer func() {
				// It may have written where slices are, before the Buffer went over to other memory.
				if b == s.ours {
					s.lookAtSlices()
				}
			}()
			n, err := b.ReadFrom(&reader)
			return fmt.Sprint(n, describe(err))
		})
	}},
	{name: "Write of Bytes", run: func(s *sequence) {
		if offset(s.ours) != 0 || offset(s.theirs) != 0 {
			return // else the content may be moved below what is written, as the capacity requires
		}
		s.both(func(b buffer) string { n, err := b.Write(b.Bytes()); return fmt.Sprint(n, describe(err)) })
	}},
}

var reads = []operation{
	{name: "Read", run: func(s *sequence) {
		size := s.input.size()
		s.both(func(b buffer) string {
			p := make([]byte, size)
			n, err := b.Read(p)
			return fmt.Sprintf("%d %q %s", n, p, describe(err))
		})
	}},
	{name: "Next", run: func(s *sequence) {
		n := s.input.size()
		if s.input.next()%16 == 0 {
			n = -1 - n
		}
		s.both(func(b buffer) string {
			slice := b.Next(n)
			if b == s.ours {
				s.handOut(slice)
			}
			return fmt.Sprintf("%q", slice)
		})
	}},
	{name: "ReadByte", run: func(s *sequence) {
		s.both(func(b buffer) string { c, err := b.ReadByte(); return fmt.Sprint(c, describe(err)) })
	}},
	{name: "ReadRune", run: func(s *sequence) {
		s.both(func(b buffer) string { r, n, err := b.ReadRune(); return fmt.Sprint(r, n, describe(err)) })
	}},
	{name: "UnreadByte", run: func(s *sequence) {
		if s.sameUnread() {
			s.both(func(b buffer) string { return describe(b.UnreadByte()) })
		}
	}},
	{name: "UnreadRune", run: func(s *sequence) {
		if s.sameUnread() {
			s.both(func(b buffer) string { return describe(b.UnreadRune()) })
		}
	}},
	{name: "ReadBytes", run: func(s *sequence) {
		delim := "agz\xff"[s.input.next()%4]
		s.both(func(b buffer) string {
			line, err := b.ReadBytes(delim)
			return fmt.Sprintf("%t %q %s", line == nil, line, describe(err))
		})
	}},
	{name: "ReadString", run: func(s *sequence) {
		delim := "agz\xff"[s.input.next()%4]
		s.both(func(b buffer) string {
			line, err := b.ReadString(delim)
			return fmt.Sprintf("%q %s", line, describe(err))
		})
	}},
	{name: "WriteTo", run: func(s *sequence) {
		step := writeStep{n: s.input.size(), kind: s.input.next() % writeKinds}
		if step.kind == writeNegative && min(offset(s.ours), offset(s.theirs)) < step.n {
			step.kind = writeAll // else the count leads to before the memory
		}
		s.both(func(b buffer) string {
			writer := scriptWriter{step: step}
			n, err := b.WriteTo(&writer)
			return fmt.Sprintf("%d %s %q", n, describe(err), writer.got)
		})
	}},
}

var others = []operation{
	{name: "Bytes", keepsRead: true, run: func(s *sequence) {
		change, at := s.input.next(), s.input.next()
		s.both(func(b buffer) string {
			slice := b.Bytes()
			if b == s.ours {
				s.handOut(slice)
			}
			if len(slice) > 0 && change%2 == 0 {
				slice[at%len(slice)] = byte(change)
			}
			return fmt.Sprintf("%q %t", slice, cap(slice) == b.Len()+b.Available())
		})
	}},
	{name: "Peek", keepsRead: true, run: func(s *sequence) {
		n := s.input.size()
		if s.input.next()%16 == 0 {
			n = -1 - n
		}
		s.both(func(b buffer) string {
			slice, err := b.Peek(n)
			if b == s.ours {
				s.handOut(slice)
			}
			return fmt.Sprintf("%q %s", slice, describe(err))
		})
	}},
	{name: "Truncate", run: func(s *sequence) {
		n := s.input.size() - 1
		s.both(func(b buffer) string { b.Truncate(n); return "" })
	}},
	{name: "Grow", keepsRead: false, run: func(s *sequence) {
		sizes := [...]int{-1, math.MinInt, huge, huge - 1, huge / 2}
		n := s.input.size()
		if choice := s.input.next(); choice < len(sizes) {
			n = sizes[choice]
		}
		s.both(func(b buffer) string { b.Grow(n); return fmt.Sprint(b.Available() >= n) })
	}},
	{name: "Reset", run: func(s *sequence) {
		s.both(func(b buffer) string { b.Reset(); return "" })
	}},
	{name: "Free", run: func(s *sequence) {
		s.ours.Free()
		s.slices = nil
		if s.pool != nil {
			s.retired = nil // some may be of memory that the Pool has lent
			s.borrow()
			return
		}
		if capacity := s.ours.Cap(); capacity != 0 {
			s.t.Fatalf("%s: freed with a capacity of %d", s, capacity)
		}
		*s.theirs = bytes.Buffer{}
	}},
	{name: "TakeString", run: func(s *sequence) {
		s.lookAtSlices()
		before := s.ours.Cap()
		got, want := s.ours.TakeString(), s.theirs.String()
		s.theirs.Reset()
		if got != want {
			s.t.Fatalf("%s: took %.100q, want %.100q", s, got, want)
		}
		s.taken = append(s.taken, [2]string{got, strings.Clone(got)})
		if s.ours.Cap() != before {
			s.retire()
		}
	}},
}

// sameUnread says whether both have as many bytes as one could unread before the content. After a Grow that is not so
// if only one of them had to move the content.
func (s *sequence) sameUnread() bool {
	return !s.grown || min(offset(s.ours), 4) == min(offset(s.theirs), 4)
}
