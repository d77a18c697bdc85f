package bytebuf_test

import (
	"bytes"
	"fmt"
	"io"
	"runtime/debug"
	"strconv"
	"strings"
	"testing"

	"culvert/bytebuf"
	"culvert/internal/testkit"
)

var (
	stringSink string
	byteSink   byte
)

// allocs is testkit.Allocs for what holds only if freed memory is used again, and without copies. Meanwhile there is no
// collection: each takes the tables of every list away, which sync.Pool then makes anew.
func allocs(t *testing.T, want float64, f func()) {
	t.Helper()
	if pureGo || bytebuf.Debug {
		f()
		return
	}
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	testkit.Allocs(t, want, f)
}

var sizes = []int{0, 5, 64, 65, 128, 1024, 100_000, 1 << 20}

// TestAllocations counts what is left when a Buffer comes and goes: the string of the result.
func TestAllocations(t *testing.T) {
	for _, size := range sizes {
		content := bytes.Repeat([]byte("0123456789abcdef"), size/16+1)[:size]
		text := string(content)
		result := min(float64(size), 1) // the string, if it is not empty
		for name, test := range map[string]struct {
			want float64
			f    func()
		}{
			"New Write String Free": {result, func() {
				b := bytebuf.New()
				b.Write(content)
				stringSink = b.String()
				b.Free()
			}},
			"New WriteString String Free": {result, func() {
				b := bytebuf.New()
				b.WriteString(text)
				stringSink = b.String()
				b.Free()
			}},
			"New WriteString TakeString Free": {result, func() {
				b := bytebuf.New()
				b.WriteString(text)
				stringSink = b.TakeString()
				b.Free()
			}},
			"New WriteString String, deferred Free": {result, func() {
				b := bytebuf.New()
				defer b.Free()
				b.WriteString(text)
				stringSink = b.String()
			}},
			"zero Write String Free": {result, func() {
				var b bytebuf.Buffer
				b.Write(content)
				stringSink = b.String()
				b.Free()
			}},
			"small writes": {result, func() {
				b := bytebuf.New()
				for rest := text; rest != ""; rest = rest[min(len(rest), 100):] {
					b.WriteString(rest[:min(len(rest), 100)])
				}
				stringSink = b.String()
				b.Free()
			}},
			"bytes": {0, func() {
				b := bytebuf.New()
				for range size {
					b.WriteByte('x')
				}
				b.Free()
			}},
			"runes": {0, func() {
				b := bytebuf.New()
				for range size / 3 {
					b.WriteRune('€')
				}
				b.Free()
			}},
			"New Write Bytes Free": {0, func() {
				b := bytebuf.New()
				b.Write(content)
				if p := b.Bytes(); len(p) > 0 {
					byteSink = p[len(p)-1]
				}
				b.Free()
			}},
			"Grow Write Next Read Free": {0, func() {
				b := bytebuf.New()
				b.Grow(size)
				b.Write(content)
				var p [10]byte
				for b.Len() > 0 {
					b.Next(1000)
					n, err := b.Read(p[:])
					if err != nil || n == 0 {
						break
					}
				}
				b.Free()
			}},
			"Extend": {0, func() {
				b := bytebuf.New()
				copy(b.Extend(size), content)
				b.Free()
			}},
			"AvailableBuffer": {0, func() {
				b := bytebuf.New()
				for i := range size / 10 {
					b.Grow(20)
					b.Write(strconv.AppendInt(b.AvailableBuffer(), int64(i), 10))
				}
				b.Free()
			}},
		} {
			t.Run(fmt.Sprintf("%s, %d bytes", name, size), func(t *testing.T) {
				if name == "AvailableBuffer" {
					test.want = outgrown(size)
				}
				test.f() // so that the free lists have what it takes
				allocs(t, test.want, test.f)
			})
		}
	}
}

// outgrown is how many arrays a Buffer of the size has outgrown that were left to the collector, since slices of them
// had been handed out, and now have to be made anew.
func outgrown(size int) float64 {
	arrays := 0.0
	for capacity := 64; capacity < size; capacity *= 2 {
		arrays++
	}
	return arrays
}

func TestAllocationsOfStreams(t *testing.T) {
	content := strings.Repeat("x", 100_000)
	reader := strings.NewReader(content)
	writer := io.Discard
	f := func() {
		var b bytebuf.Buffer
		reader.Reset(content)
		b.WriteString("before")
		if _, err := b.ReadFrom(reader); err != nil {
			t.Error(err)
		}
		if _, err := b.WriteTo(writer); err != nil {
			t.Error(err)
		}
		b.Free()
	}
	f()
	allocs(t, 0, f)
}

// TestAllocationsOfTakeString takes strings while the Buffer stays in use: each costs the array that goes over to it.
func TestAllocationsOfTakeString(t *testing.T) {
	var b bytebuf.Buffer
	content := strings.Repeat("x", 1000)
	f := func() {
		b.Grow(len(content))
		b.WriteString(content)
		stringSink = b.TakeString()
	}
	f()
	want := 1.0
	if pureGo {
		want = 2 // the string is a copy
	}
	testkit.Allocs(t, want, f)
}

func TestAllocationsOfPool(t *testing.T) {
	pool := bytebuf.NewPool(bytebuf.Class{Size: 1000, Count: 2})
	ctx := t.Context()
	f := func() {
		b, err := pool.Get(ctx, 500)
		if err != nil {
			t.Fatal(err)
		}
		other := pool.TryGet(1000)
		b.WriteString("content")
		other.WriteByte('x')
		if !pool.Put(b) {
			t.Error("refused")
		}
		other.Free()
	}
	f()
	if bytebuf.Debug {
		return // which makes a Buffer for each time
	}
	testkit.Allocs(t, 0, f)
}

// TestNewStaysOnStack fails if a Buffer of New moves to the heap where nothing but its strings are kept.
func TestNewStaysOnStack(t *testing.T) {
	if pureGo || bytebuf.Debug {
		t.Skip("skipped: without unsafe or with checks, the compiler has to assume that Free keeps the memory of New")
	}
	testkit.Allocs(t, 0, func() {
		b := bytebuf.New()
		b.WriteString("some bytes that fit")
		b.WriteByte(' ')
		b.WriteRune('€')
		b.Truncate(10)
		b.Write(b.AvailableBuffer())
		if p, err := b.Peek(3); err == nil {
			byteSink = p[0]
		}
		byteSink = b.Bytes()[0] + b.Next(1)[0]
		if c, err := b.ReadByte(); err == nil {
			byteSink = c
		}
		if b.UnreadByte() != nil {
			t.Error("nothing to unread")
		}
		b.Reset()
		b.Free()
	})
}
