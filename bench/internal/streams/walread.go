package streams

import (
	"fmt"
	"math/rand/v2"

	"culvert/bench/internal/harness"
	"culvert/wal"
)

// reading reads single entries in random order, as a Raft leader does for members that lag behind: from a log that
// tidwall/wal holds in memory, and from one of which it holds three segments of 20 MB. Package wal holds neither and
// reads each entry from the files. The first read in each segment makes its index and is not measured.
func reading(s *harness.Session) []harness.Benchmark {
	var benchmarks []harness.Benchmark
	for _, log := range []struct {
		size         string
		entries      int
		tidwallReads int
		goals        []harness.Goal
	}{
		{"16MiB", 100_000, 100_000, nil},
		{"256MiB", 1_600_000, 200, []harness.Goal{
			{Variant: "impl=culvert", Peer: "impl=tidwall", Unit: "ns/op", Max: 0.05},
		}},
	} {
		entries := s.Size(log.entries, 2000)
		reader := func(impl string, open opener, reads int) harness.Variant {
			return appending(s, impl, open, 0, func(j journal) (harness.Sample, error) {
				group := batchOf(1000)
				for range entries / len(group) {
					if err := j.append(group); err != nil {
						return nil, err
					}
				}
				return readRandomly(j.(numbered), entries, s.Size(reads, 20))
			})
		}
		benchmarks = append(benchmarks, harness.Benchmark{
			Name: "WALRead/size=" + log.size,
			Variants: []harness.Variant{
				reader("culvert", openCulvert(wal.Options{Sync: wal.None}), 100_000),
				reader("tidwall", openTidwall(false), log.tidwallReads),
			},
			Goals: append(log.goals, harness.Goal{Variant: "impl=culvert", Unit: "allocs/op", Max: 1}),
		})
	}
	return benchmarks
}

// numbered is a journal that reads an entry by its number, from 1 on.
type numbered interface {
	read(number int) ([]byte, error)
}

func readRandomly(j numbered, entries, n int) (harness.Sample, error) {
	random := rand.New(rand.NewPCG(1, 2))
	read := func(number int) error {
		data, err := j.read(number)
		if err == nil && len(data) != entrySize {
			err = fmt.Errorf("%d bytes", len(data))
		}
		return err
	}
	const apart = 10_000 // entries, so that each segment is read once
	for number := entries; number > 0; number -= apart {
		if err := read(number); err != nil {
			return nil, err
		}
	}
	return harness.Repeated(n, func() error { return read(1 + random.IntN(entries)) })
}
