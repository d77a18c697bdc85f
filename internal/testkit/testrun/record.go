package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// recordVerb begins the command line of a program that runs a test binary: see [record].
const recordVerb = "record"

// record runs a test binary in the place of go test, and writes into a file of the directory how long it and the
// processes that it has waited for took. It returns the exit code.
func record(directory string, args []string) int {
	began := time.Now()
	signals := make(chan os.Signal, 10)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM, syscall.SIGQUIT)
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	err := cmd.Start()
	if err == nil {
		go func() {
			for s := range signals {
				_ = cmd.Process.Signal(s) // it may have ended
			}
		}()
		err = cmd.Wait()
	}
	if exit, failed := errors.AsType[*exec.ExitError](err); err != nil && !failed {
		_, _ = fmt.Fprintln(os.Stderr, "testrun:", err)
		return 1
	} else if failed && !exit.Exited() {
		_, _ = fmt.Fprintln(os.Stderr, "testrun: the test binary ended by", exit)
	}
	processor := cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	dir, _ := os.Getwd() // go test runs it in the directory of the package
	line := fmt.Sprintf("%d %d %s\n", time.Since(began).Milliseconds(), processor.Milliseconds(), dir)
	name := filepath.Join(directory, fmt.Sprint(os.Getpid(), ".time"))
	if err := os.WriteFile(name, []byte(line), 0o600); err != nil {
		_, _ = fmt.Fprintln(os.Stderr, "testrun:", err)
		return 1
	}
	if code := cmd.ProcessState.ExitCode(); code >= 0 {
		return code
	}
	return 1 // it ended by a signal
}

// usage is what a test binary has taken.
type usage struct{ wall, processor time.Duration }

// readRecords returns what record has written, by the directory of the package, and removes it.
func readRecords(directory string) (map[string]usage, error) {
	files, err := filepath.Glob(filepath.Join(directory, "*.time"))
	if err != nil {
		return nil, err
	}
	used := map[string]usage{}
	for _, file := range files {
		line, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		var wall, processor int64
		fields := strings.SplitN(strings.TrimSuffix(string(line), "\n"), " ", 3)
		if _, err := fmt.Sscan(strings.Join(fields[:2], " "), &wall, &processor); err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		used[fields[2]] = usage{time.Duration(wall) * time.Millisecond, time.Duration(processor) * time.Millisecond}
		if err := os.Remove(file); err != nil {
			return nil, err
		}
	}
	return used, nil
}
