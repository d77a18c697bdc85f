package harness

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

// Benchstat returns benchstat's tables: one for each benchmark and unit, with a column for each value of impl.
// Values of single processes of a pipeline are left out.
func (s *Session) Benchstat(samples string) (string, error) {
	file := filepath.Join(s.Dir, "samples.txt")
	if err := os.WriteFile(file, []byte(samples), 0o644); err != nil {
		return "", err
	}
	cmd := exec.CommandContext(s.Ctx, "go", "tool", "benchstat",
		"-table", ".name", "-col", "/impl", "-filter", "-.unit:/.-cpu-|.-peak-/", file)
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
