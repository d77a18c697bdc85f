package streams

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"culvert/bench/internal/harness"
)

// PrepareWAL compares package wal with the logs that Go programs use today, with entries of 128 bytes that are synced,
// by one writer and by several. The floor, which no log can beat on the same disk, is a loop that writes the same bytes
// into a file of zeros and syncs them. The flag -dir sets the directory, since the result depends as much on the file
// system.
func PrepareWAL(s *harness.Session) ([]harness.Benchmark, error) {
	return []harness.Benchmark{oneWriter(s), manyWriters(s, 16), manyWriters(s, 64)}, nil
}

// entrySize is the payload of the peers' own benchmarks.
const entrySize = 128

// journal is a log that is measured.
type journal interface {
	// append adds an entry, and returns when it is synced.
	append(entry []byte) error
	close() error
}

// opener makes a journal in a directory that does not exist.
type opener func(dir string) (journal, error)

// newEntry returns the entry that is appended.
func newEntry() []byte {
	entry := make([]byte, entrySize)
	for i := range entry {
		entry[i] = byte(i * 7)
	}
	return entry
}

// journalRun measures appends by so many writers at once.
type journalRun struct {
	writers int
	appends int // of all writers together
}

// variant opens a journal, appends to it and removes it.
func (r journalRun) variant(s *harness.Session, impl string, open opener) harness.Variant {
	return harness.Variant{Key: "impl=" + impl, Run: func() (got harness.Sample, err error) {
		dir := filepath.Join(s.Dir, impl)
		j, err := open(dir)
		if err != nil {
			return nil, err
		}
		got, err = r.measure(s, j)
		return got, errors.Join(err, j.close(), os.RemoveAll(dir))
	}}
}

func (r journalRun) measure(s *harness.Session, j journal) (harness.Sample, error) {
	each := max(1, s.Size(r.appends, 50*r.writers)/r.writers)
	latencies := make([][]time.Duration, r.writers)
	failures := make([]error, r.writers)
	for w := range latencies {
		latencies[w] = make([]time.Duration, 0, each)
	}
	entry := newEntry()
	for range each / 20 {
		if err := j.append(entry); err != nil {
			return nil, err
		}
	}
	got, err := harness.Repeated(1, func() error {
		var all sync.WaitGroup
		for w := range r.writers {
			all.Go(func() {
				before := time.Now()
				for range each {
					if failures[w] = j.append(entry); failures[w] != nil {
						return
					}
					now := time.Now()
					latencies[w] = append(latencies[w], now.Sub(before))
					before = now
				}
			})
		}
		all.Wait()
		return errors.Join(failures...)
	})
	if err != nil {
		return nil, err
	}
	for unit := range got {
		got[unit] /= float64(each * r.writers)
	}
	addPercentiles(got, slices.Concat(latencies...))
	return got, nil
}

// percentiles are those of the latencies, with the tail.
var percentiles = []struct {
	unit string
	part float64
}{
	{"p50-ns", 0.5},
	{"p99-ns", 0.99},
	{"p999-ns", 0.999},
	{"max-ns", 1},
}

func addPercentiles(s harness.Sample, latencies []time.Duration) {
	slices.Sort(latencies)
	for _, p := range percentiles {
		at := min(len(latencies)-1, int(p.part*float64(len(latencies))))
		s[p.unit] = float64(latencies[at].Nanoseconds())
	}
}

// contender is a journal that is measured beside others.
type contender struct {
	impl string
	open opener
}

// inTurn measures journals that are open at the same time, some appends to each in turn: what they differ by is less
// than what two runs of the same one do after each other. Their samples come from one run, which the first variant has.
func (r journalRun) inTurn(s *harness.Session, contenders ...contender) []harness.Variant {
	samples := make([]harness.Sample, len(contenders))
	var variants []harness.Variant
	for i, c := range contenders {
		variants = append(variants, harness.Variant{Key: "impl=" + c.impl, Run: func() (harness.Sample, error) {
			if i > 0 {
				return samples[i], nil
			}
			dir := filepath.Join(s.Dir, "turns")
			if err := os.Mkdir(dir, 0o700); err != nil {
				return nil, err
			}
			var err error
			samples, err = r.turns(s, dir, contenders)
			return samples[i], errors.Join(err, os.RemoveAll(dir))
		}})
	}
	return variants
}

// turns appends to journals in a directory, from one goroutine.
func (r journalRun) turns(s *harness.Session, dir string, contenders []contender) ([]harness.Sample, error) {
	const turn = 10 // appends
	journals := make([]journal, len(contenders))
	for i, c := range contenders {
		var err error
		if journals[i], err = c.open(filepath.Join(dir, c.impl)); err != nil {
			return nil, err
		}
	}
	took := make([]time.Duration, len(journals))
	latencies := make([][]time.Duration, len(journals))
	entry := newEntry()
	turns := s.Size(r.appends, 5*turn) / turn
	warmUp := turns / 20
	for n := range warmUp + turns {
		for k := range journals {
			i := (n + k) % len(journals) // each is behind each other once
			start := time.Now()
			before := start
			for range turn {
				if err := journals[i].append(entry); err != nil {
					return nil, err
				}
				now := time.Now()
				if n >= warmUp {
					latencies[i] = append(latencies[i], now.Sub(before))
				}
				before = now
			}
			if n >= warmUp {
				took[i] += before.Sub(start)
			}
		}
	}
	samples := make([]harness.Sample, len(journals))
	for i, j := range journals {
		if err := j.close(); err != nil {
			return nil, err
		}
		samples[i] = harness.Sample{"ns/op": float64(took[i].Nanoseconds()) / float64(turns*turn)}
		addPercentiles(samples[i], latencies[i])
	}
	return samples, nil
}

// oneWriter appends one entry at a time, synced.
func oneWriter(s *harness.Session) harness.Benchmark {
	r := journalRun{writers: 1, appends: 1500}
	return harness.Benchmark{
		Name: "WAL/sync=each/writers=1",
		Variants: r.inTurn(s,
			contender{"floor", openFloor}, contender{"culvert", openCulvert},
			contender{"pebble", openPebble}, contender{"tidwall", openTidwall},
		),
		Goals: []harness.Goal{
			{Variant: "impl=culvert", Peer: "impl=floor", Unit: "ns/op", Max: 1 / 0.95},
			{Variant: "impl=culvert", Peer: "impl=pebble", Unit: "ns/op", Max: 1},
			{Variant: "impl=culvert", Peer: "impl=tidwall", Unit: "ns/op", Max: 1},
		},
	}
}

// manyWriters appends one entry at a time from each of many goroutines, synced.
func manyWriters(s *harness.Session, writers int) harness.Benchmark {
	r := journalRun{writers: writers, appends: 2000 * writers}
	return harness.Benchmark{
		Name: fmt.Sprintf("WAL/sync=each/writers=%d", writers),
		Variants: []harness.Variant{
			r.variant(s, "culvert", openCulvert), r.variant(s, "pebble", openPebble),
		},
		Goals: []harness.Goal{
			{Variant: "impl=culvert", Peer: "impl=pebble", Unit: "ns/op", Max: 1 / 1.5},
			{Variant: "impl=culvert", Peer: "impl=pebble", Unit: "p99-ns", Max: 1},
		},
	}
}
