package wal

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
)

// headers are those that were read already, by the numbers of their segments. Nil reads each anew.
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

// loadBesideWriter is load for those who do not hold the lock. Segments may come and go while they look, so that what
// seems to be missing is looked for again. All that was read of a log of many segments remains, and only what has
// changed is read then, since the writer may be quicker than that otherwise.
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
	// That a file does not exist would say the wrong thing.
	return nil, fmt.Errorf("wal: %s: its writer changes it faster than it can be read", dir.path)
}

// newestHeader is what a look at the newest segment has found.
type newestHeader struct{ number, generation uint64 }

// newest tells of the segment whose header may change still.
func (h headers) newest() (newest newestHeader) {
	for number, s := range h {
		if number >= newest.number {
			newest = newestHeader{number, s.generation}
		}
	}
	return newest
}
