package culvert_test

import (
	"context"
	"crypto/ed25519"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"filippo.io/age"
	"gorm.io/gorm"

	"culvert/export"
	"culvert/format"
	"culvert/gormdb"
	"culvert/postgres"
	"culvert/secureconn"
	"culvert/wal"
)

// TestGoOfPages finds the Go of the documentation in this file, so that all of it compiles.
func TestGoOfPages(t *testing.T) {
	source, err := os.ReadFile("pages_test.go")
	if err != nil {
		t.Fatal(err)
	}
	compiled, found := flat(string(source)), 0
	for _, page := range []string{"README.md", "docs/packages.md"} {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for i, block := range strings.Split(string(text), "```go\n") {
			if i == 0 {
				continue
			}
			found++
			block, _, _ = strings.Cut(block, "```")
			if !strings.Contains(compiled, flat(block)) {
				t.Errorf("%s has Go that pages_test.go does not compile:\n%s", page, block)
			}
		}
	}
	if found < 4 {
		t.Errorf("only %d blocks of Go were found", found)
	}
}

var (
	linkOfPage = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	heading    = regexp.MustCompile(`(?m)^#+ (.*)$`)
	fenced     = regexp.MustCompile("(?ms)^```.*?^```")
	notInLinks = regexp.MustCompile(`[^\p{L}\p{N} _-]`)
)

// TestLinksOfPages finds the files and headings to which the pages of the repository link.
func TestLinksOfPages(t *testing.T) {
	var pages []string
	for _, pattern := range []string{"*.md", "docs/*.md", "*/SPEC.md", "bench/*.md"} {
		found, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		pages = append(pages, found...)
	}
	links := 0
	for _, page := range pages {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, match := range linkOfPage.FindAllStringSubmatch(fenced.ReplaceAllString(string(text), ""), -1) {
			if strings.Contains(match[1], "://") {
				continue
			}
			links++
			file, anchor, _ := strings.Cut(match[1], "#")
			target := page
			if file != "" {
				target = filepath.Join(filepath.Dir(page), file)
			}
			if _, err := os.Stat(target); err != nil {
				t.Errorf("%s links to %s, which does not exist", page, match[1])
			} else if anchor != "" && !slices.Contains(anchorsOf(t, target), anchor) {
				t.Errorf("%s links to %s, which has no such heading", page, match[1])
			}
		}
	}
	if links < 50 {
		t.Errorf("only %d links were found", links)
	}
}

// TestTestsOfPages finds the tests that the pages name.
func TestTestsOfPages(t *testing.T) {
	pages, err := filepath.Glob("docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	named := map[string]string{} // the page, by the test
	for _, page := range pages {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, match := range regexp.MustCompile("`(Test[A-Z][A-Za-z]+)").FindAllStringSubmatch(string(text), -1) {
			named[match[1]] = page
		}
	}
	if len(named) < 5 {
		t.Errorf("only %d tests are named", len(named))
	}
	err = filepath.WalkDir(".", func(file string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || !strings.HasSuffix(file, "_test.go") {
			return err
		}
		source, err := os.ReadFile(file)
		for _, match := range regexp.MustCompile(`(?m)^func (Test\w+)\(`).FindAllStringSubmatch(string(source), -1) {
			delete(named, match[1])
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for test, page := range named {
		t.Errorf("%s names %s, which does not exist", page, test)
	}
}

// anchorsOf returns the names that GitHub gives to the headings of a page.
func anchorsOf(t *testing.T, page string) (anchors []string) {
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	for _, match := range heading.FindAllStringSubmatch(fenced.ReplaceAllString(string(text), ""), -1) {
		title := notInLinks.ReplaceAllString(strings.ToLower(match[1]), "")
		anchors = append(anchors, strings.ReplaceAll(title, " ", "-"))
	}
	return anchors
}

// flat removes indentation.
func flat(text string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		b.WriteString(strings.TrimSpace(line) + "\n")
	}
	return b.String()
}

var _ = func(ctx context.Context, file io.Writer, recipient age.Recipient) error {
	src, err := postgres.OpenSource(ctx, "postgres://me@db.example/shop")
	if err != nil {
		return err
	}
	defer src.Close()
	plan := export.Plan{Recipients: []age.Recipient{recipient}, Format: format.JSONL{}}
	stats, err := plan.Table(ctx, file, src, "orders")
	_ = stats
	return err
}

type Todo struct{}

var _ = func(ctx context.Context, file io.Writer, plan export.Plan, db *gorm.DB) error {
	todos := db.Model(&Todo{}).Where("done = ?", true).Order("id")
	stats, err := plan.Rows(ctx, file, gormdb.Query(todos))
	_ = stats
	return err
}

var _ = func(ctx context.Context) error {
	log, recovery, err := wal.Open("journal", wal.Options{}) // recovery says what was cut off after a crash
	if err != nil {
		return err
	}
	lsn, err := log.Append(ctx, []byte("debit 100"), []byte("credit 100")) // both or none, on the disk
	_, _ = recovery, lsn
	return err
}

var _ = func(fingerprintOfTheOther string) error {
	public, key, err := ed25519.GenerateKey(nil) // once on each side; tell the other secureconn.Fingerprint(public)
	if err != nil {
		return err
	}
	config := &secureconn.Config{Key: key, Peers: []string{fingerprintOfTheOther}}
	listener, err := secureconn.Listen("tcp", ":7000", config) // one side
	_, _ = public, listener
	return err
}

var _ = func(ctx context.Context, config *secureconn.Config) error {
	conn, err := secureconn.Dial(ctx, "tcp", "files.example:7000", config) // the other
	_ = conn
	return err
}
