package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestBucketPushAgain pushes files of the same size once more, some with other bytes. Whatever their times are, none is
// said to be there that is not.
func TestBucketPushAgain(t *testing.T) {
	withBuckets(t, func(t *testing.T, u *bucketUser) {
		_, direct := u.proxy(t, nil)
		write := func(name string, content []byte, modified time.Time) {
			path := filepath.Join(u.dir, "tree", name)
			if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, content, 0o600); err != nil {
				t.Fatal(err)
			}
			if err := os.Chtimes(path, time.Time{}, modified); err != nil {
				t.Fatal(err)
			}
		}
		old := time.Now().Add(-24 * time.Hour)
		write("large", u.big, old)
		write("small", []byte("small"), old)
		write("same", []byte("same"), old)
		tree := filepath.Join(u.dir, "tree") + "/."
		u.want(t, 0, "push", tree, direct)
		_, said := u.want(t, 0, "push", "--force", tree, direct)
		if !strings.Contains(said, "0 files, 3 there already") {
			t.Errorf("again: %q", said)
		}

		older := old.Add(-time.Hour)
		other := bytes.ReplaceAll(u.big, []byte("7"), []byte("x"))
		write("large", other, old) // as from another client
		write("small", []byte("other"), older)
		write("same", []byte("same"), older)
		if _, said = u.want(t, 3, "push", tree, direct); !strings.Contains(said, "1 there already, 2 failed") {
			t.Errorf("without --force: %q", said)
		}
		_, said = u.want(t, 0, "push", "--force", tree, direct)
		if !strings.Contains(said, "2 files, 1 there already") {
			t.Errorf("with --force: %q", said)
		}
		u.want(t, 0, "pull", "-o", "back", direct)
		for name, want := range map[string][]byte{"large": other, "small": []byte("other"), "same": []byte("same")} {
			if got, err := os.ReadFile(filepath.Join(u.dir, "back", name)); err != nil || !bytes.Equal(got, want) {
				t.Errorf("%s has %d bytes, %v", name, len(got), err)
			}
		}
	})
}
