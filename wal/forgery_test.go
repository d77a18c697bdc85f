package wal

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"culvert/internal/testkit/crashfs"
)

// history is an encrypted log as it was after each step of its life, and then a copy of it that was made in between
// and lived on by itself.
type history struct {
	key    []byte
	final  int // the last step, before those of the copy
	files  []map[string][]byte
	states [][]string // the entries
	firsts []int
}

// newHistory lets a log live, with cuts and another opening.
func newHistory(t *testing.T) (*history, *crashfs.Disk) {
	t.Helper()
	h := &history{key: bytes.Repeat([]byte{9}, keySize)}
	d := crashfs.New("/data")
	options := Options{SegmentSize: minSegmentSize, Key: h.key, fs: d.Boot()}
	log, _, err := Open(simulatedDir, options)
	if err != nil {
		t.Fatal(err)
	}
	model := crashfs.NewModel()
	steps := []func(*life) error{
		add(1500), add(1000, 1000), add(1200), add(2000), cutBack(5), add(2100), add(40), cutBack(3), add(2200),
		add(900), closes, add(1700), add(2300), cutFront(2), add(800), add(60, 70), closes,
	}
	var fork *crashfs.Disk
	for i, step := range steps {
		if i == 8 {
			fork = d.Clone()
		}
		if i > 0 && log.closed {
			d.Kill()
			options.fs = d.Boot()
			if log, _, err = Open(simulatedDir, options); err != nil {
				t.Fatal(err)
			}
		}
		if err := step(&life{log: log, model: model}); err != nil {
			t.Fatal(err)
		}
		h.note(t, d, log)
	}
	d.Kill()
	h.final = len(steps) - 1
	options.fs = fork.Boot()
	if log, _, err = Open(simulatedDir, options); err != nil {
		t.Fatal(err)
	}
	for i := range 8 {
		mustAppend(t, log, strings.Repeat(fmt.Sprint(i), 1700))
		h.note(t, fork, log)
	}
	if err := log.Close(); err != nil {
		t.Fatal(err)
	}
	return h, d
}

// note remembers the log as it is now.
func (h *history) note(t *testing.T, d *crashfs.Disk, log *Log) {
	t.Helper()
	files := map[string][]byte{}
	for name, b := range d.Files(simulatedDir) {
		files[name] = bytes.Clone(b)
	}
	r, _, err := openReader(log.options.fs, simulatedDir, h.key)
	if err != nil {
		t.Fatal(err)
	}
	entries, err := contents(r.Records(background, 0))
	if err != nil {
		t.Fatal(err)
	}
	h.files, h.firsts, h.states = append(h.files, files), append(h.firsts, int(log.First())), append(h.states, entries)
}

// see opens a forged log. Open or a read must fail, or the log must be as it once was, possibly without its end.
// Entries that are read before an error are right.
func (h *history) see(d *crashfs.Disk) (outcome string, err error) {
	log, _, err := Open(simulatedDir, Options{SegmentSize: minSegmentSize, Key: h.key, fs: d.Boot()})
	if err != nil {
		if errors.Is(err, ErrCorrupt) || errors.Is(err, ErrForeign) || errors.Is(err, ErrKey) {
			return "refused", nil
		}
		return "", err
	}
	defer func() {
		d.Kill()
		_ = log.Close() // for its goroutines
	}()
	outcome = "shorter"
	var entries []string
	for r, err := range log.Records(background, 0) {
		if err != nil {
			outcome = "found"
			break
		}
		entries = append(entries, string(r.Data))
	}
	if outcome == "shorter" && int(log.First()) == h.firsts[h.final] && slices.Equal(entries, h.states[h.final]) {
		return "same", nil
	}
	for i, state := range h.states {
		before := int(log.First()) - h.firsts[i]
		if before >= 0 && before+len(entries) <= len(state) && slices.Equal(entries, state[before:][:len(entries)]) {
			return outcome, nil
		}
	}
	return outcome, fmt.Errorf("%d entries from %d on that were never in the log together", len(entries), log.First())
}

// TestReplayedSegments puts an old state of any segment, any other segment, one of a copy of the log that has lived on
// by itself, or nothing in the place of one of an encrypted log.
func TestReplayedSegments(t *testing.T) {
	h, d := newHistory(t)
	final := h.files[h.final]
	names := map[string]bool{}
	for _, files := range h.files {
		for name := range files {
			names[name] = true
		}
	}
	outcomes := map[string]int{}
	for name := range names {
		for i, files := range h.files {
			for source, content := range files {
				forged := d.Clone()
				forged.Put(filepath.Join(simulatedDir, name), content)
				outcome, err := h.see(forged)
				if err != nil {
					t.Errorf("%s becomes %s of step %d: %v", name, source, i, err)
				}
				outcomes[outcome]++
			}
		}
		if final[name] == nil {
			continue
		}
		forged := d.Clone()
		forged.Delete(filepath.Join(simulatedDir, name))
		if _, err := h.see(forged); err != nil {
			t.Errorf("without %s: %v", name, err)
		}
	}
	t.Log(outcomes)
	if outcomes["refused"] == 0 || outcomes["same"] == 0 {
		t.Error("the test has missed the segments")
	}
}

// TestForgedHeads changes every byte of the heads of records, and takes records away, exchanges and repeats them, all
// with checksums that are right: an attacker without the key can make those.
func TestForgedHeads(t *testing.T) {
	h, d := newHistory(t)
	outcomes := map[string]int{}
	try := func(what, name string, content []byte) {
		t.Helper()
		forged := d.Clone()
		forged.Put(filepath.Join(simulatedDir, name), content)
		outcome, err := h.see(forged)
		if err != nil || outcome == "same" {
			t.Errorf("%s in %s: %s, %v", what, name, outcome, err)
		}
		outcomes[outcome]++
	}
	for name, content := range h.files[h.final] {
		if filepath.Ext(name) != suffix {
			continue
		}
		seed := crc32.Update(0, castagnoli, content[64:96])
		var begins []int64
		at := int64(headerSize)
		for at+recordHead <= int64(len(content)) && !isZero(content[at:at+recordHead]) {
			begins = append(begins, at)
			at += frameHead(content[at:]).size
		}
		reseal := func(b []byte, at int64) {
			if end := at + frameHead(b[at:]).size; end <= int64(len(b)) {
				binary.LittleEndian.PutUint32(b[at:], crc32.Update(seed, castagnoli, b[at+4:end]))
			}
		}
		for _, at := range begins {
			if int(frameHead(content[at:]).lsn) < h.firsts[h.final] {
				continue // it was cut off
			}
			for offset := at + 4; offset < at+recordHead; offset++ {
				b := bytes.Clone(content)
				b[offset] ^= 1
				reseal(b, at)
				try(fmt.Sprintf("record at %d, byte %d", at, offset-at), name, b)
			}
		}
		for i := 1; i < len(begins)-1; i++ {
			end := begins[i+1]
			record := content[begins[i]:end]
			without := slices.Concat(content[:begins[i-1]], record, content[end:])
			twice := slices.Concat(content[:end], record, content[end:])
			exchanged := slices.Concat(content[:begins[i-1]], record, content[begins[i-1]:begins[i]], content[end:])
			for what, b := range map[string][]byte{"one less": without, "one twice": twice, "exchanged": exchanged} {
				try(what, name, b)
			}
		}
	}
	t.Log(outcomes)
	if outcomes["found"]+outcomes["refused"] == 0 {
		t.Error("the test has missed the records")
	}
}
