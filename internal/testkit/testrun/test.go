package main

import (
	"bytes"
	"context"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// longest are the packages whose tests take longest. They begin first: as many as there are cores are tested at once,
// and none of these should be left for the end, when nothing runs beside it.
var longest = []string{program, "./workers", "./fileservice/transfer", "./fusefs", "./export", "./wal"}

// program is the command line, which comes first of all.
const program = "./cmd/culvert"

// parallel is how many tests of a package run at a time. Many wait: for a server, a disk, or a time limit.
const parallel = "-parallel=6"

// uninstrumented are packages that only compute, in one goroutine: SQLite, which is C that was translated into Go,
// compression and hashes. They take five times as long if the race detector looks at each access to their memory. It
// still sees what their callers do with that memory. Packages that start goroutines or use sync/atomic must not be
// here: the detector would not see what they wait for, and report races that are none.
var uninstrumented = []string{
	"github.com/ncruces/go-sqlite3-wasm/...", "github.com/klauspost/compress/flate",
	"github.com/klauspost/compress/huff0", "github.com/zeebo/xxh3", "culvert/internal/compress/internal/zstdenc",
}

// raceFlags are those of go build for the race detector. What vet has to say of the files, the plain pass says.
func raceFlags() []string {
	flags := []string{"-race", "-vet=off"}
	for _, pattern := range uninstrumented {
		flags = append(flags, "-gcflags="+pattern+"=-race=false")
	}
	return flags
}

// raceEnvironment has a program with the race detector end at once: it waits for a second otherwise, and the tests
// start hundreds.
var raceEnvironment = []string{"GORACE=atexit_sleep_ms=0"}

// test runs the tests of some packages, or of all, plainly and with the race detector.
func test(ctx context.Context, r *report, packages []string) error {
	r.environment = append(r.environment, "CULVERT_TEST_ALL=1")
	all := len(packages) == 0
	plain, race := packages, packages
	if all {
		plain = append(slices.Clone(longest), "./...")
		var err error
		if race, err = concurrentPackages("."); err != nil {
			return err
		}
	}
	passes := []pass{{name: "plain", dir: ".", flags: []string{parallel}, packages: plain}}
	if all {
		passes = append(passes,
			pass{name: "without unsafe", dir: ".", flags: []string{"-tags=purego"}, packages: []string{"./bytebuf"}},
			pass{
				name: "checks of bytebuf", dir: ".", flags: []string{"-tags=bytebufdebug"},
				packages: []string{"./bytebuf", "./agefile"},
			},
			pass{name: "bench", dir: "bench", packages: []string{"./..."}},
		)
	}
	passes = append(passes, pass{
		name: "race", dir: ".", flags: append(raceFlags(), parallel, "-shuffle=on"), packages: race,
		env: raceEnvironment,
	})
	for _, p := range passes {
		if err := r.goTest(ctx, p); err != nil || ctx.Err() != nil {
			return err
		}
	}
	return nil
}

var concurrency = regexp.MustCompile(
	`(?m)^\s*go |^\s*"(sync|sync/atomic|database/sql|testing/synctest)"|\.Parallel\(\)|\.Go\(`)

// concurrentPackages returns the packages in which something may run at the same time: in the package, in its tests, or
// in database/sql, which closes rows from a goroutine of its own.
func concurrentPackages(root string) ([]string, error) {
	found := map[string]bool{}
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() {
			name := entry.Name()
			hidden := path != root && strings.HasPrefix(name, ".")
			if path == "bench" || path == "tools" || name == "testdata" || hidden {
				return fs.SkipDir
			}
			return nil
		}
		dir := "./" + filepath.ToSlash(filepath.Dir(path))
		if filepath.Ext(path) != ".go" || found[dir] {
			return nil
		}
		text, err := os.ReadFile(path)
		found[dir] = err == nil && concurrency.Match(text)
		return err
	})
	if err != nil {
		return nil, err
	}
	// The program consists of packages whose tests are run. Under the race detector, its own take as long as those of
	// all others together, so they are a long form.
	delete(found, program)
	packages := slices.DeleteFunc(slices.Clone(longest), func(dir string) bool { return dir == program })
	first := len(packages)
	for dir, is := range found {
		if is && !slices.Contains(longest, dir) {
			packages = append(packages, dir)
		}
	}
	slices.Sort(packages[first:])
	return packages, nil
}

// packagesWithTests returns the directories of the packages with tests, and their import paths.
func packagesWithTests(ctx context.Context, patterns []string) (map[string]string, error) {
	if len(patterns) == 0 {
		patterns = []string{"./..."}
	}
	const format = "{{if or .TestGoFiles .XTestGoFiles}}{{.ImportPath}} {{.Dir}}{{end}}"
	list := exec.CommandContext(ctx, "go", append([]string{"list", "-f", format}, patterns...)...)
	list.Stderr = os.Stderr
	output, err := list.Output()
	if err != nil {
		return nil, fmt.Errorf("go list: %w", err)
	}
	found := map[string]string{}
	for line := range bytes.Lines(output) {
		if path, dir, ok := strings.Cut(strings.TrimSpace(string(line)), " "); ok {
			found[path] = dir
		}
	}
	return found, nil
}
