package main

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
	"time"
)

// report is what a run finds.
type report struct {
	directory   string   // of logs
	environment []string // of test binaries

	mu       sync.Mutex          // guards what follows, while passes run
	packages map[string]*result  // those that run, by pass and path
	built    map[string][]string // what the compiler says, by pass
	failures []failedTest
	used     []spent // by packages
	passes   []spent

	passed, skipped int
}

// failedTest is a test that failed, or a package outside its tests.
type failedTest struct {
	pass, pkg, name string
	lines           []string
	log             string
	seed            string // of the order of the tests, if that was random
}

// spent is the time of a package in a pass.
type spent struct {
	pass, pkg string
	usage
}

// add adds a failure, and prints it at once.
func (r *report) add(f failedTest) {
	r.failures = append(r.failures, f)
	lines := f.lines
	if more := len(lines) - mostLines; more > 0 { // the end says more than the middle
		left := fmt.Sprintf("… %d lines are in %s", more, f.log)
		lines = slices.Concat(lines[:mostLines/4], []string{left}, lines[len(lines)-mostLines*3/4:])
	}
	for _, line := range lines {
		_, _ = fmt.Fprintln(os.Stdout, "      "+line)
	}
}

// reason returns the line that says why the test failed: of a script, the one of the failed command.
func (f *failedTest) reason() string {
	for _, line := range f.lines {
		if trimmed := strings.TrimSpace(line); strings.HasPrefix(trimmed, "FAIL: ") {
			return trimmed
		}
	}
	if len(f.lines) == 0 {
		return ""
	}
	return strings.TrimSpace(f.lines[0])
}

func (r *report) failedIn(pass string) bool {
	return slices.ContainsFunc(r.failures, func(f failedTest) bool { return f.pass == pass })
}

// end prints the summary. It returns an error if a test has failed.
func (r *report) end() error {
	if len(r.used) > 0 {
		r.printSlowest()
	}
	for _, p := range r.passes {
		_, _ = fmt.Fprintf(os.Stdout, "%-60s %7.1f s, %7.1f s of processor time\n", p.pass, p.wall.Seconds(),
			p.processor.Seconds())
	}
	for _, f := range r.failures {
		_, _ = fmt.Fprintf(os.Stdout, "\nFAIL  %s: %s, %s\n      %s\n      %s\n",
			f.pass, f.pkg, f.name, f.reason(), f.log)
		if f.seed != "" {
			_, _ = fmt.Fprintf(os.Stdout, "      in the order of %s\n", f.seed)
		}
	}
	_, _ = fmt.Fprintf(os.Stdout, "\n%d passed, %d failed, %d skipped\n", r.passed, len(r.failures), r.skipped)
	if len(r.failures) > 0 {
		return fmt.Errorf("tests have failed; their logs are in %s", r.directory)
	}
	return nil
}

// printSlowest prints the packages that took longest, in all passes together. Where the processor took much less than
// the clock, the tests waited.
func (r *report) printSlowest() {
	total := map[string]time.Duration{}
	for _, s := range r.used {
		total[s.pkg] += s.processor + s.wall
	}
	slowest := slices.SortedFunc(maps.Keys(total), func(a, b string) int { return int(total[b] - total[a]) })
	_, _ = fmt.Fprintf(os.Stdout, "\nseconds, and those of the processor\n")
	for _, pkg := range slowest[:min(len(slowest), 20)] {
		_, _ = fmt.Fprintf(os.Stdout, "%-40s", pkg)
		for _, s := range r.used {
			if s.pkg == pkg {
				_, _ = fmt.Fprintf(os.Stdout, "  %s %.1f, %.1f", s.pass, s.wall.Seconds(), s.processor.Seconds())
			}
		}
		_, _ = fmt.Fprintln(os.Stdout)
	}
	_, _ = fmt.Fprintln(os.Stdout)
}
