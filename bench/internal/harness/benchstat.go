package harness

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// Benchstat returns benchstat's tables: one for each benchmark and unit, with a column for each value of the keys in
// pivot. Values of single processes of a pipeline are left out.
func (s *Session) Benchstat(samples, pivot string) (string, error) {
	file := filepath.Join(s.Dir, "samples.txt")
	if err := os.WriteFile(file, []byte(samples), 0o644); err != nil {
		return "", err
	}
	cmd := exec.CommandContext(s.Ctx, "go", "tool", "benchstat",
		"-table", ".name", "-col", pivot, "-filter", "-.unit:/.-cpu-|.-peak-/", file)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	tables, err := cmd.Output()
	if err == nil && len(tables) == 0 {
		err = errors.New("it has made no tables") // nor an exit code, when it does not understand its arguments
	}
	if err != nil {
		return "", fmt.Errorf("benchstat: %w\n%s", err, &stderr)
	}
	return string(tables), nil
}

// Pivot returns the keys in which the variants of benchmarks differ, in benchstat's form: "/impl" or "/format,/impl".
func Pivot(benchmarks []Benchmark) string {
	var keys []string
	for _, b := range benchmarks {
		first := map[string]string{}
		for _, v := range b.Variants {
			for part := range strings.SplitSeq(v.Key, "/") {
				key, value, _ := strings.Cut(part, "=")
				if _, seen := first[key]; !seen {
					first[key] = value
				}
				if first[key] != value && !slices.Contains(keys, "/"+key) {
					keys = append(keys, "/"+key)
				}
			}
		}
	}
	return strings.Join(keys, ",")
}
