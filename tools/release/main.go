// Command release makes what people install: programs, archives, packages, an image, lists of what is in them, and
// checksums. ./dev release runs it in a clean clone, which it needs, so that a commit alone says what comes out.
//
//	release SOURCE DIRECTORY [GOOS/GOARCH...]
//
// builds the module in SOURCE. All that it writes to DIRECTORY depends on the commit and the versions of the tools in
// go.mod only: files have the time of the commit, and no names or paths of this machine.
//
//	release man PROGRAM DIRECTORY
//
// writes only the man pages of a program.
package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// platforms are those of a release.
var platforms = []string{
	"linux/amd64", "linux/arm64", "darwin/amd64", "darwin/arm64", "windows/amd64", "windows/arm64",
}

func main() {
	if err := run(os.Args[1:]); err != nil {
		_, _ = fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	switch {
	case len(args) == 3 && args[0] == "man":
		pages, err := manual(args[1], "", time.Now())
		if err != nil {
			return err
		}
		return writeFiles(args[2], pages)
	case len(args) >= 2:
		chosen := platforms
		if len(args) > 2 {
			chosen = args[2:]
		}
		for _, name := range chosen {
			if !slices.Contains(platforms, name) {
				return fmt.Errorf("%s is none of %s", name, strings.Join(platforms, ", "))
			}
		}
		return makeAll(args[0], args[1], chosen)
	}
	return errors.New("usage: release SOURCE DIRECTORY [GOOS/GOARCH...]")
}

func writeFiles(dir string, files map[string][]byte) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	for name, data := range files {
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o644); err != nil {
			return err
		}
	}
	return nil
}
