package wal

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
)

// headers caches the headers of segments by number. If it is nil, each is read again.
type headers map[uint64]*segment

func (h headers) read(dir folder, number uint64, key []byte) (*segment, error) {
	if s := h[number]; s != nil {
		return s, nil
	}
	s, err := readHeader(dir, number, key)
	if err == nil && h != nil {
		h[number] = s
	}
	return s, err
}

// loadBesideWriter is load without the lock. Since the writer may add and remove segments meanwhile, it tries again if
// segments seem to be missing. It keeps the headers that it has read: otherwise, the writer of a log of many segments
// could change them faster than they are read.
func loadBesideWriter(dir folder, key []byte) (*inventory, error) {
	const attempts = 1000
	known := headers{}
	var former *inventory
	for range attempts {
		inv, err := load(dir, key, known, false)
		gone := errors.Is(err, fs.ErrNotExist) && inv.names != nil
		if err == nil || !gone && !errors.Is(err, ErrCorrupt) {
			return inv, err
		}
		newest := known.newest()
		if !gone && former != nil && slices.Equal(inv.names, former.names) && newest == former.newest {
			return inv, err // nothing comes and goes
		}
		former = inv
		former.newest = newest
		delete(known, newest.number)
	}
	return nil, fmt.Errorf("wal: %s: its writer changes it faster than it can be read", dir.path)
}

// newestHeader identifies a header of the newest segment.
type newestHeader struct{ number, generation uint64 }

// newest returns the header that may still change.
func (h headers) newest() (newest newestHeader) {
	for number, s := range h {
		if number >= newest.number {
			newest = newestHeader{number, s.generation}
		}
	}
	return newest
}
