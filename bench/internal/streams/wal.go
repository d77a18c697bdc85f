package streams

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"culvert/bench/internal/harness"
	"culvert/wal"
)

// PrepareWAL compares package wal with the logs that Go programs use today, with entries of 128 bytes: synced, by one
// writer and by several, and not synced. The floor, which no log can beat on the same disk, is a loop that writes the
// same bytes into a file of zeros and syncs them. The flag -dir sets the directory, since the result depends as much on
// the file system.
func PrepareWAL(s *harness.Session) ([]harness.Benchmark, error) {
	logs := []harness.Benchmark{oneWriter(s), manyWriters(s, 16), manyWriters(s, 64), unsynced(s)}
	return append(logs, study(s)...), nil
}

// entrySize is the payload of the study and of the peers' own benchmarks.
const entrySize = 128

// journal is a log that is measured.
type journal interface {
	// append adds a group of entries, and returns when they are as safe as the journal was opened for.
	append(entries [][]byte) error
	close() error
}

// opener makes a journal in a directory that does not exist.
type opener func(dir string) (journal, error)

// newEntries returns so many entries.
func newEntries(n int) [][]byte {
	entries := make([][]byte, n)
	for i := range entries {
		entries[i] = make([]byte, entrySize)
		for j := range entries[i] {
			entries[i][j] = byte(i + j*7)
		}
	}
	return entries
}

// journalRun measures appends of groups by so many writers at once. The time of an operation is that of one entry;
// latencies are those of an append.
type journalRun struct {
	writers int
	group   int
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
	entries := newEntries(r.group)
	if _, err := appendTo(j, entries, each/20); err != nil {
		return nil, err
	}
	got, err := harness.Repeated(1, func() error {
		var all errgroup.Group
		for w := range r.writers {
			all.Go(func() (err error) {
				latencies[w], err = appendTo(j, entries, each)
				return err
			})
		}
		return all.Wait()
	})
	if err != nil {
		return nil, err
	}
	for unit := range got {
		got[unit] /= float64(each * r.writers * r.group)
	}
	addPercentiles(got, slices.Concat(latencies...))
	return got, nil
}

// appendTo appends a group of entries n times, and returns how long each append took.
func appendTo(j journal, entries [][]byte, n int) ([]time.Duration, error) {
	latencies := make([]time.Duration, 0, n)
	before := time.Now()
	for range n {
		if err := j.append(entries); err != nil {
			return nil, err
		}
		now := time.Now()
		latencies = append(latencies, now.Sub(before))
		before = now
	}
	return latencies, nil
}

// percentiles are those of the study, and of the tail.
var percentiles = []struct {
	unit string
	part float64
}{
	{"p5-ns", 0.05},
	{"p25-ns", 0.25},
	{"p50-ns", 0.5},
	{"p75-ns", 0.75},
	{"p95-ns", 0.95},
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
	latencies := make([][]time.Duration, len(journals))
	entries := newEntries(r.group)
	turns := s.Size(r.appends, 5*turn) / turn
	warmUp := turns / 20
	for n := range warmUp + turns {
		for k := range journals {
			i := (n + k) % len(journals) // each is behind each other once
			some, err := appendTo(journals[i], entries, turn)
			if err != nil {
				return nil, err
			}
			if n >= warmUp {
				latencies[i] = append(latencies[i], some...)
			}
		}
	}
	samples := make([]harness.Sample, len(journals))
	for i, j := range journals {
		if err := j.close(); err != nil {
			return nil, err
		}
		var took time.Duration
		for _, latency := range latencies[i] {
			took += latency
		}
		samples[i] = harness.Sample{"ns/op": float64(took.Nanoseconds()) / float64(turns*turn*r.group)}
		addPercentiles(samples[i], latencies[i])
	}
	return samples, nil
}

// oneWriter appends one entry at a time, synced.
func oneWriter(s *harness.Session) harness.Benchmark {
	r := journalRun{writers: 1, group: 1, appends: 1500}
	return harness.Benchmark{
		Name: "WAL/sync=each/writers=1",
		Variants: r.inTurn(s,
			contender{"floor", openFloor}, contender{"culvert", openCulvert(wal.Options{})},
			contender{"pebble", openPebble}, contender{"tidwall", openTidwall(true)},
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
	r := journalRun{writers: writers, group: 1, appends: 2000 * writers}
	return harness.Benchmark{
		Name: fmt.Sprintf("WAL/sync=each/writers=%d", writers),
		Variants: []harness.Variant{
			r.variant(s, "culvert", openCulvert(wal.Options{})), r.variant(s, "pebble", openPebble),
		},
		Goals: []harness.Goal{
			{Variant: "impl=culvert", Peer: "impl=pebble", Unit: "ns/op", Max: 1 / 1.5},
			{Variant: "impl=culvert", Peer: "impl=pebble", Unit: "p99-ns", Max: 1},
		},
	}
}

// unsynced appends one entry at a time, and leaves it to the system.
func unsynced(s *harness.Session) harness.Benchmark {
	r := journalRun{writers: 1, group: 1, appends: 100_000}
	return harness.Benchmark{
		Name: "WAL/sync=none/writers=1",
		Variants: r.inTurn(s, contender{"culvert", openCulvert(wal.Options{Sync: wal.None})},
			contender{"tidwall", openTidwall(false)}),
		Goals: []harness.Goal{{Variant: "impl=culvert", Peer: "impl=tidwall", Unit: "ns/op", Max: 0.5}},
	}
}
