package arrowread

import (
	"errors"
	"slices"
	"sync"
)

// dictionary has the values that indexes stand for. It is not changed: one with more values is another one.
type dictionary struct {
	first int // the number of the block that began it,
	next  int // and the one after its last
	parts []*array
	ends  []int64 // values up to the end of each part
	bytes int64   // of memory
}

// known are the dictionaries that were read last, by the node that they belong to.
type known struct {
	sync.Mutex
	of map[*node]*dictionary
}

var errDictionary = errors.New("a dictionary is damaged")

// dictionary returns the dictionary of a node, as the first blocks have it: the last one that began it, with those that
// follow and add to it. The caller holds the lock of f.known.
func (f *file) dictionary(n *node, blocks int) (*dictionary, error) {
	first := 0
	var of []int
	for i, b := range f.dictionaries[:blocks] {
		if b.id != n.dict.id {
			continue
		}
		if !b.delta {
			first, of = i, of[:0]
		}
		of = append(of, i)
	}
	d := f.known.of[n]
	if d == nil || d.first != first {
		d = &dictionary{first: first}
	}
	grown := *d
	grown.parts, grown.ends = slices.Clip(d.parts), slices.Clip(d.ends)
	for _, i := range of {
		if i < d.next {
			continue
		}
		if err := f.readDictionary(&grown, n, &f.dictionaries[i]); err != nil {
			return nil, err
		}
		grown.next = i + 1
	}
	f.known.of[n] = &grown
	return &grown, nil
}

// readDictionary adds the values of a block.
func (f *file) readDictionary(d *dictionary, n *node, b *block) error {
	m, _, err := f.message(b, nil)
	if err != nil {
		return err
	}
	data, is := m.header.table(1)
	if !is {
		return errDictionary
	}
	r, err := f.newBody(b, data)
	if err != nil {
		return err
	}
	a, err := r.array(n.dict.value, true)
	if err != nil {
		return err
	}
	memory, err := r.read()
	if err != nil {
		return err
	}
	if !a.check() || a.n != data.i64(0) {
		return errDictionary
	}
	if d.bytes += int64(len(memory[0]) + len(memory[1])); d.bytes > mostOpen {
		return tooLarge(d.bytes)
	}
	end := a.n
	if last := len(d.ends) - 1; last >= 0 {
		end += d.ends[last]
	}
	d.parts, d.ends = append(d.parts, a), append(d.ends, end)
	return nil
}

// value returns where a value is.
func (d *dictionary) value(i int64) (*array, int64, bool) {
	part, _ := slices.BinarySearch(d.ends, i+1)
	if i < 0 || part == len(d.ends) {
		return nil, 0, false
	}
	if part > 0 {
		i -= d.ends[part-1]
	}
	return d.parts[part], i, true
}
