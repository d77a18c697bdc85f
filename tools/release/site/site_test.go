package main

import (
	"html"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"culvert/tools/release/helptext"
)

// TestReference sets a help text: what it says stays, nothing in it is Markdown, and pages that it names are links.
func TestReference(t *testing.T) {
	const help = `Pour pours *water* into <FILE>.

Usage:
  culvert pour FILE

Running:
  -j, --jobs N    pour N at once (default: one
                  for each core)
      --quiet     say nothing

What it pours is one of

  water    from the tap

See also: culvert help taps, pour, sinks
`
	const want = "# culvert pour\n\n" +
		"Pour pours &#42;water&#42; into &#60;FILE&#62;.\n\n" +
		"## Usage\n\n```text\nculvert pour FILE\n```\n\n" +
		"## Running\n\n" +
		"`-j, --jobs N`\n:   pour N at once (default: one\n    for each core)\n\n" +
		"`--quiet`\n:   say nothing\n\n" +
		"What it pours is one of\n\n```text\n water    from the tap\n```\n\n" +
		"See also: [culvert help taps](../help/taps.md), [pour](../commands/culvert-pour.md), sinks\n\n"
	page := helptext.Page{Path: []string{"pour"}, Short: "Pour water", Text: help}
	taps := helptext.Page{Path: []string{"taps"}, IsTopic: true}
	if got := reference(page, []helptext.Page{page, taps}); got != want {
		t.Errorf("the page is\n%s", got)
	}
}

// TestPipes copies a table, whose pipes in code GitHub wants with a backslash, and MkDocs without.
func TestPipes(t *testing.T) {
	dir := t.TempDir()
	s := &site{dir: dir, source: fstest.MapFS{"a.md": {Data: []byte("| `a \\| b` | c \\| d |\n`e \\| f`\n")}}}
	if err := s.copyPage("a.md"); err != nil {
		t.Fatal(err)
	}
	const want = "| `a | b` | c \\| d |\n`e \\| f`\n"
	if got := read(t, filepath.Join(dir, "a.md")); got != want {
		t.Errorf("the page is\n%s", got)
	}
}

// TestLinks copies a page: links to pages and pictures of the site stay, others become text.
func TestLinks(t *testing.T) {
	dir := t.TempDir()
	s := &site{
		dir: dir, has: map[string]bool{"docs/a.md": true, "docs/b.md": true},
		source: fstest.MapFS{
			"docs/a.md": {Data: []byte("[b](b.md#x) [c](c.md) [top](#a) ![p](p.svg) [go](../go.go) [w](https://w)\n" +
				"```\n[c](c.md)\n```\n[d](../d)\n")},
			"docs/p.svg": {Data: []byte("<svg/>")},
		},
	}
	if err := s.copyPage("docs/a.md"); err != nil {
		t.Fatal(err)
	}
	const want = "[b](b.md#x) c [top](#a) ![p](p.svg) go [w](https://w)\n```\n[c](c.md)\n```\nd\n"
	if got := read(t, filepath.Join(dir, "docs/a.md")); got != want {
		t.Errorf("the page is\n%s", got)
	}
	if got := read(t, filepath.Join(dir, "docs/p.svg")); got != "<svg/>" {
		t.Errorf("the picture is %s", got)
	}
}

func read(t *testing.T, name string) string {
	t.Helper()
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// TestSite makes the whole site, and finds in its reference every word of the help. A dead link fails it.
func TestSite(t *testing.T) {
	if os.Getenv("CULVERT_TEST_SOAK") != "1" {
		t.Skip("skipped: it compiles the program and needs MkDocs; ./dev soak release runs it")
	}
	dir := t.TempDir()
	program, source := filepath.Join(dir, "culvert"), "../../.."
	build := exec.Command("go", "build", "-buildvcs=false", "-o", program, "./cmd/culvert")
	build.Dir = source
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if err := run([]string{source, program, dir}); err != nil {
		t.Fatal(err)
	}
	if out, err := mkdocs(dir); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	checkAlone(t, filepath.Join(dir, "out"))
	help, err := helptext.Read(program)
	if err != nil {
		t.Fatal(err)
	}
	tag := regexp.MustCompile(`<[^>]*>`)
	for _, page := range help {
		file := strings.TrimSuffix(referenceFile(page), ".md") + ".html"
		_, shown, _ := strings.Cut(read(t, filepath.Join(dir, "out", file)), "<article")
		got := strings.Fields(html.UnescapeString(tag.ReplaceAllString(shown, "")))
		whole := strings.Join(got, " ")
		for word := range strings.FieldsSeq(page.Text) {
			if word = strings.TrimSuffix(word, ":"); !slices.Contains(got, word) && !strings.Contains(whole, word) {
				t.Errorf("%s lacks %q", file, word)
			}
		}
	}
	for _, dead := range []string{"[dead](nowhere.md)", "[dead](exporting.md#nowhere)"} {
		page := filepath.Join(dir, "pages/docs/loading.md")
		if err := os.WriteFile(page, []byte(dead), 0o644); err != nil {
			t.Fatal(err)
		}
		if out, err := mkdocs(dir); err == nil || !strings.Contains(out, "nowhere") {
			t.Errorf("%s: %v\n%s", dead, err, out)
		}
	}
}

// checkAlone finds nothing that a page loads from another site, and all that it loads from its own.
func checkAlone(t *testing.T, dir string) {
	loads := regexp.MustCompile(`<(?:script|img)[^>]* src="([^"]*)"|<link rel="stylesheet" href="([^"]*)"`)
	found := loads.FindAllStringSubmatch(read(t, filepath.Join(dir, "index.html")), -1)
	for _, one := range found {
		name, _, _ := strings.Cut(one[1]+one[2], "?")
		if _, err := os.Stat(filepath.Join(dir, filepath.FromSlash(name))); err != nil {
			t.Errorf("the first page loads %s: %v", name, err)
		}
	}
	if len(found) < 4 {
		t.Errorf("the first page loads only %q", found)
	}
}

func mkdocs(dir string) (string, error) {
	cmd := exec.Command("python3", "-m", "mkdocs", "build", "--strict", "-f", filepath.Join(dir, "mkdocs.yml"), "-d",
		filepath.Join(dir, "out"))
	out, err := cmd.CombinedOutput()
	return string(out), err
}
