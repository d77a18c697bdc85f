//go:build unix

package wal

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
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

// TestRemovedLock removes the lock of a log that is open, alone or with all of the log, so that another can open it.
// From then on nothing is acknowledged that the other does not know of, and the other is left alone.
func TestRemovedLock(t *testing.T) {
	for name, remove := range map[string]func(dir string) error{
		"lock":      func(dir string) error { return os.Remove(filepath.Join(dir, lockName)) },
		"directory": os.RemoveAll,
	} {
		for _, sync := range []SyncMode{Each, None} {
			t.Run(fmt.Sprintf("%s, sync=%d", name, sync), func(t *testing.T) {
				options := Options{SegmentSize: minSegmentSize, Sync: sync}
				log, dir := newLog(t, options)
				mustAppend(t, log, "1")
				if err := log.Sync(background); err != nil {
					t.Fatal(err)
				}
				if err := remove(dir); err != nil {
					t.Fatal(err)
				}
				other, _, err := Open(dir, options)
				if err != nil {
					t.Fatal(err)
				}
				large := strings.Repeat("x", 4060)
				mustAppend(t, other, large)
				mustAppend(t, other, large)
				want := mustRead(t, other, 0)
				// One that is synced, and one that needs a segment.
				for _, payload := range []string{"2", large} {
					if _, err = log.Append(background, []byte(payload)); err == nil {
						err = log.Sync(background)
					}
					if !errors.Is(err, ErrFailed) {
						t.Errorf("error is %v", err)
					}
				}
				if err := other.Close(); err != nil {
					t.Fatal(err)
				}
				if other, _, err = Open(dir, options); err != nil {
					t.Fatal(err)
				}
				if got := mustRead(t, other, 0); !slices.Equal(got, want) {
					t.Errorf("%d entries, want %d", len(got), len(want))
				}
				if err := other.Close(); err != nil {
					t.Error(err)
				}
			})
		}
	}
}
