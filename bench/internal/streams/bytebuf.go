package streams

import (
	"bytes"
	"fmt"
	"strings"
	"sync"

	"culvert/bench/internal/harness"
	"culvert/bytebuf"
)

// PrepareBytebuf reproduces the comparison of https://github.com/intel-go/bytebuf: one Write, and the content as a
// string that outlives the buffer. Beside bytes.Buffer it has what its users do where that is too slow: to give it an
// array on the stack, to keep buffers in a sync.Pool, and strings.Builder. More benchmarks have many writes, so that
// the buffers grow, and one of those takes a large string.
func PrepareBytebuf(s *harness.Session) ([]harness.Benchmark, error) {
	var benchmarks []harness.Benchmark
	for _, c := range []struct {
		bytes    int
		runs     int // of a sample, for about a tenth of a second
		slowest  float64
		allocate float64
	}{
		{0, 20_000_000, 1.0, 0},
		{5, 2_000_000, 0.5, 1},
		{64, 1_000_000, 0.7, 1},
		{128, 1_000_000, 0.8, 1},
		{1024, 200_000, 0.7, 1},
	} {
		text := []byte(strings.Repeat("x", c.bytes))
		b := bufferBenchmark(s, fmt.Sprintf("Buffer/bytes=%d", c.bytes), c.runs, c.slowest, []bufferLoop{
			{"bytes", func(n int) { writeBytes(n, text) }},
			{"stack", func(n int) { writeStack(n, text) }},
			{"pool", func(n int) { writePool(n, text) }},
			{"builder", func(n int) { writeBuilder(n, text) }},
			{"bytebuf", func(n int) { writeBytebuf(n, text) }},
		})
		b.Goals = append(b.Goals,
			// What else the program allocates meanwhile is far below one in a hundred.
			harness.Goal{Variant: "impl=bytebuf", Unit: "allocs/op", Max: c.allocate + 0.01},
			harness.Goal{Variant: "impl=bytebuf", Unit: "B/op", Max: float64(c.bytes) + 0.5})
		benchmarks = append(benchmarks, b)
	}
	return append(benchmarks,
		bufferBenchmark(s, "BufferGrows/write=string/writes=1000/bytes=12", 10_000, 1, []bufferLoop{
			{"bytes", growing(growBytes, 1000)},
			{"pool", growing(growPool, 1000)},
			{"builder", growing(growBuilder, 1000)},
			{"bytebuf", growBytebuf},
		}),
		bufferBenchmark(s, "BufferGrows/write=byte/writes=1000/bytes=1", 50_000, 1, []bufferLoop{
			{"bytes", countBytes}, {"pool", countPool}, {"builder", countBuilder}, {"bytebuf", countBytebuf},
		}),
		bufferBenchmark(s, "BufferGrows/write=string/writes=100000/bytes=12", 100, 1, []bufferLoop{
			{"bytes", growing(growBytes, 100_000)},
			{"pool", growing(growPool, 100_000)},
			{"builder", growing(growBuilder, 100_000)},
			{"bytebuf", largeBytebuf},
		}),
	), nil
}

// bufferLoop does the work of one way n times. Each is a function of its own, not one with an interface, since that
// would move the buffers to the heap.
type bufferLoop struct {
	impl string
	run  func(n int)
}

func bufferBenchmark(s *harness.Session, name string, runs int, slowest float64, loops []bufferLoop) harness.Benchmark {
	b := harness.Benchmark{
		Name:  name,
		Goals: []harness.Goal{{Variant: "impl=bytebuf", Peer: "impl=bytes", Unit: "ns/op", Max: slowest}},
	}
	for _, loop := range loops {
		b.Variants = append(b.Variants, harness.Variant{Key: "impl=" + loop.impl, Run: func() (harness.Sample, error) {
			n := s.Size(runs, 100)
			loop.run(n / 10) // fills the free lists
			got, err := harness.Repeated(1, func() error {
				loop.run(n)
				return nil
			})
			for unit := range got {
				got[unit] /= float64(n)
			}
			return got, err
		}})
	}
	return b
}

// Result is where the strings go, as those of a program that keeps them.
var Result string

func writeBytes(n int, text []byte) {
	for range n {
		var b bytes.Buffer
		b.Write(text)
		Result = b.String()
	}
}

func writeStack(n int, text []byte) {
	for range n {
		var array [64]byte
		b := bytes.NewBuffer(array[:0])
		b.Write(text)
		Result = b.String()
	}
}

// pool has buffers as most programs keep them.
var pool = sync.Pool{New: func() any { return new(bytes.Buffer) }}

func writePool(n int, text []byte) {
	for range n {
		b := pool.Get().(*bytes.Buffer)
		b.Write(text)
		Result = b.String()
		b.Reset()
		pool.Put(b)
	}
}

func writeBuilder(n int, text []byte) {
	for range n {
		var b strings.Builder
		b.Write(text)
		Result = b.String()
	}
}

func writeBytebuf(n int, text []byte) {
	for range n {
		b := bytebuf.New()
		b.Write(text)
		Result = b.String()
		b.Free()
	}
}

const word = "twelve bytes"

func growing(loop func(n, writes int), writes int) func(n int) {
	return func(n int) { loop(n, writes) }
}

func growBytes(n, writes int) {
	for range n {
		var b bytes.Buffer
		for range writes {
			b.WriteString(word)
		}
		Result = b.String()
	}
}

func growPool(n, writes int) {
	for range n {
		b := pool.Get().(*bytes.Buffer)
		for range writes {
			b.WriteString(word)
		}
		Result = b.String()
		b.Reset()
		pool.Put(b)
	}
}

func growBuilder(n, writes int) {
	for range n {
		var b strings.Builder
		for range writes {
			b.WriteString(word)
		}
		Result = b.String()
	}
}

func growBytebuf(n int) {
	for range n {
		b := bytebuf.New()
		for range 1000 {
			b.WriteString(word)
		}
		Result = b.String()
		b.Free()
	}
}

func countBytes(n int) {
	for range n {
		var b bytes.Buffer
		for i := range 1000 {
			b.WriteByte(byte(i))
		}
		Result = b.String()
	}
}

func countPool(n int) {
	for range n {
		b := pool.Get().(*bytes.Buffer)
		for i := range 1000 {
			b.WriteByte(byte(i))
		}
		Result = b.String()
		b.Reset()
		pool.Put(b)
	}
}

func countBuilder(n int) {
	for range n {
		var b strings.Builder
		for i := range 1000 {
			b.WriteByte(byte(i))
		}
		Result = b.String()
	}
}

func countBytebuf(n int) {
	for range n {
		b := bytebuf.New()
		for i := range 1000 {
			b.WriteByte(byte(i))
		}
		Result = b.String()
		b.Free()
	}
}

// largeBytebuf takes the string without a copy.
func largeBytebuf(n int) {
	for range n {
		var b bytebuf.Buffer
		for range 100_000 {
			b.WriteString(word)
		}
		Result = b.TakeString()
	}
}
