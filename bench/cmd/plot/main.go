// Command plot draws the recorded results of the benchmarks.
//
//	cd bench && go run ./cmd/plot [-o DIR] [RESULTS-DIR]...
//
// It reads the samples in each directory of results, the newest one without arguments, and draws every figure that they
// have the workload for, as SVG and as PNG, into the directory plots beside them. The same samples give the same bytes.
//
// A figure is to be understood without a caption: its title is the finding, computed from the samples; what is ours
// is orange and the rest is quiet; each value stands at its bar or its line; whiskers are quartiles.
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

func main() {
	if err := run(os.Stdout, os.Args[1:]); err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "plot:", err)
		os.Exit(1)
	}
}

func run(stdout io.Writer, args []string) error {
	flags := flag.NewFlagSet("plot", flag.ContinueOnError)
	out := flags.String("o", "", "directory for the pictures of one directory of results; empty for plots in it")
	if err := flags.Parse(args); err != nil {
		return err
	}
	dirs := flags.Args()
	if len(dirs) == 0 {
		newest, err := newestResults("results")
		if err != nil {
			return err
		}
		dirs = []string{newest}
	}
	if *out != "" && len(dirs) > 1 {
		return errors.New("-o is for one directory of results, or the pictures of one would replace those of another")
	}
	for _, dir := range dirs {
		target := *out
		if target == "" {
			target = filepath.Join(dir, "plots")
		}
		if err := drawAll(stdout, dir, target); err != nil {
			return err
		}
	}
	return nil
}

// newestResults gives the directory of results whose name, which begins with a date, is the last.
func newestResults(parent string) (string, error) {
	entries, err := os.ReadDir(parent) // sorted by name
	if err != nil {
		return "", err
	}
	for i := len(entries) - 1; i >= 0; i-- {
		if entries[i].IsDir() {
			return filepath.Join(parent, entries[i].Name()), nil
		}
	}
	return "", fmt.Errorf("there are no results in %s; ./dev bench makes them", parent)
}

// drawAll draws the figures of one directory of results.
func drawAll(stdout io.Writer, dir, target string) error {
	drawn := 0
	for _, f := range figures {
		r, err := readWorkloads(dir, f.workload)
		if err != nil {
			return err
		}
		if f.benchmark != "" {
			r = r.of(f.benchmark)
		}
		if len(r.samples) == 0 {
			continue
		}
		c := f.draw(r)
		if c == nil {
			continue
		}
		if err := os.MkdirAll(target, 0o755); err != nil {
			return err
		}
		file := filepath.Join(target, f.name)
		if err := save(c, file); err != nil {
			return fmt.Errorf("%s: %w", f.name, err)
		}
		_, _ = fmt.Fprintf(stdout, "%s: %s\n", file, c.head().title) // the pictures are what counts
		drawn++
	}
	if drawn == 0 {
		return fmt.Errorf("there is nothing in %s that can be drawn", dir)
	}
	return nil
}
