package main

import (
	"errors"
	"io"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// costsDrawn are the texts that each figure of costs must have of the example.
var costsDrawn = map[string][]string{
	"cost": {
		"Processor time: pull 0.50 × scp, mount 0.62 × sshfs", "TCP, not encrypted", "secureconn", "1 GiB pulled",
		"culvert pull", "2.00 s", "0.50 × scp", "mount --decrypt", "1.5 × tools",
		"processor seconds per GiB, both ends; less is better",
	},
	"cost-operations": {
		"Processor time: files 0.50 × rsync, grep 0.80 × sshfs, random reads 0.60 × sshfs", "ls -lR, per file",
		"75.0 µs", "4 KiB at random, 16 threads, per read",
	},
	"cost-export": {
		"Processor time: export 0.75 × tools, with gzip 0.44 × tools", "psql | gzip | age", "pg_dump, gzip", "12.00 s",
	},
	"cost-load": {
		"Processor time: load 0.80 × tools, with four connections 0.83 × tools", "pg_restore -j 4, not encrypted",
		"a million rows into SQLite", "culvert copy", "24.00 s",
	},
}

// TestTogether draws what has run on two cores and on four. A directory without costs has no column.
func TestTogether(t *testing.T) {
	out := t.TempDir()
	var stdout strings.Builder
	if err := run(&stdout, []string{"-together", "-o", out, example + "-2", t.TempDir(), example}); err != nil {
		t.Fatal(err)
	}
	want := []string{
		"Processor time: pull 0.41 and 0.50 × scp, mount 0.51 and 0.62 × sshfs", "2 cores", "4 cores",
		"  ·  0.41 × scp", "  ·  0.50 × scp", "3.20 s", "4.00 s", "not measured",
		"loopback  ·  example  ·  2 and 4 cores  ·  2026-01-31  ·  medians and quartiles of 3 rounds",
	}
	checkTexts(t, filepath.Join(out, "cost-together"), want)
	if !strings.Contains(stdout.String(), "cost-together: "+want[0]) {
		t.Errorf("the program does not say %q:\n%s", want[0], &stdout)
	}
	if err := run(io.Discard, []string{"-together", "-o", out, t.TempDir()}); err == nil {
		t.Error("no error without results")
	}
}

// TestSameScale compares the bars of the columns of two runs that are the same.
func TestSameScale(t *testing.T) {
	out := t.TempDir()
	if err := run(io.Discard, []string{"-together", "-o", out, example, example}); err != nil {
		t.Fatal(err)
	}
	svg, err := os.ReadFile(filepath.Join(out, "cost-together.svg"))
	if err != nil {
		t.Fatal(err)
	}
	bar := regexp.MustCompile(`<path d="M([\d.]+),[\d.]+L([\d.]+),.*fill:#D9480F`)
	var widths []float64
	for _, corners := range bar.FindAllStringSubmatch(string(svg), -1) {
		left, err1 := strconv.ParseFloat(corners[1], 64)
		right, err2 := strconv.ParseFloat(corners[2], 64)
		if err := errors.Join(err1, err2); err != nil {
			t.Fatal(err)
		}
		widths = append(widths, right-left)
	}
	const each = 5 // bars of ours in a column
	if len(widths) != 2*each {
		t.Fatalf("there are %d bars of ours, want %d in each of two columns", len(widths), each)
	}
	for i := range each {
		if math.Abs(widths[i]-widths[each+i]) > 0.5 {
			t.Errorf("bars of the same value have lengths of %v and %v", widths[i], widths[each+i])
		}
	}
}

func checkTexts(t *testing.T, file string, want []string) {
	t.Helper()
	checkPNG(t, file+".png")
	got := textsOf(t, file+".svg")
	for _, text := range want {
		if !slices.Contains(got, text) {
			t.Errorf("%s: there is no %q in it, but %q", filepath.Base(file), text, got)
		}
	}
}
