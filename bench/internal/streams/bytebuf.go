package streams

import (
	"bytes"
	"fmt"
	"strings"

	"culvert/bench/internal/harness"
	"culvert/bytebuf"
)

// PrepareBytebuf reproduces the comparison of https://github.com/intel-go/bytebuf: one Write, and the content as a
// string that outlives the buffer.
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
			{"bytebuf", func(n int) { writeBytebuf(n, text) }},
		})
		b.Goals = append(b.Goals,
			// What else the program allocates meanwhile is far below one in a hundred.
			harness.Goal{Variant: "impl=bytebuf", Unit: "allocs/op", Max: c.allocate + 0.01},
			harness.Goal{Variant: "impl=bytebuf", Unit: "B/op", Max: float64(c.bytes) + 0.5})
		benchmarks = append(benchmarks, b)
	}
	return benchmarks, nil
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

func writeBytebuf(n int, text []byte) {
	for range n {
		b := bytebuf.New()
		b.Write(text)
		Result = b.String()
		b.Free()
	}
}
