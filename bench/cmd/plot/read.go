package main

import (
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"strconv"
	"strings"

	"golang.org/x/perf/benchfmt"
)

// recording is what a file of results holds, or some of it.
type recording struct {
	facts   map[string]string // "cores": "4"
	samples []sample          // in the order in which they were taken
}

// sample is one line of a recording: "BenchmarkAge/op=encrypt/impl=age 1 1.4e+08 ns/op 1900 MB/s".
type sample struct {
	name   string             // "Age"
	keys   map[string]string  // "op": "encrypt"
	values map[string]float64 // "ns/op": 1.4e+08
}

// readRecording reads a file in the format of Go's benchmarks. A file that does not exist has no samples.
func readRecording(name string) (*recording, error) {
	r := &recording{facts: map[string]string{}}
	file, err := os.Open(name)
	if errors.Is(err, fs.ErrNotExist) {
		return r, nil
	}
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }()
	lines := benchfmt.NewReader(file, name)
	for lines.Scan() {
		switch line := lines.Result().(type) {
		case *benchfmt.SyntaxError:
			return nil, line
		case *benchfmt.Result:
			for _, c := range line.Config {
				r.facts[c.Key] = string(c.Value)
			}
			r.samples = append(r.samples, sampleOf(line))
		}
	}
	return r, lines.Err()
}

// host returns the name of the machine without its number of cores, which some recordings have behind it.
func (r *recording) host() string { return strings.TrimSuffix(r.facts["host"], "-"+r.facts["cores"]) }

func sampleOf(line *benchfmt.Result) sample {
	base, parts := line.Name.Parts()
	s := sample{name: string(base), keys: map[string]string{}, values: map[string]float64{}}
	for _, part := range parts {
		key, value, _ := strings.Cut(strings.TrimPrefix(string(part), "/"), "=")
		s.keys[key] = value
	}
	for _, v := range line.Values {
		if v.OrigUnit == "" {
			s.values[v.Unit] = v.Value
		} else { // the reader gives seconds for nanoseconds
			s.values[v.OrigUnit] = v.OrigValue
		}
	}
	return s
}

// filter returns the samples for which keep is true.
func (r *recording) filter(keep func(sample) bool) *recording {
	some := &recording{facts: r.facts}
	for _, s := range r.samples {
		if keep(s) {
			some.samples = append(some.samples, s)
		}
	}
	return some
}

// where returns the samples whose names have these keys and values, given in turn.
func (r *recording) where(pairs ...string) *recording {
	return r.filter(func(s sample) bool {
		for i := 0; i < len(pairs); i += 2 {
			if s.keys[pairs[i]] != pairs[i+1] {
				return false
			}
		}
		return true
	})
}

// values gives all that was measured in a unit. To what is allocated, an average over many runs, the rest of the
// program adds a trace; rounded to a hundredth, nothing is nothing.
func (r *recording) values(unit string) []float64 {
	var values []float64
	for _, s := range r.samples {
		if v, ok := s.values[unit]; ok {
			if unit == "B/op" || unit == "allocs/op" {
				v = math.Round(v*100) / 100
			}
			values = append(values, v)
		}
	}
	return values
}

// rounds gives how often each variant was measured, if each was as often: "10", or else "5 to 10".
func (r *recording) rounds() string {
	counts := map[string]int{}
	for _, s := range r.samples {
		counts[fmt.Sprint(s.name, s.keys)]++
	}
	least, most := len(r.samples), 0
	for _, n := range counts {
		least, most = min(least, n), max(most, n)
	}
	if least == most {
		return strconv.Itoa(most)
	}
	return fmt.Sprintf("%d to %d", least, most)
}
