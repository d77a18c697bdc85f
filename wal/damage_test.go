package wal

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"culvert/internal/testkit"
	"culvert/internal/testkit/crashfs"
)

// image makes a small log, and leaves it without closing it or closed. It has two segments, and its first entry is cut
// off; the last group is not proven durable if it was not closed.
func image(t testing.TB, key []byte, closed bool) (*crashfs.Disk, *crashfs.Model) {
	t.Helper()
	disk, model := crashfs.New("/data"), crashfs.NewModel()
	log, _, err := Open(simulatedDir, Options{SegmentSize: minSegmentSize, Key: key, fs: disk.Boot()})
	if err != nil {
		t.Fatal(err)
	}
	steps := []func(*life) error{
		add(100), add(2000, 300), add(1500), add(10, 0, 20), cutFront(2), add(50), add(200, 100),
	}
	if closed {
		steps = append(steps, closes)
	}
	for _, step := range steps {
		if err := step(&life{log: log, model: model}); err != nil {
			t.Fatal(err)
		}
	}
	disk.Crash(func(int) int { return 1 })
	if err := log.Close(); err == nil && !closed {
		t.Fatal("the program had ended")
	}
	return disk, model
}

// TestFlippedBits flips a bit of many bytes of a log, or of every byte in the long form. It must be found, or be in a
// place where it does not matter: in the one of two headers that is not needed, or behind the end. Only in the records
// that nothing proves durable it may look like a torn end.
func TestFlippedBits(t *testing.T) {
	key := bytes.Repeat([]byte{9}, keySize)
	for _, test := range []struct {
		name   string
		key    []byte
		closed bool
	}{{"open", nil, false}, {"closed", nil, true}, {"open, encrypted", key, false}, {"closed, encrypted", key, true}} {
		t.Run(test.name, func(t *testing.T) {
			random := rand.New(rand.NewPCG(4, 4))
			pristine, model := image(t, test.key, test.closed)
			unproven := unprovenFrom(t, pristine, test.key)
			files := pristine.Files(simulatedDir)
			delete(files, lockName)
			names := slices.Sorted(maps.Keys(files))
			if len(names) < 2 {
				t.Fatal("there is one segment only")
			}
			outcomes := map[string]int{}
			for i, name := range names {
				content := pristine.Files(simulatedDir)[name]
				for offset := 0; offset < len(content); offset += stepToNextFlip(random, content, offset) {
					damaged := pristine.Clone()
					damaged.Files(simulatedDir)[name][offset] ^= 1 << random.IntN(8)
					outcome, err := afterDamage(damaged, model, test.key)
					if err != nil {
						t.Fatalf("%s, offset %d: %v", name, offset, err)
					}
					if outcome == "shorter" && (i < len(names)-1 || int64(offset) < unproven) {
						t.Fatalf("%s, offset %d: entries that were durable are gone without an error", name, offset)
					}
					outcomes[outcome]++
				}
			}
			t.Log(outcomes)
			if outcomes["found"] == 0 || !test.closed && outcomes["shorter"] == 0 {
				t.Error("the test has missed the records")
			}
			if test.closed && outcomes["shorter"] > 0 {
				t.Error("a closed log has lost its end without an error")
			}
		})
	}
}

// stepToNextFlip returns how far behind an offset the next bit is flipped. Bytes that only a checksum reads are all the
// same: those of the payloads, and the zeros behind the fields of a header and behind the records.
func stepToNextFlip(random *rand.Rand, content []byte, offset int) int {
	longest := 5
	switch {
	case testkit.Soak():
		return 1
	case testkit.RaceDetector(): // nothing runs at the same time here
		longest = 300
	case offset > recordHead && isZero(content[offset-recordHead:min(len(content), offset+recordHead)]):
		longest = 300
	case offset > headerSize && bytes.Count(content[offset-recordHead:offset], content[offset:][:1]) == recordHead:
		longest = 60 // a payload that repeats one letter
	}
	return 1 + random.IntN(longest)
}

// unprovenFrom is where the records begin in the last segment that nothing proves durable.
func unprovenFrom(t *testing.T, d *crashfs.Disk, key []byte) int64 {
	t.Helper()
	session := d.Boot()
	defer d.Kill()
	inv, err := load(folderOf(t, session), key, nil, false)
	if err != nil {
		t.Fatal(err)
	}
	last := inv.chain[len(inv.chain)-1]
	if last.sealed {
		return last.size
	}
	if unproven := inv.tail.last - inv.tail.proven; unproven != 2 {
		t.Fatalf("nothing proves %d entries durable, but only the last group should be so", unproven)
	}
	file, err := folderOf(t, session).Open(last.name(), false)
	if err != nil {
		t.Fatal(err)
	}
	scan := newScanner(last, file, nil)
	if err := scan.skipTo(inv.tail.proven + 1); err != nil {
		t.Fatal(err)
	}
	return scan.offset
}

// afterDamage opens and reads a damaged log. Either all entries are there, or the damage is found, or complete groups
// are missing at the end. Entries that are read before an error are right.
func afterDamage(d *crashfs.Disk, model *crashfs.Model, key []byte) (outcome string, err error) {
	log, _, err := Open(simulatedDir, Options{SegmentSize: minSegmentSize, Key: key, fs: d.Boot()})
	if err != nil {
		return "found", onlyCorrupt(err)
	}
	var entries []string
	for r, err := range log.Records(context.Background(), 0) {
		if err != nil {
			return "found", errors.Join(onlyCorrupt(err), model.Right(int(log.First()), entries), log.Close())
		}
		entries = append(entries, string(r.Data))
	}
	if err := log.Close(); err != nil {
		return "", err
	}
	if log.Last() == LSN(model.Last()) {
		return "same", model.Match(int(log.First()), entries, true)
	}
	return "shorter", model.Whole(int(log.First()), entries)
}

func onlyCorrupt(err error) error {
	var where *SegmentError
	if !errors.Is(err, ErrCorrupt) || !errors.As(err, &where) || where.Segment == "" {
		return fmt.Errorf("not a damage with its place: %w", err)
	}
	return nil
}

// TestDamageAfterRecovery flips bits in the records that a recovery has copied to a new segment. They were synced, so a
// torn end is no excuse.
func TestDamageAfterRecovery(t *testing.T) {
	d, model := image(t, nil, false)
	log, recovery, err := Open(simulatedDir, Options{SegmentSize: minSegmentSize, fs: d.Boot()})
	if err != nil || recovery.Unproven == 0 {
		t.Fatal(recovery, err)
	}
	d.Crash(func(int) int { return 1 })
	_ = log.Close() // for its goroutines
	_, again, err := openReader(d.Boot(), simulatedDir, nil)
	if err != nil || again.Unproven != 0 || again.Last != recovery.Last {
		t.Fatal(again, err)
	}
	d.Kill()
	name := segmentName(3)
	for offset := headerSize; offset < headerSize+recordHead; offset++ {
		damaged := d.Clone()
		damaged.Files(simulatedDir)[name][offset] ^= 1
		outcome, err := afterDamage(damaged, model, nil)
		if err != nil || outcome != "found" {
			t.Errorf("offset %d: %s, %v", offset, outcome, err)
		}
	}
}

// TestStaleRecords puts good records where they do not belong: behind the end, where one of that LSN would come next.
func TestStaleRecords(t *testing.T) {
	// The logs of image have records of the same LSNs at the same places.
	d, model := image(t, nil, false)
	other, _ := image(t, nil, false)
	name := segmentName(2)
	from, last := placesOf(t, d), model.Last()
	foreign := other.Files(simulatedDir)[name][from.last:from.end]
	tests := map[string]func(content []byte){
		"of another log":      func(content []byte) { copy(content[from.last:], foreign) },
		"of this segment":     func(content []byte) { copy(content[from.end:], content[from.last:from.end]) },
		"of a group, in part": func(content []byte) { clear(content[from.inGroup:from.end]) },
	}
	for what, put := range tests {
		t.Run(what, func(t *testing.T) {
			stale := d.Clone()
			put(stale.Files(simulatedDir)[name])
			log, recovery, err := Open(simulatedDir, Options{SegmentSize: minSegmentSize, fs: stale.Boot()})
			if err != nil {
				t.Fatal(err)
			}
			entries, err := contents(log.Records(context.Background(), 0))
			if err := errors.Join(err, log.Close(), model.Whole(2, entries)); err != nil {
				t.Error(err)
			}
			want := last - 3 // without the first entry and the last group
			if what == "of this segment" {
				want = last - 1
			}
			if len(entries) != want || recovery.Torn == 0 {
				t.Errorf("%d entries of %d, %+v", len(entries), want, recovery)
			}
		})
	}
}

// places are offsets in the last segment: of the last group, of the second entry of that, and of the end.
type places struct{ last, inGroup, end int64 }

func placesOf(t *testing.T, d *crashfs.Disk) (p places) {
	t.Helper()
	session := d.Boot()
	defer d.Kill()
	inv, err := load(folderOf(t, session), nil, nil, false)
	if err != nil {
		t.Fatal(err)
	}
	file, err := folderOf(t, session).Open(inv.chain[1].name(), false)
	if err != nil {
		t.Fatal(err)
	}
	scan := newScanner(inv.chain[1], file, nil)
	for scan.next <= inv.tail.last {
		p.last, p.inGroup = p.inGroup, scan.offset
		if _, v, err := scan.scan(); v != good || err != nil {
			t.Fatal(v, err)
		}
	}
	p.end = scan.offset
	return p
}

func folderOf(t *testing.T, session *crashfs.Session) folder {
	t.Helper()
	dir, err := openFolder(session, simulatedDir)
	if err != nil {
		t.Fatal(err)
	}
	return dir
}
