package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// TestModule gives a clone another path, and builds it with its tests, and what is made from the path: generated code,
// the tables of the floors, and the modules beside it.
func TestModule(t *testing.T) {
	if os.Getenv("CULVERT_TEST_SOAK") != "1" {
		t.Skip("skipped: it compiles everything; ./dev soak module runs it")
	}
	const path = "example.org/data/culvert"
	clone := filepath.Join(t.TempDir(), "culvert")
	run := func(dir, name string, args ...string) {
		t.Helper()
		cmd := exec.Command(name, args...)
		cmd.Dir = filepath.Join(clone, dir)
		if text, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%s %q in %s: %v\n%s", name, args, dir, err, text)
		}
	}
	if text, err := exec.Command("git", "clone", "-q", "../..", clone).CombinedOutput(); err != nil {
		t.Fatalf("git clone: %v\n%s", err, text)
	}
	run(".", "./dev", "module", path, "Jane Doe <jane@example.org>")
	run(".", "grep", "-qx", "Jane Doe <jane@example.org>", "tools/release/files/maintainer")
	run(".", "sh", "-c", `! git grep -n '"culvert/[a-z]' -- '*.go' | grep -v '"culvert/v1 '`)
	run(".", "go", "build", "./...")
	run(".", "go", "vet", ".", "./internal/testkit/...", "./fileservice/...")
	run(".", "go", "test", "-run", "Floors|Dependencies|NeverCompiled|PackageComments|Links", ".")
	run("tools", "go", "run", "./protogen", "-check", "fileservice/fileservice.proto")
	for _, module := range []string{"bench", "tools", "tools/release"} {
		run(module, "go", "mod", "tidy", "-diff")
		run(module, "go", "list", "-deps", "./...")
	}
	// And back, as another publisher would.
	run(".", "./dev", "module", "culvert")
	run(".", "git", "checkout", "-q", "tools/release/files/maintainer")
	run(".", "git", "diff", "--exit-code")
}
