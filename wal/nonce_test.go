package wal

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"testing"

	"culvert/internal/disk"
	"culvert/internal/testkit"
	"culvert/internal/testkit/crashfs"
)

// sealed remembers every sealed record that was ever written to a disk, by what its key is made of and its nonce.
type sealed struct {
	records map[string][]byte
	count   int
	reuse   error
}

// watched is a file system on which all that is written is remembered.
func watched(fsys disk.FS, s *sealed) disk.FS {
	return through{fsys, func(f disk.File) disk.File { return watchedFile{f, s} }}
}

type watchedFile struct {
	disk.File
	sealed *sealed
}

func (f watchedFile) WriteAt(b []byte, offset int64) (int, error) {
	header := make([]byte, slotSize)
	if offset >= headerSize {
		if _, err := f.ReadAt(header, 0); err == nil {
			f.sealed.add(header, b)
		}
	}
	return f.File.WriteAt(b, offset)
}

// add takes the records of a write. Each write begins with one, or is of zeros.
func (s *sealed) add(header, b []byte) {
	for len(b) >= recordHead && !isZero(b[:recordHead]) {
		f := frameHead(b)
		// The log, the number and the salt of the segment make the key, the LSN is the nonce.
		key := fmt.Sprintf("%x %x %d", header[16:40], header[64:96], f.lsn)
		stored := b[4 : recordHead+binary.LittleEndian.Uint32(b[4:])]
		if other, ok := s.records[key]; ok && !bytes.Equal(other, stored) {
			s.reuse = fmt.Errorf("LSN %d was sealed twice under one key: %x and %x", f.lsn, other, stored)
		}
		s.records[key] = bytes.Clone(stored)
		s.count++
		b = b[f.size:]
	}
}

// TestNonces records what encrypted logs write through crashes, recoveries and cuts. No nonce is used for two records
// under one key.
func TestNonces(t *testing.T) {
	lives := 20
	switch {
	case testkit.RaceDetector(): // the nonces are the same
		lives = 5
	case testkit.Soak():
		lives = 400
	}
	s := &sealed{records: map[string][]byte{}}
	crashes := 0
	for seed := range lives {
		simulation := newSimulation(uint64(seed))
		simulation.options.Key = bytes.Repeat([]byte{7}, keySize)
		simulation.view = func(fsys disk.FS) disk.FS { return watched(fsys, s) }
		n, err := simulation.run()
		if err := errors.Join(err, s.reuse); err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		crashes += n
	}
	if s.count < 25*lives {
		t.Errorf("only %d records were seen", s.count)
	}
	t.Log(s.count, "records,", crashes, "crashes")
}

// TestNoncesAfterFailures is TestNonces for writes that fail, in part or as a whole, before the log is opened again.
func TestNoncesAfterFailures(t *testing.T) {
	s := &sealed{records: map[string][]byte{}}
	key := bytes.Repeat([]byte{7}, keySize)
	for _, fault := range []crashfs.Fault{crashfs.IO, crashfs.NoSpace, crashfs.Short} {
		for failing := 1; failing < 120; failing++ {
			d := crashfs.New("/data")
			d.Hook = func(o crashfs.Operation) crashfs.Fault {
				if o.Number == failing && (o.Kind == crashfs.Write || fault != crashfs.Short) {
					return fault
				}
				return crashfs.None
			}
			for life := range 3 {
				options := Options{SegmentSize: minSegmentSize, Key: key, fs: watched(d.Boot(), s)}
				if log, _, err := Open(simulatedDir, options); err == nil {
					for i := range 5 {
						_, _ = log.Append(background, []byte{byte(life), byte(i)}, make([]byte, 700*i)) // it may fail
					}
					_ = log.TruncateBack(log.First() + 1) // this, too
					_, _ = log.Append(background, []byte{byte(life), 9})
					d.Kill()
					_ = log.Close() // for its goroutines
				}
				d.Kill()
			}
			if s.reuse != nil {
				t.Fatalf("operation %d: %v", failing, s.reuse)
			}
		}
	}
	t.Log(s.count, "records")
}
