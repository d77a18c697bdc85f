package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
)

// pass is one call of go test.
type pass struct {
	name     string // such as race
	dir      string // of the module, from the root
	flags    []string
	packages []string
	env      []string
}

// event is one of go test -json. See go doc test2json.
type event struct {
	Action      string
	Package     string
	ImportPath  string // of what was built, if Action is build-output or build-fail
	Test        string
	Elapsed     float64 // in seconds
	Output      string
	FailedBuild string
}

// patience is how long the tests of a package may take before they count as hanging.
const patience = "30m"

// goTest runs a pass and adds what it finds to the report. Passes may run at the same time.
func (r *report) goTest(ctx context.Context, p pass) error {
	_, _ = fmt.Fprintf(os.Stdout, "\n== go test, %s\n", p.name)
	self, err := os.Executable()
	if err != nil {
		return err
	}
	times, err := os.MkdirTemp(r.directory, "times-")
	if err != nil {
		return err
	}
	args := []string{"test", "-json", "-timeout", patience, "-exec", self + " " + recordVerb + " " + times}
	cmd := exec.CommandContext(ctx, "go", slices.Concat(args, p.flags, p.packages)...)
	cmd.Dir = p.dir
	cmd.Env = slices.Concat(r.environment, p.env)
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGINT) }
	began := time.Now()
	failure := r.consume(p.name, cmd)
	used, err := readRecords(times)
	if err != nil {
		return err
	}
	root, err := os.Getwd()
	if err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for dir, u := range used {
		if path, err := filepath.Rel(root, dir); err == nil {
			r.used = append(r.used, spent{p.name, filepath.ToSlash(path), u})
		}
	}
	processor := cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	r.passes = append(r.passes, spent{p.name, "", usage{time.Since(began), processor}})
	switch {
	case ctx.Err() != nil:
		r.failures = append(r.failures, failedTest{pass: p.name, name: "the run", lines: []string{"was interrupted"}})
	case failure != nil && !r.failedIn(p.name):
		return failure // what go test itself says is on standard error
	}
	return nil
}

// consume runs a command that prints events, and returns its error.
func (r *report) consume(pass string, cmd *exec.Cmd) error {
	cmd.Stderr = os.Stderr
	output, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		return err
	}
	reader := bufio.NewReader(output)
	for {
		line, err := reader.ReadBytes('\n')
		if err != nil {
			if err != io.EOF {
				return errors.Join(err, cmd.Wait())
			}
			return cmd.Wait()
		}
		r.mu.Lock()
		err = r.takeLine(pass, line)
		r.mu.Unlock()
		if err != nil {
			return errors.Join(err, cmd.Wait())
		}
	}
}

// takeLine takes a line of the output of go test -json.
func (r *report) takeLine(pass string, line []byte) error {
	var e event
	if json.Unmarshal(line, &e) != nil {
		_, err := os.Stdout.Write(line) // of go itself
		return err
	}
	return r.take(pass, e)
}

// result is that of one package in one pass, while it runs.
type result struct {
	log    *os.File
	tests  map[string][]string // the lines of each test that has not passed, and of the package as that of ""
	failed []string            // tests, in order
	seed   string              // of the order of the tests
}

// mostLines bounds the lines of a test that are shown. The log has all.
const mostLines = 40

// take takes the next event of a pass.
func (r *report) take(pass string, e event) error {
	if e.Package == "" {
		if line := strings.TrimSpace(e.Output); e.Action == "build-output" && line != "" && line[0] != '#' {
			r.built[pass] = append(r.built[pass], line)
		}
		return nil
	}
	key := pass + " " + e.Package
	p := r.packages[key]
	if p == nil {
		log, err := os.Create(r.logOf(pass, e.Package))
		if err != nil {
			return err
		}
		p = &result{log: log, tests: map[string][]string{}}
		r.packages[key] = p
	}
	switch e.Action {
	case "output":
		return p.output(e)
	case "pass", "fail", "skip":
		if e.Test != "" {
			r.endTest(p, e)
			return nil
		}
		delete(r.packages, key)
		r.endPackage(pass, p, e)
		return p.log.Close()
	}
	return nil
}

func (p *result) output(e event) error {
	line := strings.TrimSuffix(e.Output, "\n")
	switch trimmed := strings.TrimSpace(line); {
	case strings.HasPrefix(trimmed, "-test.shuffle "):
		p.seed = trimmed
	case strings.HasPrefix(trimmed, "=== "), strings.HasPrefix(trimmed, "--- PASS"), trimmed == "":
	default:
		p.tests[e.Test] = append(p.tests[e.Test], line)
	}
	_, err := p.log.WriteString(e.Output)
	return err
}

func (r *report) endTest(p *result, e event) {
	switch e.Action {
	case "pass":
		r.passed++
		delete(p.tests, e.Test)
	case "skip":
		r.skipped++
		delete(p.tests, e.Test)
	case "fail":
		p.failed = append(p.failed, e.Test)
	}
}

func (r *report) endPackage(pass string, p *result, e event) {
	name := strings.TrimPrefix(e.Package, "culvert/")
	if e.Action != "fail" {
		if e.Action == "pass" {
			_, _ = fmt.Fprintf(os.Stdout, "ok    %-50s %6.1f s\n", name, e.Elapsed)
		}
		return
	}
	_, _ = fmt.Fprintf(os.Stdout, "FAIL  %-50s %6.1f s\n", name, e.Elapsed)
	log := r.logOf(pass, e.Package)
	found := len(r.failures)
	for _, test := range p.failed {
		lines := ownLines(p.tests[test])
		if len(lines) == 0 && hasFailedPart(p.failed, test) {
			continue // its parts say why
		}
		r.add(failedTest{pass: pass, pkg: name, name: test, lines: lines, log: log, seed: p.seed})
	}
	lines := crashOf(p.tests)
	switch {
	case lines != nil:
	case e.FailedBuild != "":
		lines = r.built[pass]
		delete(r.built, pass)
	case len(r.failures) == found:
		lines = ownLines(p.tests[""]) // what TestMain says
	default:
		return
	}
	r.add(failedTest{pass: pass, pkg: name, name: "the package", lines: lines, log: log, seed: p.seed})
}

// crashOf returns what a test binary has said when it ended in the middle of its tests, or nil. The output may be part
// of that of any test.
func crashOf(tests map[string][]string) []string {
	for _, lines := range tests {
		start := slices.IndexFunc(lines, func(line string) bool {
			return strings.HasPrefix(line, "panic: ") || strings.HasPrefix(line, "fatal error: ")
		})
		if start < 0 {
			continue
		}
		if lines = lines[start:]; strings.HasPrefix(lines[0], "panic: test timed out") {
			return hangOf(lines)
		}
		return lines
	}
	return nil
}

// hasFailedPart reports whether one of the failed tests is a subtest of a test.
func hasFailedPart(failed []string, test string) bool {
	for _, other := range failed {
		if strings.HasPrefix(other, test+"/") {
			return true
		}
	}
	return false
}

// ownLines returns what a test says about its failure.
func ownLines(output []string) (lines []string) {
	for _, line := range output {
		trimmed := strings.TrimSpace(line)
		if strings.HasPrefix(trimmed, "--- FAIL") || strings.HasPrefix(trimmed, "--- SKIP") || trimmed == "FAIL" ||
			strings.HasPrefix(trimmed, "FAIL\t") {
			continue
		}
		lines = append(lines, line)
	}
	return lines
}

func (r *report) logOf(pass, pkg string) string {
	name := strings.ReplaceAll(strings.TrimPrefix(pkg, "culvert/"), "/", "-")
	return filepath.Join(r.directory, strings.ReplaceAll(pass, " ", "-")+"-"+name+".log")
}
