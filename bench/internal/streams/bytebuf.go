package streams

import (
	"bytes"
	"fmt"
	"strings"

	"culvert/bench/internal/harness"
	"culvert/bytebuf"
)

// PrepareBytebuf reproduces the comparison of https://github.com/intel-go/bytebuf: one Write, and the content as a
// string that outlives the buffer. Beside bytes.Buffer it has what its users do where that is too slow: to give it an
// array on the stack, and strings.Builder.
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
		benchmarks = append(benchmarks, harness.Benchmark{
			Name: fmt.Sprintf("Buffer/bytes=%d", c.bytes),
			Variants: []harness.Variant{
				looped(s, "impl=bytes", c.runs, func(n int) { writeBytes(n, text) }),
				looped(s, "impl=stack", c.runs, func(n int) { writeStack(n, text) }),
				looped(s, "impl=builder", c.runs, func(n int) { writeBuilder(n, text) }),
				looped(s, "impl=bytebuf", c.runs, func(n int) { writeBytebuf(n, text) }),
			},
			Goals: []harness.Goal{
				{Variant: "impl=bytebuf", Peer: "impl=bytes", Unit: "ns/op", Max: c.slowest},
				// What else the program allocates meanwhile is far below one in a hundred.
				{Variant: "impl=bytebuf", Unit: "allocs/op", Max: c.allocate + 0.01},
				{Variant: "impl=bytebuf", Unit: "B/op", Max: float64(c.bytes) + 0.5},
			},
		})
	}
	return benchmarks, nil
}

// looped does the work of one way n times. Each is a function of its own, not one with an interface, since that would
// move the buffers to the heap.
func looped(s *harness.Session, key string, runs int, loop func(n int)) harness.Variant {
	return harness.Variant{Key: key, Run: func() (harness.Sample, error) {
		n := s.Size(runs, 100)
		loop(n / 10) // fills the free lists
		got, err := harness.Repeated(1, func() error {
			loop(n)
			return nil
		})
		for unit := range got {
			got[unit] /= float64(n)
		}
		return got, err
	}}
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
