package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"culvert/internal/disk"
	"culvert/wal"
)

// prepareWAL compares package wal with the logs that Go programs use today, on entries of 128 bytes: synced by one
// writer, by many and in batches; handed to the system without a sync; encrypted or not; and opened. The floor is a
// loop that writes the same bytes into a file of zeros and syncs them, below which no log can be on that disk. The
// directory is that of the flag -dir: the file system is half of the result.
func prepareWAL(s *session) ([]benchmark, error) {
	benchmarks := []benchmark{oneWriter(s)}
	for _, writers := range []int{16, 64} {
		benchmarks = append(benchmarks, manyWriters(s, writers))
	}
	benchmarks = append(benchmarks, batches(s), unsynced(s), asynchronous(s))
	benchmarks = append(benchmarks, encrypted(s)...)
	benchmarks = append(benchmarks, opening(s)...)
	return append(benchmarks, study(s)...), nil
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

// batchOf gives so many entries.
func batchOf(n int) [][]byte {
	entries := make([][]byte, n)
	for i := range entries {
		entries[i] = make([]byte, entrySize)
		for j := range entries[i] {
			entries[i][j] = byte(i + j*7)
		}
	}
	return entries
}

// journalRun measures appends of groups by so many writers at once.
type journalRun struct {
	writers int
	group   int
	appends int // of all writers together
}

// variant opens a journal, appends to it and removes it. The time of an operation is that of one entry; latencies are
// those of an append.
func (r journalRun) variant(s *session, impl string, open opener) variant {
	return variant{"impl=" + impl, func() (got sample, err error) {
		dir := filepath.Join(s.dir, impl)
		j, err := open(dir)
		if err != nil {
			return nil, err
		}
		got, err = r.measure(s, j)
		return got, firstOf(err, j.close(), os.RemoveAll(dir))
	}}
}

func firstOf(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

func (r journalRun) measure(s *session, j journal) (sample, error) {
	each := max(1, s.size(r.appends, 50*r.writers)/r.writers)
	latencies := make([][]time.Duration, r.writers)
	failures := make([]error, r.writers)
	for w := range latencies {
		latencies[w] = make([]time.Duration, 0, each)
	}
	entries := batchOf(r.group)
	for range each / 20 {
		if err := j.append(entries); err != nil {
			return nil, err
		}
	}
	got, err := repeated(1, func() error {
		var all sync.WaitGroup
		for w := range r.writers {
			all.Go(func() {
				before := time.Now()
				for range each {
					if failures[w] = j.append(entries); failures[w] != nil {
						return
					}
					now := time.Now()
					latencies[w] = append(latencies[w], now.Sub(before))
					before = now
				}
			})
		}
		all.Wait()
		return firstOf(failures...)
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

// percentiles are those of the box plots of the study, and of the tail.
var percentiles = []struct {
	unit string
	part float64
}{
	{"p5-ns", 0.05},
	{"p25-ns", 0.25},
	{"p50-ns", 0.5},
	{"p75-ns", 0.75},
	{"p90-ns", 0.9},
	{"p95-ns", 0.95},
	{"p99-ns", 0.99},
	{"p999-ns", 0.999},
	{"max-ns", 1},
}

func addPercentiles(s sample, latencies []time.Duration) {
	slices.Sort(latencies)
	for _, p := range percentiles {
		at := min(len(latencies)-1, int(p.part*float64(len(latencies))))
		s[p.unit] = float64(latencies[at].Nanoseconds())
	}
}

// oneWriter appends one entry at a time, synced.
func oneWriter(s *session) benchmark {
	r := journalRun{writers: 1, group: 1, appends: 1500}
	return benchmark{
		name: "WAL/sync=each/writers=1",
		variants: []variant{
			r.variant(s, "floor", openFloor), r.variant(s, "culvert", openCulvert(wal.Options{})),
			r.variant(s, "pebble", openPebble(true)), r.variant(s, "tidwall", openTidwall(true)),
		},
		goals: []goal{
			{variant: "impl=culvert", peer: "impl=floor", unit: "ns/op", max: 1 / 0.95},
			{variant: "impl=culvert", peer: "impl=pebble", unit: "ns/op", max: 1},
			{variant: "impl=culvert", peer: "impl=tidwall", unit: "ns/op", max: 1},
		},
	}
}

// manyWriters appends one entry at a time from each of many goroutines, synced.
func manyWriters(s *session, writers int) benchmark {
	r := journalRun{writers: writers, group: 1, appends: 400 * writers}
	return benchmark{
		name: fmt.Sprintf("WAL/sync=each/writers=%d", writers),
		variants: []variant{
			r.variant(s, "culvert", openCulvert(wal.Options{})), r.variant(s, "pebble", openPebble(true)),
		},
		goals: []goal{
			{variant: "impl=culvert", peer: "impl=pebble", unit: "ns/op", max: 1 / 1.5},
			{variant: "impl=culvert", peer: "impl=pebble", unit: "p99-ns", max: 1},
		},
	}
}

// batches appends a hundred entries at a time, synced.
func batches(s *session) benchmark {
	r := journalRun{writers: 1, group: 100, appends: 800}
	return benchmark{
		name: "WAL/sync=each/writers=1/group=100",
		variants: []variant{
			r.variant(s, "culvert", openCulvert(wal.Options{})), r.variant(s, "etcd", openEtcd),
			r.variant(s, "tidwall", openTidwall(true)),
		},
		goals: []goal{
			{variant: "impl=culvert", peer: "impl=etcd", unit: "ns/op", max: 1 / 1.5},
			{variant: "impl=culvert", peer: "impl=tidwall", unit: "ns/op", max: 1 / 1.5},
		},
	}
}

// unsynced appends one entry at a time, and leaves it to the system.
func unsynced(s *session) benchmark {
	r := journalRun{writers: 1, group: 1, appends: 100_000}
	return benchmark{
		name: "WAL/sync=none/writers=1",
		variants: []variant{
			r.variant(s, "culvert", openCulvert(wal.Options{Sync: wal.None})),
			r.variant(s, "tidwall", openTidwall(false)),
		},
		goals: []goal{
			{variant: "impl=culvert", peer: "impl=tidwall", unit: "ns/op", max: 0.5},
			{variant: "impl=culvert", unit: "allocs/op", max: 0.01},
		},
	}
}

// asynchronous appends one entry at a time and does not wait at all.
func asynchronous(s *session) benchmark {
	const appends = 300_000
	entries := batchOf(1)
	loop := func(impl string, open opener) variant {
		return variant{"impl=" + impl, func() (sample, error) {
			dir := filepath.Join(s.dir, impl)
			j, err := open(dir)
			if err != nil {
				return nil, err
			}
			got, err := repeated(s.size(appends, 1000), func() error { return j.append(entries) })
			return got, firstOf(err, j.close(), os.RemoveAll(dir))
		}}
	}
	return benchmark{
		name: "WAL/sync=async/writers=1",
		variants: []variant{
			loop("culvert", openCulvertAsync), loop("tidwall", openTidwall(false)),
		},
		goals: []goal{
			{variant: "impl=culvert", peer: "impl=tidwall", unit: "ns/op", max: 0.1},
			{variant: "impl=culvert", unit: "allocs/op", max: 0.01},
		},
	}
}

// encrypted compares the log with itself. Both logs are open at the same time and get entries in turn: what encryption
// costs is less than what two runs after each other differ by.
func encrypted(s *session) []benchmark {
	var benchmarks []benchmark
	for _, mode := range []struct {
		name    string
		sync    wal.SyncMode
		appends int
		slowest float64
	}{{"none", wal.None, 100_000, 1.25}, {"each", wal.Each, 1500, 1.05}} {
		var sealed sample
		measureBoth := func() (plain sample, err error) {
			plain, sealed, err = inTurn(s, mode.sync, s.size(mode.appends, 50))
			return plain, err
		}
		benchmarks = append(benchmarks, benchmark{
			name: "WALEncrypted/sync=" + mode.name,
			variants: []variant{
				{"impl=plain", measureBoth},
				{"impl=encrypted", func() (sample, error) { return sealed, nil }},
			},
			goals: []goal{{variant: "impl=encrypted", peer: "impl=plain", unit: "ns/op", max: mode.slowest}},
		})
	}
	return benchmarks
}

// inTurn appends to a plain log and to an encrypted one, ten entries to each in turn.
func inTurn(s *session, mode wal.SyncMode, appends int) (plain, sealed sample, err error) {
	const run = 10
	var journals [2]journal
	var took [2]time.Duration
	var latencies [2][]time.Duration
	dir := filepath.Join(s.dir, "pair")
	if err := os.Mkdir(dir, 0o700); err != nil {
		return nil, nil, err
	}
	for i, key := range [][]byte{nil, make([]byte, 32)} {
		name := filepath.Join(dir, fmt.Sprint(i))
		if journals[i], err = openCulvert(wal.Options{Sync: mode, Key: key})(name); err != nil {
			return nil, nil, err
		}
	}
	entries := batchOf(1)
	for n := range 2 * appends / run {
		i := n % 2
		before := time.Now()
		for range run {
			if err := journals[i].append(entries); err != nil {
				return nil, nil, err
			}
		}
		latency := time.Since(before)
		took[i] += latency
		latencies[i] = append(latencies[i], latency/run)
	}
	samples := [2]sample{{}, {}}
	for i, got := range samples {
		got["ns/op"] = float64(took[i].Nanoseconds()) / float64(len(latencies[i])*run)
		addPercentiles(got, latencies[i])
	}
	return samples[0], samples[1], firstOf(journals[0].close(), journals[1].close(), os.RemoveAll(dir))
}

// opening opens a log of 1 GiB that was closed, and one that was not, of which a segment is to be read.
func opening(s *session) []benchmark {
	const segment = 64 << 20
	open := func(size int, clean bool) variant {
		return variant{"impl=culvert", func() (sample, error) {
			dir := filepath.Join(s.dir, "open")
			if err := fillLog(dir, size, clean); err != nil {
				return nil, err
			}
			start := time.Now()
			log, recovery, err := wal.Open(dir, wal.Options{})
			if err != nil {
				return nil, err
			}
			got := timed(start, segment-segment/8)
			if clean {
				delete(got, "MB/s")
			}
			if recovery.Clean != clean {
				return nil, fmt.Errorf("the log is %+v", recovery)
			}
			return got, firstOf(log.Close(), os.RemoveAll(dir))
		}}
	}
	return []benchmark{
		{
			name: "WALOpen/size=1GiB/closed=yes", rounds: 3,
			variants: []variant{open(s.size(1<<30, segment), true)},
			goals:    []goal{{variant: "impl=culvert", unit: "ns/op", max: 10e6}},
		},
		{
			name: "WALOpen/size=1GiB/closed=no", rounds: 3,
			variants: []variant{open(s.size(1<<30, segment)-segment/8, false)},
			goals:    []goal{{variant: "impl=culvert", unit: "MB/s", min: 1000}},
		},
	}
}

// fillLog writes a log of about that size. One that is not to be closed is left as a copy of it, without its end, taken
// while it is open: so a process leaves it that is killed.
func fillLog(dir string, size int, clean bool) error {
	source := dir
	if !clean {
		source += ".source"
	}
	log, _, err := wal.Open(source, wal.Options{Sync: wal.None})
	if err != nil {
		return err
	}
	ctx := context.Background()
	entries := batchOf(1000)
	for written := 0; written < size; written += 1000 * (entrySize + 32) {
		if _, err := log.Append(ctx, entries...); err != nil {
			return err
		}
	}
	if err := log.Sync(ctx); err != nil {
		return err
	}
	if _, err := log.Append(ctx, entries[0]); err != nil { // proves that the others are durable
		return err
	}
	if clean {
		return log.Close()
	}
	return firstOf(os.CopyFS(dir, os.DirFS(source)), syncAll(dir), log.Close(), os.RemoveAll(source))
}

// syncAll syncs the files in a directory, so that they are not written while something is measured.
func syncAll(dir string) error {
	names, err := filepath.Glob(filepath.Join(dir, "*"))
	for _, name := range names {
		file, opening := disk.OS{}.Open(name, true)
		if opening != nil {
			return opening
		}
		err = firstOf(err, file.Sync(), file.Close())
	}
	return err
}
