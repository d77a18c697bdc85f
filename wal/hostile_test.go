//go:build unix

package wal

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// TestNotFiles opens directories in which something else has the name of a file of a log: nothing waits for it, and
// nothing is written through it.
func TestNotFiles(t *testing.T) {
	makers := map[string]func(name string) error{
		"pipe":      func(name string) error { return unix.Mkfifo(name, 0o600) },
		"directory": func(name string) error { return os.Mkdir(name, 0o700) },
		"device":    func(name string) error { return os.Symlink("/dev/zero", name) },
		"loop":      func(name string) error { return os.Symlink(name, name) },
	}
	for what, put := range makers {
		t.Run(what, func(t *testing.T) {
			dir := t.TempDir()
			if err := put(filepath.Join(dir, segmentName(1))); err != nil {
				t.Fatal(err)
			}
			if _, _, err := OpenReader(dir, nil); err == nil {
				t.Error("a reader has taken it")
			}
			if log, _, err := Open(dir, Options{}); err == nil {
				t.Error("a writer has taken it", log.Close())
			}
		})
	}
	t.Run("link", func(t *testing.T) {
		log, dir := newLog(t, Options{SegmentSize: minSegmentSize})
		mustAppend(t, log, "1")
		victim := filepath.Join(t.TempDir(), "victim")
		err := errors.Join(os.WriteFile(victim, []byte("mine"), 0o600),
			os.Symlink(victim, filepath.Join(dir, segmentName(2)+temporary)))
		if err != nil {
			t.Fatal(err)
		}
		mustAppend(t, log, strings.Repeat("x", 4060))
		if b, err := os.ReadFile(victim); err != nil || string(b) != "mine" {
			t.Errorf("%d bytes behind the link, %v", len(b), err)
		}
	})
}

// TestOtherFiles sees that a log leaves alone what is not its own.
func TestOtherFiles(t *testing.T) {
	log, dir := newLog(t, Options{})
	mustAppend(t, log, "1")
	if err := log.Close(); err != nil {
		t.Fatal(err)
	}
	mine, leaving := filepath.Join(dir, "notes.tmp"), filepath.Join(dir, segmentName(9)+temporary)
	for _, name := range []string{mine, leaving} {
		if err := os.WriteFile(name, []byte("text"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	log, _, err := Open(dir, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := log.Close(); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(mine); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(leaving); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the rest of an earlier writer is still there: %v", err)
	}
}
