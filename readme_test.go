package culvert_test

import (
	"context"
	"crypto/ed25519"
	"io"
	"os"
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
	source, err := os.ReadFile("readme_test.go")
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
				t.Errorf("%s has Go that readme_test.go does not compile:\n%s", page, block)
			}
		}
	}
	if found < 4 {
		t.Errorf("only %d blocks of Go were found", found)
	}
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
