package wal

import (
	"encoding/binary"
	"errors"
	"math"
	"os"
	"path/filepath"
	"testing"

	"culvert/internal/testkit/crashfs"
)

// TestOtherFiles checks that a log does not touch files of others.
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

// TestDoubtfulHeads tears a record whose payload is full of heads of records that each claim the rest of the segment.
// In a segment of the usual size, reading all of that would take hours. Heads without the salt of the segment are
// skipped, and others are read only a few times.
func TestDoubtfulHeads(t *testing.T) {
	for _, known := range []bool{false, true} {
		d := crashfs.New("/data")
		options := Options{SegmentSize: 4 << 20, fs: d.Boot()}
		log, _, err := Open(simulatedDir, options)
		if err != nil {
			t.Fatal(err)
		}
		mustAppend(t, log, "first")
		payload := make([]byte, 3<<20)
		for at := 0; at < len(payload)-2*recordHead; at += recordHead {
			head := payload[at:]
			head[0] = 1
			binary.LittleEndian.PutUint32(head[4:], uint32(len(payload)-at-2*recordHead))
			if known {
				copy(head[10:16], log.active.salt[:])
			}
			binary.LittleEndian.PutUint64(head[16:], 5)
			binary.LittleEndian.PutUint64(head[24:], 4)
		}
		mustAppend(t, log, string(payload))
		d.Kill()
		_ = log.Close() // for its goroutines
		clear(d.Files(simulatedDir)[segmentName(1)][headerSize+40:][:64])
		reads := 0
		d.Hook = func(o crashfs.Operation) crashfs.Fault {
			if o.Kind == crashfs.Read {
				reads++
			}
			return crashfs.None
		}
		options.fs = d.Boot()
		log, recovery, err := Open(simulatedDir, options)
		if known != errors.Is(err, ErrCorrupt) || !known && (err != nil || recovery.Last != 1 || recovery.Torn == 0) {
			t.Errorf("known %v: %+v, %v", known, recovery, err)
		}
		if reads > 100 {
			t.Errorf("known %v: %d reads", known, reads)
		}
		if err == nil {
			err = log.Close()
		}
		if err != nil && !known {
			t.Error(err)
		}
	}
}

// TestFarthestNumbers opens headers with the largest numbers.
func TestFarthestNumbers(t *testing.T) {
	for name, offset := range map[string]int{"number": 32, "generation": 40, "base": 48, "first": 56} {
		t.Run(name, func(t *testing.T) {
			d := threeSegments(t, nil)
			b := d.Files(simulatedDir)[segmentName(3)]
			for _, slot := range [][]byte{b[:slotSize], b[slotSize:headerSize]} {
				binary.LittleEndian.PutUint64(slot[offset:], math.MaxUint64)
				sign(slot)
			}
			if name == "number" {
				d.Put(filepath.Join(simulatedDir, segmentName(math.MaxUint64)), b)
			}
			if _, _, err := Open(simulatedDir, Options{fs: d.Boot()}); !errors.Is(err, ErrCorrupt) {
				t.Errorf("error is %v", err)
			}
		})
	}
}

// TestEndBeforeFirst loses entries that were durable, with all that could tell so: what tells is that the log begins
// behind them.
func TestEndBeforeFirst(t *testing.T) {
	d := crashfs.New("/data")
	log, _, err := Open(simulatedDir, Options{SegmentSize: minSegmentSize, fs: d.Boot()})
	if err != nil {
		t.Fatal(err)
	}
	for range 10 {
		mustAppend(t, log, "entry")
	}
	if err := log.TruncateFront(9); err != nil {
		t.Fatal(err)
	}
	d.Kill()
	_ = log.Close() // for its goroutines
	clear(d.Files(simulatedDir)[segmentName(1)][headerSize+3*40:])
	session := d.Boot()
	if _, _, err := openReader(session, simulatedDir, nil); !errors.Is(err, ErrCorrupt) {
		t.Errorf("a reader has %v", err)
	}
	if _, _, err := Open(simulatedDir, Options{fs: session}); !errors.Is(err, ErrCorrupt) {
		t.Errorf("a writer has %v", err)
	}
	r, err := repair(background, session, simulatedDir, "/data/new", nil)
	if err != nil || r.Damage == nil || r.First != 9 || r.Last != 8 {
		t.Errorf("%+v, %v", r, err)
	}
}
