package bytebuf_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"strings"
	"sync"
	"testing"
	"testing/iotest"

	"culvert/bytebuf"
)

func TestReader(t *testing.T) {
	content := []byte(strings.Repeat("0123456789\n", 500))
	made := map[string]*bytebuf.Buffer{
		"NewBuffer":       bytebuf.NewBuffer(bytes.Clone(content)),
		"NewBufferString": bytebuf.NewBufferString(string(content)),
		"written":         new(bytebuf.Buffer),
	}
	made["written"].Write(content)
	for name, b := range made {
		if err := iotest.TestReader(b, content); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if err := iotest.TestReader(b, nil); err != nil {
			t.Errorf("%s, read to its end: %v", name, err)
		}
	}
}

func TestReadFromAwkwardReaders(t *testing.T) {
	content := strings.Repeat("0123456789", 300)
	source := func() io.Reader { return strings.NewReader(content) }
	for name, test := range map[string]struct {
		reader io.Reader
		want   string
		err    error
	}{
		"one byte at a time":      {iotest.OneByteReader(source()), content, nil},
		"half of what is asked":   {iotest.HalfReader(source()), content, nil},
		"the error with the data": {iotest.DataErrReader(source()), content, nil},
		"an error at once":        {iotest.ErrReader(errStream), "", errStream},
		"an error after the data": {io.MultiReader(source(), iotest.ErrReader(errStream)), content, errStream},
		"a timeout in the middle": {iotest.TimeoutReader(iotest.OneByteReader(source())), "0", iotest.ErrTimeout},
		"io.ErrUnexpectedEOF":     {iotest.ErrReader(io.ErrUnexpectedEOF), "", io.ErrUnexpectedEOF},
		"an EOF that is wrapped":  {iotest.ErrReader(errWrappedEOF), "", errWrappedEOF},
	} {
		b := bytebuf.NewBufferString("before ")
		n, err := b.ReadFrom(test.reader)
		if n != int64(len(test.want)) || err != test.err || b.String() != "before "+test.want {
			t.Errorf("%s: %d bytes, error %v, %d in the Buffer; want %d, %v",
				name, n, err, b.Len(), len(test.want), test.err)
		}
	}
}

var errWrappedEOF = fmt.Errorf("wrapped: %w", io.EOF)

// patientReader returns nothing and no error many times before it gives up.
type patientReader struct{ times int }

func (r *patientReader) Read([]byte) (int, error) {
	r.times--
	if r.times < 0 {
		return 0, errStream
	}
	return 0, nil
}

func TestReadFromGoesOnWithoutProgress(t *testing.T) {
	var b bytebuf.Buffer
	b.WriteString("before")
	reader := patientReader{times: 100_000}
	n, err := b.ReadFrom(&reader)
	if n != 0 || err != errStream || b.String() != "before" || b.Cap() > 1024 {
		t.Errorf("%d bytes, error %v, content %q, capacity %d", n, err, b.String(), b.Cap())
	}
}

// TestBadInput has what bytes.Buffer answers with panics and odd results, and FuzzBuffer seldom or never comes by.
func TestBadInput(t *testing.T) {
	calls := map[string]func(b buffer) string{
		"Grow by a negative count":       func(b buffer) string { b.Grow(-1); return "" },
		"Grow by too much":               func(b buffer) string { b.Grow(huge); return "" },
		"Grow by much":                   func(b buffer) string { b.Grow(huge / 4); return "" },
		"Truncate to a negative count":   func(b buffer) string { b.Truncate(-1); return "" },
		"Truncate to more than there is": func(b buffer) string { b.Truncate(8); return "" },
		"Next of a negative count":       func(b buffer) string { return string(b.Next(-1)) },
		"Peek of a negative count":       func(b buffer) string { _, err := b.Peek(-1); return describe(err) },
		"Write of nil":                   func(b buffer) string { n, err := b.Write(nil); return fmt.Sprint(n, err) },
		"Read into nil":                  func(b buffer) string { n, err := b.Read(nil); return fmt.Sprint(n, err) },
		"WriteTo nil":                    func(b buffer) string { _, err := b.WriteTo(nil); return describe(err) },
		"ReadFrom nil":                   func(b buffer) string { _, err := b.ReadFrom(nil); return describe(err) },
		"a Write that returns -1": func(b buffer) string {
			n, err := b.WriteTo(&scriptWriter{step: writeStep{kind: writeNegative, n: 1}})
			return fmt.Sprint(n, describe(err), b.Len())
		},
		"a Write that resets the Buffer and fails": func(b buffer) string {
			n, err := b.WriteTo(writerFunc(func(p []byte) (int, error) { b.Reset(); return len(p), errStream }))
			c, readErr := b.ReadByte()
			return fmt.Sprint(n, describe(err), c, describe(readErr), b.Len())
		},
		"a Write that resets the Buffer and fails, then Read": func(b buffer) string {
			n, err := b.WriteTo(writerFunc(func(p []byte) (int, error) { b.Reset(); return len(p), errStream }))
			m, readErr := b.Read(make([]byte, 10))
			return fmt.Sprint(n, describe(err), m, describe(readErr), b.Len())
		},
		"a Write that resets the Buffer and fails, then ReadRune": func(b buffer) string {
			n, err := b.WriteTo(writerFunc(func(p []byte) (int, error) { b.Reset(); return len(p), errStream }))
			r, m, readErr := b.ReadRune()
			return fmt.Sprint(n, describe(err), r, m, describe(readErr), b.Len())
		},
		"a Write that reads the Buffer": func(b buffer) string {
			n, err := b.WriteTo(writerFunc(func(p []byte) (int, error) { b.Next(3); return len(p), nil }))
			return fmt.Sprint(n, describe(err), b.Len())
		},
		"a Read that resets the Buffer": func(b buffer) string {
			rest := 3
			n, err := b.ReadFrom(readerFunc(func(p []byte) (int, error) {
				b.Reset()
				rest--
				if rest == 0 {
					return 0, io.EOF
				}
				return copy(p, "xyz"), nil
			}))
			return fmt.Sprint(n, describe(err), b.String())
		},
		"UnreadByte first": func(b buffer) string { return describe(b.UnreadByte()) },
		"UnreadRune first": func(b buffer) string { return describe(b.UnreadRune()) },
		"UnreadRune after ReadByte": func(b buffer) string {
			c, err := b.ReadByte()
			first, second, third := b.UnreadRune(), b.UnreadByte(), b.UnreadByte()
			return fmt.Sprint(c, describe(err), describe(first), describe(second), describe(third))
		},
	}
	for name, call := range calls {
		for content, made := range map[string][2]buffer{
			"empty":   {new(bytebuf.Buffer), new(bytes.Buffer)},
			"New":     {bytebuf.New(), new(bytes.Buffer)},
			"content": {bytebuf.NewBufferString("content"), bytes.NewBufferString("content")},
		} {
			got, want := attempt(made[0], call), attempt(made[1], call)
			if got != want {
				t.Errorf("%s, %s: %s; bytes.Buffer: %s", name, content, got, want)
			}
		}
	}
}

type writerFunc func(p []byte) (int, error)

func (f writerFunc) Write(p []byte) (int, error) { return f(p) }

type readerFunc func(p []byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }

func TestPanicValues(t *testing.T) {
	for name, test := range map[string]struct {
		call func(b *bytebuf.Buffer)
		want any
	}{
		"too large":        {func(b *bytebuf.Buffer) { b.Grow(math.MaxInt) }, bytes.ErrTooLarge},
		"Extend too large": {func(b *bytebuf.Buffer) { b.Extend(math.MaxInt) }, bytes.ErrTooLarge},
		"Extend": {
			func(b *bytebuf.Buffer) { b.Extend(-1) }, "bytebuf.Buffer.Extend: negative count",
		},
		"Grow":     {func(b *bytebuf.Buffer) { b.Grow(-1) }, "bytebuf.Buffer.Grow: negative count"},
		"Truncate": {func(b *bytebuf.Buffer) { b.Truncate(-1) }, "bytebuf.Buffer: truncation out of range"},
	} {
		t.Run(name, func(t *testing.T) {
			defer func() {
				if got := recover(); got != test.want {
					t.Errorf("panic with %v, want %v", got, test.want)
				}
			}()
			test.call(bytebuf.NewBufferString("content"))
		})
	}
}

func TestNilString(t *testing.T) {
	var b *bytebuf.Buffer
	if got := b.String(); got != "<nil>" {
		t.Errorf("String of a nil Buffer is %q", got)
	}
	if got := fmt.Sprint(b); got != "<nil>" {
		t.Errorf("a nil Buffer prints as %q", got)
	}
}

func TestUseAfterFree(t *testing.T) {
	for name, b := range map[string]*bytebuf.Buffer{
		"zero": new(bytebuf.Buffer), "New": bytebuf.New(), "NewBuffer": bytebuf.NewBuffer(make([]byte, 10, 200)),
	} {
		for _, size := range []int{0, 5, 64, 65, 5000} {
			content := strings.Repeat("x", size)
			b.WriteString(content)
			b.Free()
			b.Free() // which frees nothing a second time
			if b.Len() != 0 || b.Cap() != 0 || b.String() != "" || len(b.Bytes()) != 0 {
				t.Fatalf("%s: after Free: Len %d, Cap %d, %q", name, b.Len(), b.Cap(), b.String())
			}
			if _, err := b.ReadByte(); err != io.EOF {
				t.Fatalf("%s: ReadByte after Free: %v", name, err)
			}
			if err := b.UnreadByte(); err == nil {
				t.Fatalf("%s: UnreadByte after Free gave no error", name)
			}
			b.WriteString(content)
			if b.String() != content {
				t.Fatalf("%s: after Free wrote %d bytes and got %.50q", name, size, b.String())
			}
			b.Reset()
		}
	}
}

// TestMemoryOfCaller frees Buffers that work on memory of the caller, which must not get to others.
func TestMemoryOfCaller(t *testing.T) {
	memory := make([]byte, 64)
	for range 100 {
		b := bytebuf.NewBuffer(memory[:0])
		b.WriteString("first")
		b.Free()
		grown := bytebuf.NewBuffer(memory[:0])
		grown.WriteString(strings.Repeat("x", 65))
		grown.Free()
		clear(memory)
		var others [4]bytebuf.Buffer
		for i := range others {
			others[i].WriteString(strings.Repeat("y", 64))
		}
		if bytes.Contains(memory, []byte("y")) {
			t.Fatal("memory of the caller was given to another Buffer")
		}
		for i := range others {
			others[i].Free()
		}
	}
}

func TestReadOnlyMethodsAtOnce(t *testing.T) {
	content := strings.Repeat("0123456789", 100)
	for name, b := range map[string]*bytebuf.Buffer{
		"written": new(bytebuf.Buffer), "New": bytebuf.New(), "NewBuffer": bytebuf.NewBuffer(nil),
	} {
		b.WriteString(content)
		var group sync.WaitGroup
		for range 8 {
			group.Go(func() {
				for range 100 {
					peeked, err := b.Peek(1000)
					same := string(peeked) == content && string(b.Bytes()) == content && b.String() == content
					if err != nil || !same {
						t.Errorf("%s: content read at once with others differs", name)
					}
					if b.Len() != 1000 || b.Available() != b.Cap()-1000 || cap(b.AvailableBuffer()) != b.Available() {
						t.Errorf("%s: Len %d, Available %d, Cap %d", name, b.Len(), b.Available(), b.Cap())
					}
				}
			})
		}
		group.Wait()
		b.Free()
	}
}

// TestSelfReference reads and writes a Buffer from and to itself, while other Buffers take what memory there is.
func TestSelfReference(t *testing.T) {
	takeMemory := func(capacity int) []*bytebuf.Buffer {
		var held []*bytebuf.Buffer
		for range 4 {
			held = append(held, new(bytebuf.Buffer))
			held[len(held)-1].Write(bytes.Repeat([]byte{'!'}, max(capacity, 1)))
		}
		return held
	}
	for size := range 700 {
		text := strings.Repeat("0123456789abcdef", 44)[:size]
		for name, call := range map[string]func(b buffer) string{
			"WriteTo itself": func(b buffer) string {
				n, err := b.WriteTo(writerFunc(func(p []byte) (int, error) {
					capacity := b.Cap()
					n, err := b.Write(p)
					takeMemory(capacity)
					return n, errors.Join(err, check(string(p) == text))
				}))
				return fmt.Sprint(n, describe(err), b.String())
			},
			"ReadFrom a tee to itself": func(b buffer) string {
				n, err := b.ReadFrom(io.TeeReader(iotest.OneByteReader(strings.NewReader("some text")), b))
				return fmt.Sprint(n, describe(err), b.String())
			},
			"ReadFrom what writes to it": func(b buffer) string {
				times := 0
				n, err := b.ReadFrom(readerFunc(func(p []byte) (int, error) {
					times++
					if times == 3 {
						return 0, io.EOF
					}
					capacity := b.Cap()
					_, err := b.Write(bytes.Repeat([]byte("nested "), capacity)) // more than fits
					others := takeMemory(capacity)
					n := copy(p, "into memory that was left")
					for i := range others {
						err = errors.Join(err, check(only(others[i].String(), '!')))
					}
					return n, err
				}))
				return fmt.Sprint(n, describe(err), b.String()[:size])
			},
			"Write of Bytes": func(b buffer) string {
				for range 5 {
					if _, err := b.Write(b.Bytes()); err != nil {
						return err.Error()
					}
				}
				return b.String()
			},
			"Write of Next": func(b buffer) string {
				b.Grow(2 * size)
				_, err := b.Write(b.Next(size / 2))
				return fmt.Sprint(describe(err), b.String())
			},
		} {
			ours, original := new(bytebuf.Buffer), new(bytes.Buffer)
			ours.WriteString(text)
			original.WriteString(text)
			if got, want := attempt(ours, call), attempt(original, call); got != want {
				t.Fatalf("%s, %d bytes: %.100q; bytes.Buffer: %.100q", name, size, got, want)
			}
		}
	}
}

func check(ok bool) error {
	if !ok {
		return errors.New("memory is shared with another Buffer")
	}
	return nil
}
