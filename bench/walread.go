package main

import (
	"fmt"
	"math/rand/v2"

	"culvert/wal"
)

// reading reads single entries in random order, as a Raft leader does for members that lag behind: from a log that
// tidwall/wal holds in memory, and from one of which it holds three segments of 20 MB. Package wal holds neither and
// reads each entry from the files. The first read in each segment makes its index and is not measured.
func reading(s *session) []benchmark {
	var benchmarks []benchmark
	for _, log := range []struct {
		size         string
		entries      int
		tidwallReads int
		goals        []goal
	}{
		{"16MiB", 100_000, 100_000, nil},
		{"256MiB", 1_600_000, 200, []goal{{variant: "impl=culvert", peer: "impl=tidwall", unit: "ns/op", max: 0.05}}},
	} {
		entries := s.size(log.entries, 2000)
		reader := func(impl string, open opener, reads int) variant {
			return appending(s, impl, open, 0, func(j journal) (sample, error) {
				group := batchOf(1000)
				for range entries / len(group) {
					if err := j.append(group); err != nil {
						return nil, err
					}
				}
				return readRandomly(j.(numbered), entries, s.size(reads, 20))
			})
		}
		benchmarks = append(benchmarks, benchmark{
			name: "WALRead/size=" + log.size,
			variants: []variant{
				reader("culvert", openCulvert(wal.Options{Sync: wal.None}), 100_000),
				reader("tidwall", openTidwall(false), log.tidwallReads),
			},
			goals: append(log.goals, goal{variant: "impl=culvert", unit: "allocs/op", max: 1}),
		})
	}
	return benchmarks
}

// numbered is a journal that reads an entry by its number, from 1 on.
type numbered interface {
	read(number int) ([]byte, error)
}

func readRandomly(j numbered, entries, n int) (sample, error) {
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
	return repeated(n, func() error { return read(1 + random.IntN(entries)) })
}
