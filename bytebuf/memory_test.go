package bytebuf_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"sync"
	"testing"

	"culvert/bytebuf"
)

// TestMemoryIsNotShared has many Buffers alive at once, on several goroutines, with collections in between. Each holds
// bytes of its own kind, and strings that were taken from others do not change.
func TestMemoryIsNotShared(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(5))
	type taken struct {
		text string
		kind byte
	}
	var group sync.WaitGroup
	for worker := range 4 {
		group.Go(func() {
			random := rand.New(rand.NewPCG(uint64(worker), 1))
			alive := make([]bytebuf.Buffer, 20)
			kinds := make([]byte, len(alive))
			var strings []taken
			for range 4000 {
				i := random.IntN(len(alive))
				b := &alive[i]
				if !only(b.String(), kinds[i]) {
					t.Errorf("a Buffer of %d bytes has some of another", b.Len())
					return
				}
				switch random.IntN(8) {
				case 0:
					b.Free()
				case 1:
					strings = append(strings, taken{b.TakeString(), kinds[i]})
				case 2:
					b.Next(random.IntN(100))
				case 3:
					b.Bytes()
				}
				if b.Len() == 0 {
					kinds[i] = byte(random.Uint32())
				}
				b.Write(bytes.Repeat(kinds[i:i+1], random.IntN(1<<random.IntN(15))))
			}
			for _, s := range strings {
				if !only(s.text, s.kind) {
					t.Errorf("a string of %d bytes changed", len(s.text))
				}
			}
		})
	}
	group.Wait()
}

// only says whether the text has no byte of another kind.
func only(text string, kind byte) bool {
	return strings.Count(text, string([]byte{kind})) == len(text)
}

// TestStackMoves lets the stack grow, and so move, and shrink again while Buffers of New on it are in use.
func TestStackMoves(t *testing.T) {
	for range 20 {
		var group sync.WaitGroup
		group.Go(func() { // since each has a small stack to begin with
			for i := range 10 {
				if err := nested(200*i, i); err != nil {
					t.Error(err)
				}
				runtime.GC() // which shrinks stacks
			}
		})
		group.Wait()
	}
}

// nested writes to a Buffer on the stack before and after it calls itself.
func nested(depth, size int) error {
	b := bytebuf.New()
	text := fmt.Sprintf("%0*d", size+1, depth)
	b.WriteString(text)
	held := b.Bytes()
	var deeper error
	if depth > 0 {
		deeper = nested(depth-1, (size+13)%150)
	}
	if string(held) != text {
		return fmt.Errorf("at depth %d the slice is %q", depth, held)
	}
	b.WriteString(text)
	if got := b.String(); got != text+text {
		return fmt.Errorf("at depth %d the content is %q", depth, got)
	}
	if got := b.TakeString(); got != text+text {
		return fmt.Errorf("at depth %d the string is %q", depth, got)
	}
	b.Free()
	return deeper
}

// TestNewInLoop keeps a Buffer of New beyond the block that it was made in.
func TestNewInLoop(t *testing.T) {
	last := bytebuf.New()
	for i := range 100 {
		b := bytebuf.New()
		b.WriteString(strconv.Itoa(i))
		if i > 0 {
			if want := fmt.Sprint(i - 1); last.String() != want {
				t.Fatalf("after %s there is %s", want, last)
			}
		}
		last = b
	}
}

// TestMemoryOutlivesBuffer keeps only what a Buffer has given, and lets the collector run.
func TestMemoryOutlivesBuffer(t *testing.T) {
	var slices [][]byte
	var taken []string
	for i := range 200 {
		var b bytebuf.Buffer
		b.Write(bytes.Repeat([]byte{byte(i)}, 3000))
		slices = append(slices, b.Next(1000), b.Bytes()[:1000])
		b.Write(bytes.Repeat([]byte{byte(i)}, 9000)) // which goes over to other memory
		slices = append(slices, b.Bytes())
		var other bytebuf.Buffer
		other.Write(bytes.Repeat([]byte{byte(i)}, 5000))
		other.Next(100)
		taken = append(taken, other.TakeString())
		if i%10 == 0 {
			runtime.GC()
		}
	}
	runtime.GC()
	for i := range 200 {
		for _, s := range append(slices[3*i:3*i+3:3*i+3], []byte(taken[i])) {
			if !only(string(s), byte(i)) {
				t.Errorf("memory of a Buffer that is gone changed")
			}
		}
	}
}

// TestFreedMemoryIsUsedAgain frees memory of every size up to 4 MiB, and gets it again.
func TestFreedMemoryIsUsedAgain(t *testing.T) {
	if bytebuf.Debug {
		t.Skip("skipped: with -tags bytebufdebug freed memory is not used again")
	}
	for size := 1; size <= 4<<20; size += 1 + size/10 {
		var first bytebuf.Buffer
		first.Grow(size)
		// No more than a quarter is there beyond need, if 64 bytes are not more.
		if capacity := first.Cap(); capacity < size || capacity > max(64, size+size/4) {
			t.Errorf("Grow(%d) gave %d bytes", size, capacity)
		}
		where, capacity := address(&first), first.Cap()
		first.Free()
		again := false
		for range 30 { // the goroutine may change over to another core, and the race detector makes lists forget
			var second bytebuf.Buffer
			second.Grow(size)
			if second.Cap() != capacity {
				t.Errorf("Grow(%d) gave %d bytes, then %d", size, capacity, second.Cap())
			}
			again = again || address(&second) == where
			where = address(&second)
			second.Free()
		}
		if !again {
			t.Errorf("memory of %d bytes was not used again", size)
		}
	}
}
