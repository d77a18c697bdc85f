package wal

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"maps"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"testing"

	"culvert/internal/disk"
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

// TestFlippedBits flips a bit of every byte of a log, or of every few bytes in a short run. It must be found, or be in
// a place where it does not matter: in the one of two headers that is not needed, or behind the end. Only in the
// records that nothing proves durable it may look like a torn end.
func TestFlippedBits(t *testing.T) {
	key := bytes.Repeat([]byte{9}, keySize)
	step := 7
	switch {
	case raceEnabled:
		step = 101
	case thorough:
		step = 1
	}
	for _, test := range []struct {
		name   string
		key    []byte
		closed bool
	}{{"open", nil, false}, {"closed", nil, true}, {"open, encrypted", key, false}, {"closed, encrypted", key, true}} {
		t.Run(test.name, func(t *testing.T) {
			random := rand.New(rand.NewPCG(4, 4))
			pristine, model := image(t, test.key, test.closed)
			unproven := unprovenFrom(t, pristine, test.key)
			names := slices.Sorted(maps.Keys(pristine.Files(simulatedDir)))
			if len(names) < 2 {
				t.Fatal("there is one segment only")
			}
			outcomes := map[string]int{}
			for i, name := range names {
				for offset := random.IntN(step); offset < len(pristine.Files(simulatedDir)[name]); offset += step {
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

// unprovenFrom is where the records begin in the last segment that nothing proves durable.
func unprovenFrom(t *testing.T, d *crashfs.Disk, key []byte) int64 {
	t.Helper()
	session := d.Boot()
	defer d.Kill()
	inv, err := load(session, simulatedDir, key, false)
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
	file, err := session.Open(last.path, false)
	if err != nil {
		t.Fatal(err)
	}
	scan := newScanner(last, file, nil)
	if err := scan.skipTo(inv.tail.proven + 1); err != nil {
		t.Fatal(err)
	}
	return scan.offset
}

// afterDamage opens and reads a damaged log: all is there, the damage is found, or it is shorter by whole groups. What
// it gives before an error is right.
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

// TestBadInput opens what is no log, or not this one.
func TestBadInput(t *testing.T) {
	key, other := bytes.Repeat([]byte{1}, keySize), bytes.Repeat([]byte{2}, keySize)
	first, second := segmentName(1), segmentName(2)
	tests := []struct {
		name    string
		key     []byte // of the log
		with    []byte // it is opened with
		change  func(files map[string][]byte, d *crashfs.Disk)
		want    error
		segment string
		offset  int64
		lsn     LSN
	}{
		{name: "no key", key: key, want: ErrKey, segment: first, offset: slotSize},
		{name: "wrong key", key: key, with: other, want: ErrKey, segment: first, offset: slotSize},
		{name: "needless key", with: key, want: ErrKey, segment: first, offset: slotSize},
		{name: "torn header", change: func(files map[string][]byte, _ *crashfs.Disk) {
			clear(files[second][100:slotSize])
		}},
		{name: "both headers torn", change: func(files map[string][]byte, _ *crashfs.Disk) {
			clear(files[second][100:slotSize])
			clear(files[second][slotSize+512 : headerSize])
			files[second][slotSize+70] ^= 1
		}, want: ErrCorrupt, segment: second},
		{name: "no header", change: func(files map[string][]byte, _ *crashfs.Disk) {
			clear(files[second][:headerSize])
		}, want: ErrCorrupt, segment: second},
		{name: "newer version", change: func(files map[string][]byte, _ *crashfs.Disk) {
			for _, slot := range []int{0, slotSize} {
				b := files[second][slot:][:slotSize]
				b[8] = formatVersion + 1
				sign(b)
			}
		}, want: ErrVersion, segment: second},
		{name: "missing segment", change: func(_ map[string][]byte, d *crashfs.Disk) {
			d.Delete(filepath.Join(simulatedDir, second))
		}, want: ErrCorrupt, segment: segmentName(3), lsn: 3},
		{name: "missing first segment", change: func(_ map[string][]byte, d *crashfs.Disk) {
			d.Delete(filepath.Join(simulatedDir, first))
		}, want: ErrCorrupt, segment: second, lsn: 1},
		{name: "cut off", change: func(files map[string][]byte, d *crashfs.Disk) {
			d.Put(filepath.Join(simulatedDir, segmentName(3)), files[segmentName(3)][:headerSize+8])
		}, want: ErrCorrupt, segment: segmentName(3), offset: headerSize + 8},
		{name: "forged header", key: key, with: key, change: func(files map[string][]byte, _ *crashfs.Disk) {
			for _, slot := range []int{0, slotSize} {
				b := files[second][slot:][:slotSize]
				b[56]++
				sign(b)
			}
		}, want: ErrCorrupt, segment: second, offset: slotSize},
		{name: "damaged record", change: func(files map[string][]byte, _ *crashfs.Disk) {
			files[second][headerSize+recordHead] ^= 1
		}, want: ErrCorrupt, segment: second, offset: headerSize, lsn: 2},
		{name: "segment of another log", change: func(files map[string][]byte, _ *crashfs.Disk) {
			for _, slot := range []int{0, slotSize} {
				b := files[second][slot:][:slotSize]
				b[16] ^= 1
				sign(b)
			}
		}, want: ErrForeign, segment: second, lsn: 2},
		{name: "not a segment", change: func(files map[string][]byte, d *crashfs.Disk) {
			for name := range files {
				d.Put(filepath.Join(simulatedDir, name), bytes.Repeat([]byte("hello"), 2000))
			}
		}, want: ErrForeign, segment: first},
		{name: "not a log", change: func(files map[string][]byte, d *crashfs.Disk) {
			for name := range files {
				d.Delete(filepath.Join(simulatedDir, name))
			}
			d.Put(filepath.Join(simulatedDir, "letter.txt"), []byte("hello"))
		}, want: ErrForeign, segment: "letter.txt"},
		{name: "not a leaving", change: func(files map[string][]byte, d *crashfs.Disk) {
			for name := range files {
				d.Delete(filepath.Join(simulatedDir, name))
			}
			d.Put(filepath.Join(simulatedDir, "letter.tmp"), []byte("hello"))
		}, want: ErrForeign, segment: "letter.tmp"},
		{name: "end before the first entry", change: func(files map[string][]byte, d *crashfs.Disk) {
			for _, slot := range []int{0, slotSize} {
				b := files[segmentName(3)][slot:][:slotSize]
				b[56] = 9
				sign(b)
			}
		}, want: ErrCorrupt, segment: segmentName(3), lsn: 5},
		{name: "forged record", key: key, with: key, change: func(files map[string][]byte, _ *crashfs.Disk) {
			forge(files[second], func(record []byte) { record[recordHead] ^= 1 })
		}, want: ErrCorrupt, segment: second, offset: headerSize, lsn: 2},
		{name: "forged head", key: key, with: key, change: func(files map[string][]byte, _ *crashfs.Disk) {
			forge(files[second], func(record []byte) { record[9] ^= flagGroupEnd })
		}, want: ErrCorrupt, segment: second, offset: headerSize, lsn: 2},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			d := threeSegments(t, test.key)
			if test.change != nil {
				test.change(d.Files(simulatedDir), d)
			}
			err := openAndRead(d.Boot(), test.with)
			if !errors.Is(err, test.want) {
				t.Fatalf("error is %v, want %v", err, test.want)
			}
			var where *SegmentError
			if test.want == nil {
				return
			}
			if !errors.As(err, &where) {
				t.Fatalf("%v does not say where", err)
			}
			if filepath.Base(where.Segment) != test.segment || where.Offset != test.offset || where.LSN != test.lsn {
				t.Errorf("%v, want %s, %d, %d", err, test.segment, test.offset, test.lsn)
			}
		})
	}
}

// threeSegments makes a closed log of three segments, of entries 1, 2 and 3, and 4.
func threeSegments(t *testing.T, key []byte) *crashfs.Disk {
	t.Helper()
	d := crashfs.New("/data")
	log, _, err := Open(simulatedDir, Options{SegmentSize: minSegmentSize, Key: key, fs: d.Boot()})
	if err != nil {
		t.Fatal(err)
	}
	model := crashfs.NewModel()
	for _, step := range []func(*life) error{add(3000), add(1500, 1500), add(3000), closes} {
		if err := step(&life{log: log, model: model}); err != nil {
			t.Fatal(err)
		}
	}
	d.Kill()
	return d
}

func openAndRead(fsys disk.FS, key []byte) error {
	log, _, err := Open(simulatedDir, Options{SegmentSize: minSegmentSize, Key: key, fs: fsys})
	if err != nil {
		return err
	}
	_, err = contents(log.Records(context.Background(), 0))
	return errors.Join(err, log.Close())
}

// sign makes the checksum of a slot right.
func sign(slot []byte) {
	binary.LittleEndian.PutUint32(slot[crcOffset:], crc32.Checksum(slot[:crcOffset], castagnoli))
}

// forge changes the first record of a segment and makes its checksum right.
func forge(content []byte, change func(record []byte)) {
	record := content[headerSize:]
	record = record[:frameHead(record).size]
	change(record)
	seed := crc32.Update(0, castagnoli, content[64:96])
	binary.LittleEndian.PutUint32(record, crc32.Update(seed, castagnoli, record[4:]))
}

// TestDamageAfterRecovery flips bits of what a recovery has copied to a new segment. It was synced, so it cannot pass
// for the trace of a crash.
func TestDamageAfterRecovery(t *testing.T) {
	d, model := image(t, nil, false)
	log, recovery, err := Open(simulatedDir, Options{SegmentSize: minSegmentSize, fs: d.Boot()})
	if err != nil || recovery.Unproven == 0 {
		t.Fatal(recovery, err)
	}
	d.Crash(func(int) int { return 1 })
	_ = log.Close() // for its goroutines
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
	inv, err := load(session, simulatedDir, nil, false)
	if err != nil {
		t.Fatal(err)
	}
	file, err := session.Open(inv.chain[1].path, false)
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
