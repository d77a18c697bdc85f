package wal

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"culvert/internal/testkit/crashfs"
)

// TestShortSegments opens a log for each of many entries, and closes it, or is killed. The log neither gets a segment
// for each, nor copies a large one.
func TestShortSegments(t *testing.T) {
	for name, test := range map[string]struct {
		entry   int
		most    int // segments
		options Options
		killed  bool
	}{
		"closed":          {entry: 8, most: 3},
		"killed":          {entry: 8, most: 3, killed: true},
		"killed unsynced": {entry: 8, most: 3, killed: true, options: Options{Sync: None}},
		"encrypted":       {entry: 8, most: 3, options: Options{Key: bytes.Repeat([]byte{7}, 32)}},
		"long entries":    {entry: 30 << 10, most: 200*30/256 + 20},
		"small segments":  {entry: 50, most: 20, options: Options{SegmentSize: minSegmentSize}},
	} {
		t.Run(name, func(t *testing.T) {
			d := crashfs.New("/data")
			var want []string
			most := 0
			for i := range 200 {
				options := test.options
				options.SegmentSize = cmp.Or(options.SegmentSize, 1<<20)
				options.fs = d.Boot()
				log, recovery, err := Open(simulatedDir, options)
				if err != nil {
					t.Fatal(err)
				}
				if recovery.Last != LSN(i) {
					t.Errorf("%+v after %d entries", recovery, i)
				}
				entry := fmt.Sprint(i, strings.Repeat("x", test.entry))
				mustAppend(t, log, entry)
				want = append(want, entry)
				most = max(most, len(log.Segments()))
				if i%50 == 49 {
					if got := mustRead(t, log, 0); !slices.Equal(got, want) {
						t.Errorf("%d entries, want %d", len(got), len(want))
					}
				}
				if !test.killed {
					if err := log.Close(); err != nil {
						t.Error(err)
					}
				}
				d.Kill()
				_ = log.Close() // for its goroutines
			}
			if most > test.most {
				t.Errorf("%d segments, want at most %d", most, test.most)
			}
		})
	}
}

// twoShort returns a disk with a log of two short segments that are sealed.
func twoShort(t *testing.T) *crashfs.Disk {
	t.Helper()
	d := crashfs.New("/data")
	for _, entry := range []string{"one", "two"} {
		log, _, err := Open(simulatedDir, Options{SegmentSize: minSegmentSize, fs: d.Boot()})
		if err != nil {
			t.Fatal(err)
		}
		mustAppend(t, log, entry)
		if err := log.Close(); err != nil {
			t.Fatal(err)
		}
		d.Kill()
	}
	return d
}

// TestShortSegmentsFaults has each operation fail while Open joins segments. Without room for the new segment, the log
// is as it was, and after any fault the next Open has all entries.
func TestShortSegmentsFaults(t *testing.T) {
	origin := twoShort(t)
	joins := 0
	for _, fault := range []crashfs.Fault{crashfs.IO, crashfs.NoSpace} {
		for failing, met := 1, true; met; failing++ {
			d := origin.Clone()
			met = false
			var kind crashfs.Kind
			d.Hook = func(o crashfs.Operation) crashfs.Fault {
				if o.Number != failing {
					return crashfs.None
				}
				met, kind = true, o.Kind
				if kind == crashfs.Rename {
					joins++
				}
				return fault
			}
			log, _, err := Open(simulatedDir, Options{SegmentSize: minSegmentSize, fs: d.Boot()})
			d.Hook = nil
			if err == nil {
				if got := mustRead(t, log, 0); !slices.Equal(got, []string{"one", "two"}) {
					t.Errorf("fault %v of a %v: %q", fault, kind, got)
				}
				_ = log.Close()
			} else if fault == crashfs.NoSpace && (kind == crashfs.Reserve || kind == crashfs.Create) {
				t.Errorf("no room for a new segment: %v", err)
			}
			d.Kill()
			if log, _, err = Open(simulatedDir, Options{SegmentSize: minSegmentSize, fs: d.Boot()}); err != nil {
				t.Fatalf("after fault %v of a %v: %v", fault, kind, err)
			}
			if got := mustRead(t, log, 0); !slices.Equal(got, []string{"one", "two"}) {
				t.Errorf("after fault %v of a %v: %q", fault, kind, got)
			}
			if err := log.Close(); err != nil {
				t.Error(err)
			}
		}
	}
	if joins != 2 {
		t.Errorf("%d faults of the name of a joined segment, want one of each kind", joins)
	}
}

// TestDamagedShortSegment has Open find damage in a segment that it would join. The log opens, as with damage in any
// other segment, and reading finds it.
func TestDamagedShortSegment(t *testing.T) {
	d := twoShort(t)
	for name, content := range d.Files(simulatedDir) {
		if i := bytes.Index(content, []byte("one")); i >= 0 {
			content[i]++
			d.Put(simulatedDir+"/"+name, content)
		}
	}
	for range 2 {
		log, recovery, err := Open(simulatedDir, Options{SegmentSize: minSegmentSize, fs: d.Boot()})
		if err != nil || recovery.Last != 2 {
			t.Fatalf("%+v, %v", recovery, err)
		}
		if got, err := contents(log.Records(background, 0)); !errors.Is(err, ErrCorrupt) {
			t.Errorf("%q, %v", got, err)
		}
		if got := mustRead(t, log, 2); !slices.Equal(got, []string{"two"}) {
			t.Errorf("%q", got)
		}
		if err := log.Close(); err != nil {
			t.Error(err)
		}
		d.Kill()
	}
}
