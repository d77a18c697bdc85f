package testkit

import (
	"bytes"
	"cmp"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// readers is where ./dev soak puts what reads and writes columns. It is known before tests change HOME.
var readers = filepath.Join(cmp.Or(os.Getenv("XDG_CACHE_HOME"), filepath.Join(os.Getenv("HOME"), ".cache")),
	"culvert", "readers")

// Readers is where they are, for PYTHONPATH, with what is there already.
func Readers() string { return readers + string(filepath.ListSeparator) + os.Getenv("PYTHONPATH") }

// Python is a command of Python, which finds the modules of [Readers].
func Python(tb testing.TB, args ...string) *exec.Cmd {
	tb.Helper()
	if _, err := exec.LookPath("python3"); err != nil {
		Missing(tb, "python3", "https://www.python.org")
	}
	cmd := exec.CommandContext(tb.Context(), "python3", args...)
	cmd.Env = append(os.Environ(), "PYTHONPATH="+Readers())
	return cmd
}

// NeedModule makes sure of a module of Python that [Readers] has.
func NeedModule(tb testing.TB, module string) {
	tb.Helper()
	if err := Python(tb, "-c", "import "+module).Run(); err != nil {
		Missing(tb, module+" for Python", "./dev soak readers installs it")
	}
}

// ByPython has a program of Python complete cases, to which a pointer is given: it reads them as JSON, and writes them
// with what it adds.
func ByPython(tb testing.TB, program string, cases any) {
	tb.Helper()
	in, err := json.Marshal(cases)
	if err != nil {
		tb.Fatal(err)
	}
	cmd := Python(tb, "-c", program)
	cmd.Stdin, cmd.Stderr = bytes.NewReader(in), os.Stderr
	out, err := cmd.Output()
	if err != nil {
		tb.Fatal(err)
	}
	if err := json.Unmarshal(out, cases); err != nil {
		tb.Fatal(err)
	}
}

// PublicFiles returns the directory of a clone of public test files, such as arrow-testing of Apache, in the directory
// that CULVERT_TEST_PUBLIC names, or "" if it names none.
func PublicFiles(repository string) string {
	if dir := os.Getenv("CULVERT_TEST_PUBLIC"); dir != "" {
		return filepath.Join(dir, repository)
	}
	return ""
}
