package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// module is what the tests of this package run go test on: a test that fails in a part, one that panics in a goroutine,
// one that hangs, and one that does not compile.
var module = map[string]string{
	"go.mod": "module culvert\n",
	"fails/fails_test.go": `package fails
		import "testing"
		func TestFine(t *testing.T) {}
		func TestPart(t *testing.T) {
			t.Run("a", func(t *testing.T) { t.Errorf("got %d", 3) })
			t.Run("b", func(t *testing.T) { t.Skip("not here") })
		}`,
	"panics/panics_test.go": `package panics
		import "testing"
		func TestPanic(t *testing.T) { go panic("oops"); select {} }`,
	"hangs/hangs_test.go": `package hangs
		import "testing"
		func TestHang(t *testing.T) { go wait(); go wait(); wait() }
		func wait() { select {} }`,
	"broken/broken_test.go": `package broken
		import "testing"
		func TestBroken(t *testing.T) { x := 3 }`,
}

func TestMain(m *testing.M) {
	if len(os.Args) > 2 && os.Args[1] == recordVerb { // as main does
		os.Exit(record(os.Args[2], os.Args[3:])) //nolint:forbidigo // it stands for a test binary, with its exit code
	}
	m.Run()
}

// newModule writes the module into a directory.
func newModule(t *testing.T) (root string) {
	t.Helper()
	root = t.TempDir()
	for name, text := range module {
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return root
}

func emptyReport(t *testing.T) *report {
	t.Helper()
	return &report{
		directory: t.TempDir(), environment: os.Environ(), packages: map[string]*result{}, built: map[string][]string{},
	}
}

func TestReport(t *testing.T) {
	root, r := newModule(t), emptyReport(t)
	for _, pkg := range []string{"fails", "panics", "hangs", "broken"} {
		limit := "10m"
		if pkg == "hangs" {
			limit = "100ms"
		}
		cmd := exec.Command("go", "test", "-json", "-vet=off", "-timeout="+limit, "./"+pkg)
		cmd.Dir = root
		if err := r.consume("plain", cmd); err == nil {
			t.Errorf("the tests of %s have passed", pkg)
		}
	}
	var got []string
	for _, f := range r.failures {
		first, _, _ := strings.Cut(strings.TrimSpace(f.lines[0]), " (") // seconds
		got = append(got, f.pkg+" "+f.name+": "+first)
		if _, err := os.Stat(f.log); err != nil {
			t.Error(err)
		}
	}
	want := []string{
		"fails TestPart/a: fails_test.go:5: got 3",
		"panics the package: panic: oops",
		"hangs the package: panic: test timed out after 100ms running tests: TestHang",
		"broken the package: broken/broken_test.go:3:35: declared and not used: x",
	}
	if !slices.Equal(got, want) {
		t.Errorf("the failures are\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if r.passed != 1 || r.skipped != 1 || r.end() == nil {
		t.Errorf("%d passed, %d skipped; want one each, and an error", r.passed, r.skipped)
	}
	const stack = "/hangs.wait hangs_test.go:4 < "
	hang := strings.Join(r.failures[2].lines, "\n")
	if !strings.Contains(hang, stack) || !strings.Contains(hang, "(2 of them)") {
		t.Errorf("the goroutines that hang are %s", hang)
	}
}

// TestAtOnce: passes that run at the same time keep what belongs to each apart.
func TestAtOnce(t *testing.T) {
	root, r := newModule(t), emptyReport(t)
	one := pass{name: "one", dir: root, packages: []string{"./fails", "./broken"}, flags: []string{"-vet=off"}}
	two := pass{name: "two", dir: root, packages: []string{"./fails"}, flags: []string{"-vet=off"}}
	if err := r.atOnce(t.Context(), []pass{one, two}); err != nil {
		t.Fatal(err)
	}
	var failed, used []string
	for _, f := range r.failures {
		failed = append(failed, f.pass+" "+f.pkg)
	}
	for _, u := range r.used {
		used = append(used, u.pass+" "+filepath.Base(u.pkg))
	}
	slices.Sort(failed)
	slices.Sort(used)
	if want := []string{"one broken", "one fails", "two fails"}; !slices.Equal(failed, want) {
		t.Errorf("in %q something has failed, want %q", failed, want)
	}
	if want := []string{"one fails", "two fails"}; !slices.Equal(used, want) || len(r.passes) != 2 {
		t.Errorf("there are the times of %q and of %d passes, want %q and 2", used, len(r.passes), want)
	}
}

// TestTurns: no day has the same packages under the race detector twice.
func TestTurns(t *testing.T) {
	for day := range raceTurns * len(soakSlices) {
		if s := soakSlices[day%len(soakSlices)]; s.turn == turnOf(day)+1 {
			t.Fatalf("on day %d, the tests and the long forms have %s", day, s.name)
		}
	}
}

func TestConcurrentPackages(t *testing.T) {
	packages, err := concurrentPackages("../../..")
	if err != nil {
		t.Fatal(err)
	}
	if len(packages) <= len(longest) {
		t.Errorf("only %q have goroutines", packages)
	}
}

// TestLongForms: what the race pass leaves to the long forms is there, and is not left out elsewhere.
func TestLongForms(t *testing.T) {
	const root = "../../.."
	packages, err := concurrentPackages(root)
	if err != nil {
		t.Fatal(err)
	}
	for _, dir := range throughOthers {
		if slices.Contains(packages, dir) {
			t.Errorf("%s is in the race pass", dir)
		}
		if _, err := os.Stat(filepath.Join(root, dir)); err != nil {
			t.Error(err)
		}
	}
	skipped := regexp.MustCompile(testsOfValues())
	found := map[string][]string{}
	for _, dir := range packages {
		for _, name := range testsIn(t, dir) {
			if skipped.MatchString(name) {
				found[dir] = append(found[dir], strings.TrimPrefix(name, "Test"))
			}
		}
		slices.Sort(found[dir])
		if !slices.Equal(found[dir], valueTests[dir]) {
			t.Errorf("in %s the tests %q are skipped, want %q", dir, found[dir], valueTests[dir])
		}
	}
}

// TestLaterTests: what ./dev test leaves to slices is there, and a slice has it.
func TestLaterTests(t *testing.T) {
	later := regexp.MustCompile(laterTests)
	var found []string
	for _, s := range soakSlices {
		if s.server != "" {
			continue // it skips them
		}
		tests := regexp.MustCompile(s.tests)
		for _, dir := range s.packages {
			for _, name := range testsIn(t, dir) {
				if later.MatchString(name) && tests.MatchString(name) && !s.race {
					found = append(found, strings.TrimPrefix(name, "Test"))
				}
			}
		}
	}
	slices.Sort(found)
	want := slices.Sorted(slices.Values(strings.Split(strings.TrimSuffix(laterTests, ")$")[len("^Test("):], "|")))
	if !slices.Equal(found, want) {
		t.Errorf("slices have %q, want %q", found, want)
	}
}

// testsIn returns the names of the tests of a package. Patterns have none.
func testsIn(t *testing.T, dir string) (names []string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("../../..", dir, "*_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range regexp.MustCompile(`(?m)^func (Test\w+)\(`).FindAllSubmatch(text, -1) {
			names = append(names, string(m[1]))
		}
	}
	return names
}

func TestRecord(t *testing.T) {
	directory := t.TempDir()
	for command, want := range map[string]int{"exit 7": 7, "exit 0": 0, "kill -9 $$": 1} {
		if got := record(directory, []string{"sh", "-c", command}); got != want {
			t.Errorf("%s: exit code %d, want %d", command, got, want)
		}
		used, err := readRecords(directory)
		if err != nil || len(used) != 1 {
			t.Errorf("%s: %v %v", command, used, err)
		}
	}
}
