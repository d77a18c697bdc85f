package main

import (
	"bytes"
	"image"
	"image/png"
	"os"
	"path/filepath"
	"reflect"
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
			"![Using the files of another machine in a mount](pictures/mounts.png)\n\n" +
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
	checkPNG(t, filepath.Join(dir, "pictures", "mounts.png"))

	again, sameDir, err := written(t, text)
	if err != nil {
		t.Fatal(err)
	}
	if again != text {
		t.Errorf("written once more, the page is another one:\n%s", again)
	}
	if !bytes.Equal(read(t, dir, "pictures/mounts.png"), read(t, sameDir, "pictures/mounts.png")) {
		t.Error("the picture differs from one run to the next")
	}
}

// checkPNG expects a picture for dense screens, with a white background and bars of ours.
func checkPNG(t *testing.T, name string) {
	t.Helper()
	picture := pixels(t, name)
	size := picture.Bounds().Size()
	if size.X != width*dpi/72 || size.Y < 300 || size.Y > 3000 {
		t.Errorf("it has %v pixels, want %d of width", size, width*dpi/72)
	}
	var background, ours int
	for y := range size.Y {
		for x := range size.X {
			switch r, g, b, a := picture.At(x, y).RGBA(); {
			case r == 0xffff && g == 0xffff && b == 0xffff && a == 0xffff:
				background++
			case byte(r>>8) == oursColor.R && byte(g>>8) == oursColor.G && byte(b>>8) == oursColor.B:
				ours++
			}
		}
	}
	if all := size.X * size.Y; background < all/2 || ours < all/500 {
		t.Errorf("of %d pixels %d are white and %d in our colour", all, background, ours)
	}
}

// pixels reads a picture, whose bytes depend on the version of Go.
func pixels(t *testing.T, parts ...string) image.Image {
	t.Helper()
	picture, err := png.Decode(bytes.NewReader(read(t, parts...)))
	if err != nil {
		t.Fatal(err)
	}
	return picture
}

func read(t *testing.T, parts ...string) []byte {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(parts...))
	if err != nil {
		t.Fatal(err)
	}
	return content
}

// TestPicture has bars whose values have room, and whose ratios are those of the values beside them.
func TestPicture(t *testing.T) {
	for _, topic := range topics {
		p, err := topic.picture(filepath.Join("testdata", "2026-01-31-example"))
		if err != nil {
			t.Errorf("%s: %v", topic.name, err)
			continue
		}
		for _, g := range p.groups {
			room := width - 2*margin - p.names()
			scale := g.scale(room)
			for _, b := range g.bars {
				length := b.value.P75*scale + float64(gap+b.style().Width(b.text()))
				if length > float64(room)*1.0001 || b.value.Median*scale < 1 {
					t.Errorf("%s, %s: the bar %q is %v long, in %v", topic.name, g.title, b.label, length, room)
				}
			}
		}
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
		"# Fast\n":              "no line that begins",
		"<!-- figures: exports": "does not end with",
		"<!-- figures: exports 2026-01-31-example -->\n":                            "have no",
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
		drawn, want := pixels(t, dir, "pictures", picture.Name()), pixels(t, docs, "pictures", picture.Name())
		if !reflect.DeepEqual(drawn, want) {
			t.Errorf("docs/pictures/%s is not current; draw it: cd bench && go run ./cmd/plot", picture.Name())
		}
	}
}
