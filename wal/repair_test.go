package wal

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"culvert/internal/testkit/crashfs"
)

func TestRepair(t *testing.T) {
	for _, key := range [][]byte{nil, bytes.Repeat([]byte{3}, keySize)} {
		d := threeSegments(t, key)
		damage := map[string]func(*crashfs.Disk){
			"1-4 none":    func(*crashfs.Disk) {},
			"1-1 record":  func(d *crashfs.Disk) { d.Files(simulatedDir)[segmentName(2)][headerSize+40] ^= 1 },
			"1-1 headers": func(d *crashfs.Disk) { clear(d.Files(simulatedDir)[segmentName(2)][:headerSize]) },
			"1-1 missing": func(d *crashfs.Disk) { d.Delete(filepath.Join(simulatedDir, segmentName(2))) },
			"2-4 first":   func(d *crashfs.Disk) { d.Delete(filepath.Join(simulatedDir, segmentName(1))) },
			"1-3 last":    func(d *crashfs.Disk) { clear(d.Files(simulatedDir)[segmentName(3)][headerSize:]) },
		}
		for name, change := range damage {
			t.Run(name, func(t *testing.T) {
				d := d.Clone()
				change(d)
				session := d.Boot()
				r, err := repair(background, session, simulatedDir, "/data/new", key)
				if err != nil {
					t.Fatal(err)
				}
				want := name[:3]
				if got := fmt.Sprintf("%d-%d", r.First, r.Last); got != want || (r.Damage == nil) != (want == "1-4") {
					t.Errorf("%s, damage %v", got, r.Damage)
				}
				log, recovery, err := Open("/data/new", Options{Key: key, SegmentSize: minSegmentSize, fs: session})
				if err != nil {
					t.Fatal(err)
				}
				if !recovery.Clean || recovery.First != r.First || len(mustRead(t, log, 0)) != int(r.Last-r.First+1) {
					t.Errorf("%+v", recovery)
				}
				if err := log.Close(); err != nil {
					t.Error(err)
				}
				if _, err := repair(background, session, simulatedDir, "/data/new", key); err == nil {
					t.Error("a log was written over")
				}
			})
		}
	}
}

// TestRepairChangesNothing has directories without the file of the lock, which must not get one.
func TestRepairChangesNothing(t *testing.T) {
	copied, letters := t.TempDir(), t.TempDir()
	for name, content := range threeSegments(t, nil).Files(simulatedDir) {
		if name == lockName {
			continue
		}
		if err := os.WriteFile(filepath.Join(copied, name), content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(letters, "letter"), []byte("hello"), 0o600); err != nil {
		t.Fatal(err)
	}
	for dir, want := range map[string]error{copied: nil, letters: ErrForeign} {
		before, err := os.ReadDir(dir)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := Repair(background, dir, filepath.Join(t.TempDir(), "new"), nil); !errors.Is(err, want) {
			t.Errorf("%v, not %v", err, want)
		}
		after, err := os.ReadDir(dir)
		if err != nil {
			t.Fatal(err)
		}
		if len(after) != len(before) {
			t.Errorf("%d files have become %d", len(before), len(after))
		}
	}
}

// TestStrangers opens directories of somebody else, in which nothing is made.
func TestStrangers(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "letter"), []byte("hello"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, _, err := Open(dir, Options{}); !errors.Is(err, ErrForeign) {
		t.Errorf("%v, not %v", err, ErrForeign)
	}
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 1 {
		t.Errorf("%d files, %v", len(entries), err)
	}
}
