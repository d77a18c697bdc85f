// Command plot draws the recorded results of the benchmarks.
//
//	cd bench && go run ./cmd/plot [-o DIR] [RESULTS-DIR]...
//	cd bench && go run ./cmd/plot -together [-o DIR] RESULTS-DIR...
//	cd bench && go run ./cmd/plot -table RESULTS-DIR...
//
// It reads the samples in each directory of results, the newest one without arguments, and draws every figure that they
// have the workload for, as SVG and as PNG, into the directory plots beside them. The same samples give the same bytes.
// With -together it draws the processor time of several runs, such as those on two and on four cores, side by side in
// one figure, into the directory plots of the first. With -table it draws nothing, and writes the table of the README
// in Markdown, with columns for each run.
//
// A figure is to be understood without a caption: its title is the finding, computed from the samples; what is ours
// is orange and the rest is quiet; each value stands at its bar or its line; whiskers are quartiles.
package main

import (
	"cmp"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
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
	together := flags.Bool("together", false, "draw the processor time of all directories of results side by side")
	table := flags.Bool("table", false, "write a table of the figures of all directories of results, in Markdown")
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
	if *table {
		return writeTable(stdout, dirs)
	}
	if *together {
		return drawTogether(stdout, dirs, cmp.Or(*out, filepath.Join(dirs[0], "plots")))
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
		if c := f.draw(r); c != nil {
			if err := saveIn(stdout, target, f.name, c); err != nil {
				return err
			}
			drawn++
		}
	}
	costs, err := drawCosts(stdout, []string{dir}, target, "")
	if err != nil {
		return err
	}
	if drawn+costs == 0 {
		return fmt.Errorf("there is nothing in %s that can be drawn", dir)
	}
	return nil
}

// drawTogether draws the costs of several directories of results side by side.
func drawTogether(stdout io.Writer, dirs []string, target string) error {
	drawn, err := drawCosts(stdout, dirs, target, "-together")
	if err == nil && drawn == 0 {
		err = fmt.Errorf("there are no costs in %s that can be drawn", strings.Join(dirs, " and "))
	}
	return err
}

// drawCosts draws the figures of costs that the directories have samples for, with a suffix to their names.
func drawCosts(stdout io.Writer, dirs []string, target, suffix string) (drawn int, err error) {
	for _, f := range costFigures {
		runs := make([]*recording, len(dirs))
		for i, dir := range dirs {
			if runs[i], err = readWorkloads(dir, f.workloads); err != nil {
				return drawn, err
			}
		}
		if c := f.draw(runs); c != nil {
			if err := saveIn(stdout, target, f.name+suffix, c); err != nil {
				return drawn, err
			}
			drawn++
		}
	}
	return drawn, nil
}

// saveIn draws a chart into the files of a name in a directory, and says what it shows.
func saveIn(stdout io.Writer, target, name string, c chart) error {
	if err := os.MkdirAll(target, 0o755); err != nil {
		return err
	}
	file := filepath.Join(target, name)
	if err := save(c, file); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	_, _ = fmt.Fprintf(stdout, "%s: %s\n", file, c.head().title) // the pictures are what counts
	return nil
}
