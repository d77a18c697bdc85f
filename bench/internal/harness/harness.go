// Package harness runs benchmarks whose variants take turns. It starts processes and a database, makes rows, checks
// goals and describes the machine.
package harness

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"
)

// Benchmark compares variants of the same work.
type Benchmark struct {
	Name     string // as Go writes it, without "Benchmark": "Age/op=encrypt"
	Rounds   int    // 0 means the rounds of the workload; a single round has no warm-up
	Rotate   bool   // each round begins with the next variant, so that each takes each position
	Variants []Variant
	Goals    []Goal
}

// Variant is one way to do the work.
type Variant struct {
	Key string // "impl=age"
	Run func() (Sample, error)
}

// Sample is the result of one run of a variant: values by unit, including "ns/op".
type Sample map[string]float64

// Results are the samples of each variant of a benchmark by its key, in the order of the rounds.
type Results map[string][]Sample

// Session is the run of one workload.
type Session struct {
	Ctx      context.Context
	stdout   io.Writer
	quick    bool
	Dir      string         // for files, removed at the end
	Only     *regexp.Regexp // of the names of benchmarks that are wanted, or nil for all
	cleanups []func() error

	Paths int // number of network paths that were made
}

// NewSession begins the run of a workload. Its files are in a new directory below parent.
func NewSession(ctx context.Context, stdout io.Writer, quick bool, parent string) (*Session, error) {
	dir, err := os.MkdirTemp(parent, "culvert-bench-")
	if err != nil {
		return nil, err
	}
	s := &Session{Ctx: ctx, stdout: stdout, quick: quick, Dir: dir}
	s.Cleanup(func() error { return os.RemoveAll(dir) })
	return s, nil
}

// Wants reports whether the benchmark of a name is to be run, so that others need not be prepared.
func (s *Session) Wants(name string) bool { return s.Only == nil || s.Only.MatchString(name) }

// Cleanup calls f when the session ends, last in, first out.
func (s *Session) Cleanup(f func() error) { s.cleanups = append(s.cleanups, f) }

// Close calls what was given to Cleanup.
func (s *Session) Close() error {
	var errs []error
	for _, f := range slices.Backward(s.cleanups) {
		errs = append(errs, f())
	}
	return errors.Join(errs...)
}

// Say reports progress.
func (s *Session) Say(format string, args ...any) { Say(s.stdout, format, args...) }

// Say reports progress, on a line that readers of the samples skip.
func Say(w io.Writer, format string, args ...any) {
	_, _ = fmt.Fprintf(w, "# "+format+"\n", args...) // no reason to stop measuring
}

// Size returns the size of an input: full, or small in a quick session.
func (s *Session) Size(full, small int) int {
	if s.quick {
		return small
	}
	return full
}

// Measure runs the variants in turn and writes their samples to raw. The first round warms up and is not written.
func Measure(s *Session, b Benchmark, rounds int, raw io.Writer) (Results, error) {
	s.Say("%s: %d variants in turn, %d rounds", b.Name, len(b.Variants), rounds)
	warmUp := 1
	if rounds == 1 {
		warmUp = 0
	}
	all := Results{}
	start := time.Now()
	for round := range warmUp + rounds {
		if took := time.Since(start); round == 1 && took > time.Second {
			left := took * time.Duration(warmUp+rounds-round)
			s.Say("a round takes %v, %v to go", took.Round(time.Second/10), left.Round(time.Second))
		}
		for i := range b.Variants {
			if b.Rotate {
				i = (i + round) % len(b.Variants)
			}
			v := b.Variants[i]
			if err := s.Ctx.Err(); err != nil {
				return nil, err
			}
			// Each variant starts without the garbage of the previous one.
			runtime.GC()
			got, err := v.Run()
			if err != nil {
				return nil, fmt.Errorf("%s/%s: %w", b.Name, v.Key, err)
			}
			if round < warmUp {
				continue
			}
			all[v.Key] = append(all[v.Key], got)
			if _, err := fmt.Fprintf(raw, "Benchmark%s/%s 1 %s\n", b.Name, v.Key, got); err != nil {
				return nil, err
			}
		}
	}
	return all, nil
}

// String returns the values of a benchmark line, time first.
func (s Sample) String() string {
	fields := []string{fmt.Sprintf("%.6g ns/op", s["ns/op"])}
	for _, unit := range slices.Sorted(maps.Keys(s)) {
		if unit != "ns/op" {
			fields = append(fields, fmt.Sprintf("%.6g %s", s[unit], unit))
		}
	}
	return strings.Join(fields, " ")
}

// Repeated returns the time and the allocations of one of n runs of work. Allocations are those of the whole program.
func Repeated(n int, work func() error) (Sample, error) {
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
	return Sample{
		"ns/op":     float64(elapsed.Nanoseconds()) / float64(n),
		"B/op":      float64(after.TotalAlloc-before.TotalAlloc) / float64(n),
		"allocs/op": float64(after.Mallocs-before.Mallocs) / float64(n),
	}, nil
}

// SetSpeed gives a sample the speed of moving so many bytes in its time.
func (s Sample) SetSpeed(bytes int64) { s["MB/s"] = float64(bytes) / 1e6 / (s["ns/op"] / 1e9) }

// Steady returns the mean of four runs, after an uncounted one that wakes the cores.
func Steady(run func() (Sample, error)) (Sample, error) {
	const counted = 4
	mean := Sample{}
	for i := range 1 + counted {
		got, err := run()
		if err != nil {
			return nil, err
		}
		for unit, value := range got {
			if i > 0 {
				mean[unit] += value / counted
			}
		}
	}
	return mean, nil
}

// CPUTime is what this program has used, in the kernel too.
func CPUTime() time.Duration {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		return 0
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}
