package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// processors are the values of GOMAXPROCS, which take turns.
var processors = []int{1, 2, 8}

// trial is one run of the tests of a package.
type trial struct {
	binary, pkg, dir string
	pass             string
	environment      []string
}

// flaky runs the tests of packages many times in random order, plainly and with the race detector, while as many
// goroutines as there are cores do nothing but compute. It lists the tests that failed, and how often.
func flaky(ctx context.Context, r *report, rounds int, patterns []string) (err error) {
	r.environment = append(r.environment, "CULVERT_TEST_ALL=1")
	packages, err := packagesWithTests(ctx, patterns)
	if err != nil {
		return err
	}
	directory, err := os.MkdirTemp("", "culvert-flaky-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(directory)) }()
	binaries, err := buildTests(ctx, r, directory, packages)
	if err != nil {
		return err
	}
	defer keepBusy()()

	trials := make(chan trial)
	var running sync.WaitGroup
	for range runtime.NumCPU() {
		running.Go(func() {
			for t := range trials {
				r.try(ctx, t)
			}
		})
	}
	for round := range rounds {
		limit := fmt.Sprint("GOMAXPROCS=", processors[round%len(processors)])
		_, _ = fmt.Fprintf(os.Stdout, "\n== round %d of %d, with %s\n", round+1, rounds, limit)
		for _, b := range binaries {
			b.pass = fmt.Sprintf("%s %d", b.pass, round+1)
			b.environment = append(slices.Clone(b.environment), limit)
			select {
			case trials <- b:
			case <-ctx.Done():
			}
		}
	}
	close(trials)
	running.Wait()
	r.countFailures(rounds)
	return nil
}

// buildTests builds the test binaries of packages, plainly and with the race detector.
func buildTests(ctx context.Context, r *report, directory string, packages map[string]string) ([]trial, error) {
	var binaries []trial
	for _, kind := range []struct {
		name        string
		flags       []string
		environment []string
	}{{"plain", []string{"-vet=off"}, nil}, {"race", raceFlags(), raceEnvironment}} {
		for _, path := range slices.Sorted(maps.Keys(packages)) {
			binary := filepath.Join(directory, kind.name+"-"+strings.ReplaceAll(path, "/", "-")+".test")
			args := append([]string{"test", "-c", "-o", binary}, kind.flags...)
			build := exec.CommandContext(ctx, "go", append(args, path)...)
			if output, err := build.CombinedOutput(); err != nil {
				return nil, fmt.Errorf("building the tests of %s: %w\n%s", path, err, output)
			}
			binaries = append(binaries, trial{
				binary: binary, pkg: path, dir: packages[path], pass: kind.name,
				environment: append(slices.Clone(r.environment), kind.environment...),
			})
		}
	}
	return binaries, nil
}

// try runs the tests of a package once.
func (r *report) try(ctx context.Context, t trial) {
	if ctx.Err() != nil {
		return
	}
	args := []string{
		"tool", "test2json", "-t", "-p", t.pkg, t.binary, "-test.v=test2json", "-test.shuffle=on",
		"-test.timeout=" + patience, "-test.parallel=6", "-test.paniconexit0",
	}
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir, cmd.Env = t.dir, t.environment
	output, err := cmd.Output()
	r.mu.Lock()
	defer r.mu.Unlock()
	if ctx.Err() != nil {
		return
	}
	for line := range bytes.Lines(output) {
		if taken := r.takeLine(t.pass, line); taken != nil {
			err = taken
		}
	}
	if err != nil && !r.failedIn(t.pass) {
		r.add(failedTest{pass: t.pass, pkg: t.pkg, name: "the package", lines: []string{err.Error()}})
	}
}

// keepBusy keeps all cores busy until the function that it returns is called.
func keepBusy() (stop func()) {
	done := make(chan struct{})
	for range runtime.NumCPU() {
		go func() {
			for n := 0; ; n++ {
				if n&(1<<20-1) == 0 {
					select {
					case <-done:
						return
					default:
					}
				}
			}
		}()
	}
	return func() { close(done) }
}

// countFailures makes one failure of those of the same test.
func (r *report) countFailures(rounds int) {
	counts := map[string]int{}
	var first []failedTest
	for _, f := range r.failures {
		key := f.pkg + " " + f.name
		if counts[key]++; counts[key] == 1 {
			first = append(first, f)
		}
	}
	for i, f := range first {
		first[i].name += ", " + strconv.Itoa(counts[f.pkg+" "+f.name]) + " times in " + strconv.Itoa(rounds) + " rounds"
	}
	r.failures = first
}
