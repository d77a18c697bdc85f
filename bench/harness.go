package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"runtime"
	"slices"
	"strings"
	"time"
)

// benchmark compares variants of the same work.
type benchmark struct {
	name     string // as Go writes it, without "Benchmark": "Age/op=encrypt"
	rounds   int    // 0 for those of the workload; no warm-up round before a single one
	rotate   bool   // each round begins with the next variant, so that each takes each position
	variants []variant
	goals    []goal
}

// variant is one way to do the work.
type variant struct {
	key string // "impl=age"
	run func() (sample, error)
}

// sample is the result of one run of a variant: values by unit, including "ns/op".
type sample map[string]float64

// results are the samples of each variant of a benchmark by its key, in the order of the rounds.
type results map[string][]sample

// session is the run of one workload.
type session struct {
	ctx      context.Context
	stdout   io.Writer
	quick    bool
	dir      string // for files, removed at the end
	cleanups []func() error

	paths int // number of network paths that were made
}

func newSession(ctx context.Context, stdout io.Writer, quick bool, parent string) (*session, error) {
	dir, err := os.MkdirTemp(parent, "culvert-bench-")
	if err != nil {
		return nil, err
	}
	s := &session{ctx: ctx, stdout: stdout, quick: quick, dir: dir}
	s.cleanup(func() error { return os.RemoveAll(dir) })
	return s, nil
}

// cleanup calls f when the session ends, last in, first out.
func (s *session) cleanup(f func() error) { s.cleanups = append(s.cleanups, f) }

func (s *session) close() error {
	var errs []error
	for _, f := range slices.Backward(s.cleanups) {
		errs = append(errs, f())
	}
	return errors.Join(errs...)
}

func (s *session) say(format string, args ...any) { say(s.stdout, format, args...) }

// say reports progress, on a line that readers of the samples skip.
func say(w io.Writer, format string, args ...any) {
	_, _ = fmt.Fprintf(w, "# "+format+"\n", args...) // no reason to stop measuring
}

// size returns the size of an input: full, or small in a quick session.
func (s *session) size(full, small int) int {
	if s.quick {
		return small
	}
	return full
}

// measure runs the variants in turn and writes their samples to raw, except those of a first round, which warms up.
func measure(s *session, b benchmark, rounds int, raw io.Writer) (results, error) {
	s.say("%s: %d variants in turn, %d rounds", b.name, len(b.variants), rounds)
	warmUp := 1
	if rounds == 1 {
		warmUp = 0
	}
	all := results{}
	start := time.Now()
	for round := range warmUp + rounds {
		if took := time.Since(start); round == 1 && took > time.Second {
			left := took * time.Duration(warmUp+rounds-round)
			s.say("a round takes %v, %v to go", took.Round(time.Second/10), left.Round(time.Second))
		}
		for i := range b.variants {
			if b.rotate {
				i = (i + round) % len(b.variants)
			}
			v := b.variants[i]
			if err := s.ctx.Err(); err != nil {
				return nil, err
			}
			// Each variant starts without the garbage of the previous one.
			runtime.GC()
			got, err := v.run()
			if err != nil {
				return nil, fmt.Errorf("%s/%s: %w", b.name, v.key, err)
			}
			if round < warmUp {
				continue
			}
			all[v.key] = append(all[v.key], got)
			if _, err := fmt.Fprintf(raw, "Benchmark%s/%s 1 %s\n", b.name, v.key, got); err != nil {
				return nil, err
			}
		}
	}
	return all, nil
}

// String returns the values of a benchmark line, time first.
func (s sample) String() string {
	fields := []string{fmt.Sprintf("%.6g ns/op", s["ns/op"])}
	for _, unit := range slices.Sorted(maps.Keys(s)) {
		if unit != "ns/op" {
			fields = append(fields, fmt.Sprintf("%.6g %s", s[unit], unit))
		}
	}
	return strings.Join(fields, " ")
}

// repeated returns the time and the allocations of one of n runs of work. Allocations are those of the whole program.
func repeated(n int, work func() error) (sample, error) {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	start := time.Now()
	for range n {
		if err := work(); err != nil {
			return nil, err
		}
	}
	elapsed := time.Since(start)
	runtime.ReadMemStats(&after)
	return sample{
		"ns/op":     float64(elapsed.Nanoseconds()) / float64(n),
		"B/op":      float64(after.TotalAlloc-before.TotalAlloc) / float64(n),
		"allocs/op": float64(after.Mallocs-before.Mallocs) / float64(n),
	}, nil
}

// timed returns the time since start and the speed of work on the given number of bytes.
func timed(start time.Time, bytes int64) sample {
	elapsed := time.Since(start)
	return sample{"ns/op": float64(elapsed.Nanoseconds()), "MB/s": float64(bytes) / 1e6 / elapsed.Seconds()}
}
