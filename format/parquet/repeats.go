package parquet

import (
	"encoding/binary"
	"hash/maphash"

	"culvert/format/internal/typed"
	"culvert/source"
)

// repeats finds the values of a column that repeat. Texts are compared as the database prints them, and only those that
// are new are parsed.
type repeats struct {
	table   []uint16 // places by hash: an entry, counted from 1
	entries []entry
	texts   []byte
	values  []byte   // of the entries, as PLAIN stores them
	ids     []uint16 // of the values that are not NULL
}

type entry struct {
	end  uint32 // of its text
	kind source.Kind
}

const (
	mostEntries = 1 << 13
	tableSize   = 2 * mostEntries
	// repeatsSeen is the number of values after which half of them must have been there before.
	repeatsSeen = 1 << 9
	// largestEntry is the size above which a value is not expected to repeat.
	largestEntry = 1 << 10
)

var seed = maphash.MakeSeed()

// findRepeats gives each value of a column an id, which is a column of the batch. It returns false if too few repeat.
func (e *encoder) findRepeats(b *source.Batch, column, at int, s *scratch) (bool, error) {
	c, r := &e.columns[column], &s.repeats
	if r.table == nil {
		r.table = make([]uint16, tableSize)
	}
	clear(r.table)
	r.entries, r.texts, r.values, r.ids = r.entries[:0], r.texts[:0], r.values[:0], r.ids[:0]
	s.present = s.present[:0]
	for row := range b.Rows() {
		kind, text := b.AnyValue(row, at)
		if s.mark(row, kind); kind == source.Null {
			if err := c.Null(row); err != nil {
				return false, err
			}
			continue
		}
		if len(text) > largestEntry {
			return false, nil
		}
		id, found := r.find(kind, text)
		if !found {
			seen := len(r.ids)
			if len(r.entries) == mostEntries || seen >= repeatsSeen && len(r.entries) > seen/2 {
				return false, nil
			}
			var why typed.Reason
			if r.values, why = c.appendValue(r.values, kind, text, &s.values); why != "" {
				return false, c.Unfit(row, why)
			}
			id = r.add(kind, text, id)
		}
		r.ids = append(r.ids, uint16(id))
	}
	return len(r.ids) > 0 && len(r.entries) <= len(r.ids)/2, nil
}

// appendIDs appends a column as ids.
func (e *encoder) appendIDs(dst []byte, b *source.Batch, i int, s *scratch) []byte {
	c, r := &e.columns[i], &s.repeats
	entries := s.entries(c, b.Rows())
	nulls := entries - len(r.ids)
	s.bounds.find(c, r.values)
	dst = binary.AppendUvarint(append(dst, idsForm), uint64(entries))
	dst = binary.AppendUvarint(dst, uint64(nulls))
	s.hashes = e.appendHashes(s.hashes[:0], i, r.values)
	dst = e.appendSums(s.bounds.append(dst), i, s.hashes)
	s.page = s.appendLevels(s.page[:0], c, b.Rows(), nulls)
	dst = appendSized(dst, s.page)
	dst = binary.AppendUvarint(dst, uint64(len(r.entries)))
	dst = appendSized(dst, r.values)
	dst = binary.AppendUvarint(dst, uint64(len(r.ids)))
	for _, id := range r.ids {
		dst = binary.LittleEndian.AppendUint16(dst, id)
	}
	return dst
}

// find returns the id of a text, or the place in the table for a new one.
func (r *repeats) find(kind source.Kind, text []byte) (id int, found bool) {
	for at := int(maphash.Bytes(seed, text) % tableSize); ; at = (at + 1) % tableSize {
		if r.table[at] == 0 {
			return at, false
		}
		id := int(r.table[at]) - 1
		if e := r.entries[id]; e.kind == kind && string(r.texts[r.begin(id):e.end]) == string(text) {
			return id, true
		}
	}
}

func (r *repeats) begin(id int) uint32 {
	if id == 0 {
		return 0
	}
	return r.entries[id-1].end
}

// add returns the id of a new text.
func (r *repeats) add(kind source.Kind, text []byte, place int) (id int) {
	r.texts = append(r.texts, text...)
	r.entries = append(r.entries, entry{uint32(len(r.texts)), kind})
	r.table[place] = uint16(len(r.entries))
	return len(r.entries) - 1
}
