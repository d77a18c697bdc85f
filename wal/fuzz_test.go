package wal

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"math/rand/v2"
	"strings"
	"testing"

	"culvert/internal/testkit/crashfs"
)

// FuzzRecord decodes arbitrary bytes as a record. Only encoded records are good, complete and unchanged.
func FuzzRecord(f *testing.F) {
	s, err := newSegment("", header{size: 1 << 20, salt: [32]byte{1}}, nil)
	if err != nil {
		f.Fatal(err)
	}
	encode := func(payload []byte) []byte {
		b := make([]byte, 0, frameSize(len(payload), false))
		return s.appendFrame(b, frame{lsn: 7, groupEnd: true}, payload)
	}
	f.Add(encode(nil), []byte{})
	f.Add(encode([]byte("some text")), []byte("some text"))
	f.Add(make([]byte, 100), []byte{0})
	f.Add(bytes.Repeat([]byte{255}, 100), make([]byte, 1000))
	f.Fuzz(func(t *testing.T, b, payload []byte) {
		if r, v := s.parse(b, 7, s.size); v == good {
			again := s.appendFrame(make([]byte, 0, r.size), frame{
				lsn: 7, watermark: r.watermark, groupEnd: r.groupEnd,
			}, r.payload)
			if b[8] <= flagGroupEnd && b[9] == 0 && !bytes.Equal(again[recordHead:], b[recordHead:r.size]) {
				t.Errorf("%x is good, but encoded again it is %x", b[:r.size], again)
			}
		}
		r, v := s.parse(encode(payload), 7, s.size)
		if v != good || !bytes.Equal(r.payload, payload) || !r.groupEnd {
			t.Errorf("verdict %d on %x, which becomes %x", v, payload, r.payload)
		}
	})
}

// FuzzOpen opens a log with arbitrary changes. Open ends, and returns no entry that was never appended. In an encrypted
// log, changes are detected or cut off its end.
func FuzzOpen(f *testing.F) {
	type start struct {
		disk  *crashfs.Disk
		model *crashfs.Model
		key   []byte
	}
	var starts []start
	for _, key := range [][]byte{nil, bytes.Repeat([]byte{9}, keySize)} {
		for _, closed := range []bool{false, true} {
			disk, model := image(f, key, closed)
			starts = append(starts, start{disk, model, key})
		}
	}
	f.Add(uint8(0), []byte{})
	f.Add(uint8(1), []byte("\x01\x00\x20\x00\x05\x00\x21\xff"))
	f.Add(uint8(2), []byte("\x00\x00\x00\x01\x00\x10\x00\x01\x01\x00\x00\x09"))
	f.Fuzz(func(t *testing.T, which uint8, changes []byte) {
		s := starts[int(which)%len(starts)]
		d := s.disk.Clone()
		for ; len(changes) >= 4; changes = changes[4:] {
			b := d.Files(simulatedDir)[segmentName(1+uint64(changes[0]%2))]
			offset := int(binary.LittleEndian.Uint16(changes[1:])) % len(b)
			b[offset] ^= changes[3]
		}
		log, _, err := Open(simulatedDir, Options{SegmentSize: minSegmentSize, Key: s.key, fs: d.Boot()})
		if err != nil {
			return
		}
		defer log.Close()
		var entries []string
		for r, err := range log.Records(context.Background(), 0) {
			if err != nil {
				break
			}
			entries = append(entries, string(r.Data))
		}
		// A change to LSNs of a header that nothing authenticates takes a checksum made for it.
		if err := s.model.Right(int(log.First()), entries); err != nil && log.First() == 2 {
			t.Error(err)
		}
	})
}

// FuzzHeader decodes arbitrary slots. Only a former header is accepted, and of two the newer one.
func FuzzHeader(f *testing.F) {
	s, err := newSegment("", header{number: 3, generation: 4, base: 5, first: 1, size: 1 << 20}, nil)
	if err != nil {
		f.Fatal(err)
	}
	older := s.slot()
	s.generation++
	newer := s.slot()
	f.Add([]byte{}, []byte{}, true)
	f.Add([]byte{1}, []byte{0, 0, 0, 1}, true)
	f.Fuzz(func(t *testing.T, changeOld, changeNew []byte, signed bool) {
		b := append(bytes.Clone(older), newer...)
		for i, c := range changeOld {
			b[i%slotSize] ^= c
		}
		for i, c := range changeNew {
			b[slotSize+i%slotSize] ^= c
		}
		if signed {
			sign(b[:slotSize])
			sign(b[slotSize:])
		}
		h, slot, err := parseHeader(b)
		if err != nil {
			return
		}
		if !signed && !bytes.Equal(b[slot*slotSize:][:slotSize], [][]byte{older, newer}[slot]) {
			t.Error("a header was changed, and taken")
		}
		if h.size < headerSize || h.size > maxSegmentSize || h.sealed && h.end > h.size {
			t.Errorf("%+v was taken", h)
		}
	})
}

// FuzzOperations runs a log and a model through the operations of the input, with crashes and kills.
func FuzzOperations(f *testing.F) {
	f.Add([]byte("some operations"), uint64(1))
	f.Add([]byte(strings.Repeat("\x00\xff\x80\x01", 30)), uint64(2))
	f.Fuzz(func(t *testing.T, operations []byte, seed uint64) {
		s := newSimulation(seed)
		s.random = rand.New(&script{rest: operations, then: rand.NewPCG(seed, 5)})
		if _, err := s.run(); err != nil && !errors.Is(err, crashfs.ErrStopped) {
			t.Error(err)
		}
	})
}

// script is a random source that begins with given numbers.
type script struct {
	rest []byte
	then rand.Source
}

func (s *script) Uint64() uint64 {
	if len(s.rest) == 0 {
		return s.then.Uint64()
	}
	b := s.rest[0]
	s.rest = s.rest[1:]
	// The numbers that are made of this come from its upper bits.
	return uint64(b) * 0x0101010101010101
}
