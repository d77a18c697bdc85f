package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"sync"
)

// longest are the packages whose tests take longest. They begin first: none of these should be left for the end, when
// nothing runs beside it.
var longest = []string{
	program, "./load", "./postgres/internal/read", "./postgres/internal/fill", "./export", "./fusefs", "./place/bucket",
	"./workers", "./mysql/internal/read", "./workers/internal/queue", "./fileservice/transfer",
}

// program is the command line, which comes first of all.
const program = "./cmd/culvert"

// parallel is how many tests of a package run at a time. Many wait: for a server, a disk, or a time limit.
const parallel = "-parallel=6"

// packagesAtOnce returns the flag for how many packages are built and tested at a time: more than there are cores,
// since packages wait for servers, disks and time limits.
func packagesAtOnce() string { return fmt.Sprint("-p=", runtime.NumCPU()+2) }

// unneeded leaves out what tests do not need: the tables for debuggers, which are a quarter of the work of the linker,
// and vet, which is a part of ./dev lint.
var unneeded = []string{"-vet=off", "-ldflags=-w"}

// laterTests are tests that take long and that few changes can break, under the race detector or not. Slices of the
// long forms have them: coordinators, log-mutants and memory.
const laterTests = "^Test(CoordinatorIsKilled|Mutants|LoadMemory|LoadMemoryOfLargeRows|MemoryOfLargeRowsOfSQLite)$"

// test runs the tests of some packages, plainly and with the race detector. Without packages, it runs the tests of all,
// and with the race detector those whose turn it is today.
func test(ctx context.Context, r *report, packages []string) error {
	r.environment = append(r.environment, "CULVERT_TEST_ALL=1")
	all := len(packages) == 0
	plain, race := packages, packages
	if all {
		plain = append(slices.Clone(longest), "./...")
		var err error
		if race, err = turnUnderRace(turnOf(today())); err != nil {
			return err
		}
	}
	flags := append(slices.Clone(unneeded), parallel, packagesAtOnce())
	if all {
		flags = append(flags, "-skip", laterTests)
	}
	passes := []pass{{name: "plain", dir: ".", flags: flags, packages: plain}}
	if all {
		passes = append(passes, beside...)
	}
	if err := r.atOnce(ctx, passes); err != nil || ctx.Err() != nil {
		return err
	}
	flags = append(raceFlags(), parallel, packagesAtOnce(), "-shuffle=on")
	if all {
		flags = append(flags, "-skip", laterUnderRace())
	}
	return r.goTest(ctx, pass{name: "race", dir: ".", flags: flags, packages: race, env: raceEnvironment})
}

// beside are passes of a few packages each. Alone, such a pass leaves processors idle, so they run together.
var beside = []pass{
	{name: "without unsafe", dir: ".", flags: []string{"-tags=purego"}, packages: []string{"./bytebuf"}},
	{
		name: "checks of bytebuf", dir: ".", flags: []string{"-tags=bytebufdebug"},
		packages: []string{"./bytebuf", "./agefile"},
	},
	{
		name: "bench", dir: "bench", packages: []string{"./..."},
		env: []string{fmt.Sprint("CULVERT_TEST_TURN=", today())},
	},
}

// atOnce runs passes at the same time.
func (r *report) atOnce(ctx context.Context, passes []pass) error {
	failures := make([]error, len(passes))
	var running sync.WaitGroup
	for i, p := range passes {
		running.Go(func() { failures[i] = r.goTest(ctx, p) })
	}
	running.Wait()
	return errors.Join(failures...)
}

// packagesWithTests returns the directories of the packages with tests, and their import paths.
func packagesWithTests(ctx context.Context, patterns []string) (map[string]string, error) {
	if len(patterns) == 0 {
		patterns = []string{"./..."}
	}
	const format = "{{if or .TestGoFiles .XTestGoFiles}}{{.ImportPath}} {{.Dir}}{{end}}"
	list := exec.CommandContext(ctx, "go", append([]string{"list", "-f", format}, patterns...)...)
	list.Stderr = os.Stderr
	output, err := list.Output()
	if err != nil {
		return nil, fmt.Errorf("go list: %w", err)
	}
	found := map[string]string{}
	for line := range bytes.Lines(output) {
		if path, dir, ok := strings.Cut(strings.TrimSpace(string(line)), " "); ok {
			found[path] = dir
		}
	}
	return found, nil
}
