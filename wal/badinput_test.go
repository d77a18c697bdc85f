package wal

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"path/filepath"
	"testing"

	"culvert/internal/disk"
	"culvert/internal/testkit/crashfs"
)

// badInput is a log that was changed, or that is opened with a key that is not its own.
type badInput struct {
	name    string
	key     []byte // of the log
	with    []byte // it is opened with
	change  func(files map[string][]byte, d *crashfs.Disk)
	want    error
	segment string
	offset  int64
	lsn     LSN
}

var (
	badKey                       = bytes.Repeat([]byte{1}, keySize)
	otherKey                     = bytes.Repeat([]byte{2}, keySize)
	segment1, segment2, segment3 = segmentName(1), segmentName(2), segmentName(3)
)

var badInputs = []badInput{
	{name: "no key", key: badKey, want: ErrKey, segment: segment1, offset: slotSize},
	{name: "wrong key", key: badKey, with: otherKey, want: ErrKey, segment: segment1, offset: slotSize},
	{name: "needless key", with: badKey, want: ErrKey, segment: segment1, offset: slotSize},
	{name: "torn header", change: func(files map[string][]byte, _ *crashfs.Disk) {
		clear(files[segment2][100:slotSize])
	}},
	{name: "both headers torn", change: func(files map[string][]byte, _ *crashfs.Disk) {
		clear(files[segment2][100:slotSize])
		clear(files[segment2][slotSize+512 : headerSize])
		files[segment2][slotSize+70] ^= 1
	}, want: ErrCorrupt, segment: segment2},
	{name: "no header", change: func(files map[string][]byte, _ *crashfs.Disk) {
		clear(files[segment2][:headerSize])
	}, want: ErrCorrupt, segment: segment2},
	{name: "newer version", change: func(files map[string][]byte, _ *crashfs.Disk) {
		for _, slot := range []int{0, slotSize} {
			b := files[segment2][slot:][:slotSize]
			b[8] = formatVersion + 1
			sign(b)
		}
	}, want: ErrVersion, segment: segment2},
	{name: "missing segment", change: func(_ map[string][]byte, d *crashfs.Disk) {
		d.Delete(filepath.Join(simulatedDir, segment2))
	}, want: ErrCorrupt, segment: segment3, lsn: 3},
	{name: "missing first segment", change: func(_ map[string][]byte, d *crashfs.Disk) {
		d.Delete(filepath.Join(simulatedDir, segment1))
	}, want: ErrCorrupt, segment: segment2, lsn: 1},
	{name: "cut off", change: func(files map[string][]byte, d *crashfs.Disk) {
		d.Put(filepath.Join(simulatedDir, segment3), files[segment3][:headerSize+8])
	}, want: ErrCorrupt, segment: segment3, offset: headerSize + 8},
	{name: "forged header", key: badKey, with: badKey, change: func(files map[string][]byte, _ *crashfs.Disk) {
		for _, slot := range []int{0, slotSize} {
			b := files[segment2][slot:][:slotSize]
			b[56]++
			sign(b)
		}
	}, want: ErrCorrupt, segment: segment2, offset: slotSize},
	{name: "damaged record", change: func(files map[string][]byte, _ *crashfs.Disk) {
		files[segment2][headerSize+recordHead] ^= 1
	}, want: ErrCorrupt, segment: segment2, offset: headerSize, lsn: 2},
	{name: "segment of another log", change: func(files map[string][]byte, _ *crashfs.Disk) {
		for _, slot := range []int{0, slotSize} {
			b := files[segment2][slot:][:slotSize]
			b[16] ^= 1
			sign(b)
		}
	}, want: ErrForeign, segment: segment2, lsn: 2},
	{name: "not a segment", change: func(files map[string][]byte, d *crashfs.Disk) {
		for name := range files {
			d.Put(filepath.Join(simulatedDir, name), bytes.Repeat([]byte("hello"), 2000))
		}
	}, want: ErrForeign, segment: segment1},
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
			b := files[segment3][slot:][:slotSize]
			b[56] = 9
			sign(b)
		}
	}, want: ErrCorrupt, segment: segment3, lsn: 5},
	{name: "watermark behind its record", change: func(files map[string][]byte, _ *crashfs.Disk) {
		forge(files[segment3], func(record []byte) { record[24] = 4 })
	}, want: ErrCorrupt, segment: segment3, offset: headerSize, lsn: 4},
	{name: "forged record", key: badKey, with: badKey, change: func(files map[string][]byte, _ *crashfs.Disk) {
		forge(files[segment2], func(record []byte) { record[recordHead] ^= 1 })
	}, want: ErrCorrupt, segment: segment2, offset: headerSize, lsn: 2},
	{name: "forged head", key: badKey, with: badKey, change: func(files map[string][]byte, _ *crashfs.Disk) {
		forge(files[segment2], func(record []byte) { record[8] ^= flagGroupEnd })
	}, want: ErrCorrupt, segment: segment2, offset: headerSize, lsn: 2},
}

// TestBadInput opens directories that are not logs, and files that are not part of this log.
func TestBadInput(t *testing.T) {
	for _, test := range badInputs {
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
