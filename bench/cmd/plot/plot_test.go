package main

import (
	"bytes"
	"cmp"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// written has the program write a page with the example's results, and returns it and its directory.
func written(t *testing.T, page string) (text, dir string, err error) {
	t.Helper()
	dir = t.TempDir()
	name := filepath.Join(dir, "page.md")
	if err := os.WriteFile(name, []byte(page), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := run([]string{"-results", "testdata", name}); err != nil {
		return "", "", err
	}
	content, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(content), dir, nil
}

const asked = "# Fast\n\n<!-- figures: mounts 2026-01-31-example-2 2026-01-31-example -->\nreplaced\n" +
	"<!-- end of figures -->\n\nMore.\n"

func TestPage(t *testing.T) {
	text, dir, err := written(t, asked)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"# Fast\n\n<!-- figures: mounts 2026-01-31-example-2 2026-01-31-example -->\n\n" +
			"![Using the files of another machine in a mount](pictures/mounts.svg)\n\n" +
			"| work | beside | 2 cores | 4 cores | processor time, 2 cores | processor time, 4 cores |\n" +
			"|---|---|---|---|---|---|\n",
		"| 1 GiB read by `dd`, cold | `sshfs`, aes128-gcm | 300 → 1,500 MB/s, **5.0 ×** | " +
			"300 → 1,500 MB/s, **5.0 ×** | 3.20 s → 1.62 s, 0.51 × | 4.00 s → 2.50 s, 0.62 × |\n" +
			"|  | go-fuse, from memory | ",
		"\n\n<!-- end of figures -->\n\nMore.\n",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the page has no %q:\n%s", want, text)
		}
	}
	if strings.Contains(text, "replaced") {
		t.Errorf("the page still has what it had:\n%s", text)
	}
	again, sameDir, err := written(t, text)
	if err != nil {
		t.Fatal(err)
	}
	if again != text {
		t.Errorf("written once more, the page is another one:\n%s", again)
	}
	if !bytes.Equal(read(t, dir, "pictures/mounts.svg"), read(t, sameDir, "pictures/mounts.svg")) {
		t.Error("the picture differs from one run to the next")
	}
}

func read(t *testing.T, parts ...string) []byte {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(parts...))
	if err != nil {
		t.Fatal(err)
	}
	return content
}

// TestHosts names machines that have as many cores.
func TestHosts(t *testing.T) {
	text, _, err := written(t, strings.Replace(asked, "2026-01-31-example -->", "2026-01-31-example-2 -->", 1))
	if err != nil {
		t.Fatal(err)
	}
	const want = "| 2 cores (example) | 2 cores (example) | processor time, 2 cores (example) |"
	if !strings.Contains(text, want) {
		t.Errorf("the page has no %q:\n%s", want, text)
	}
}

// TestPicture has bars on one scale in each group, and room for the values behind them.
func TestPicture(t *testing.T) {
	p, err := topic{works: mounts}.picture(filepath.Join("testdata", "2026-01-31-example"))
	if err != nil {
		t.Fatal(err)
	}
	drawn := regexp.MustCompile(`width="([\d.]+)" height="20.0" fill="(#\w+)"`).FindAllSubmatch(p.svg(), -1)
	for _, g := range p.groups {
		var first float64 // the length of a nanosecond
		for _, b := range g.bars {
			length, err := strconv.ParseFloat(string(drawn[0][1]), 64)
			if err != nil || length > width || b.isOurs != (string(drawn[0][2]) == oursColor) {
				t.Errorf("%s: %s is drawn as %s", g.title, b.label, drawn[0][0])
			}
			first = cmp.Or(first, length/b.value.Median)
			if math.Abs(length-first*b.value.Median) > 0.2 {
				t.Errorf("%s: %s is %v long, want %v", g.title, b.label, length, first*b.value.Median)
			}
			drawn = drawn[1:]
		}
	}
	if len(drawn) != 0 {
		t.Errorf("there are %d more bars", len(drawn))
	}
}

// TestBeside words a comparison so that it need not be inverted by the reader.
func TestBeside(t *testing.T) {
	for ratio, want := range map[float64]string{
		33: "33 × as long", 1.4: "1.4 × as long", 1.04: "about as long", 0.999: "about as long", 0.96: "about as long",
		0.74: "26 % less time",
	} {
		if got := beside(ratio); got != want {
			t.Errorf("a peer that takes %v times as long has the note %q, want %q", ratio, got, want)
		}
	}
	if got := times(0.999); got != "1.0 ×" {
		t.Errorf("0.999 is written as %q", got)
	}
}

func TestRefusals(t *testing.T) {
	for page, want := range map[string]string{
		"# Fast\n": "has no lines",
		"<!-- figures: exports -->\n<!-- end of figures -->\n":                      "a directory of",
		"<!-- figures: imports 2026-01-31-example -->\n<!-- end of figures -->\n":   `no topic "imports"`,
		"<!-- figures: exports 2026-01-30-elsewhere -->\n<!-- end of figures -->\n": "there is nothing in",
	} {
		if _, _, err := written(t, page); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error for %q is %v, want %q in it", page, err, want)
		}
	}
	if err := run([]string{"one.md", "two.md"}); err == nil {
		t.Error("no error for two pages")
	}
}

// TestReadme finds the few figures of the README in the page of the documentation, which is current.
func TestReadme(t *testing.T) {
	root := filepath.Join("..", "..", "..")
	readme, page := string(read(t, root, "README.md")), string(read(t, root, "docs", "performance.md"))
	_, table, _ := strings.Cut(readme, "| work | other tools | their time | Culvert's time |\n|---|---|---|---|\n")
	table, _, _ = strings.Cut(table, "\n\n")
	lines := strings.Split(table, "\n")
	if len(lines) != 5 {
		t.Fatalf("the README has the figures %q, want five", lines)
	}
	for _, line := range lines {
		cells := strings.Split(strings.ReplaceAll(line, `\|`, ""), " | ")
		figures := cells[len(cells)-2] + " → " + strings.TrimSuffix(cells[len(cells)-1], " |")
		if !strings.Contains(page, "| "+figures+", **") {
			t.Errorf("docs/performance.md has no %q, which the README has: %s", figures, line)
		}
	}
}

// TestCurrent writes the page of the documentation once more: its figures must be those of the results.
func TestCurrent(t *testing.T) {
	docs := filepath.Join("..", "..", "..", "docs")
	page := read(t, docs, "performance.md")
	dir := t.TempDir()
	name := filepath.Join(dir, "performance.md")
	if err := os.WriteFile(name, page, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := writePage(name, filepath.Join("..", "..", "results")); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(read(t, name), page) {
		t.Error("docs/performance.md is not current; write it: cd bench && go run ./cmd/plot")
	}
	pictures, err := os.ReadDir(filepath.Join(docs, "pictures"))
	if err != nil {
		t.Fatal(err)
	}
	for _, picture := range pictures {
		drawn, want := read(t, dir, "pictures", picture.Name()), read(t, docs, "pictures", picture.Name())
		if !bytes.Equal(drawn, want) {
			t.Errorf("docs/pictures/%s is not current; draw it: cd bench && go run ./cmd/plot", picture.Name())
		}
	}
}
