package parquet

import (
	"encoding/binary"

	"culvert/source"
)

// A list has an entry for each of its elements, and one if it is NULL or empty. Two levels of an entry say where it
// belongs: the repetition level is 0 if it begins a row, and the definition level says how much of it is there.

// mostLevel is the level of an element that is not NULL.
func (c *column) mostLevel() int {
	if c.list.NotNull {
		return 2
	}
	return 3
}

// entries returns how many entries the rows of a block have in a column.
func (s *scratch) entries(c *column, rows int) (n int) {
	if c.list == nil {
		return rows
	}
	for _, count := range s.lists.Counts {
		n += max(1, count)
	}
	return n
}

// appendListLevels appends the levels of a page, each with their size before them.
func (s *scratch) appendListLevels(dst []byte, c *column) []byte {
	at := len(dst)
	w := levelWriter{out: append(dst, 0, 0, 0, 0)}
	for _, count := range s.lists.Counts {
		w.add(0)
		for range count - 1 {
			w.add(1)
		}
	}
	dst = w.end()
	binary.LittleEndian.PutUint32(dst[at:], uint32(len(dst)-at-4))

	at = len(dst)
	w = levelWriter{out: append(dst, 0, 0, 0, 0), bits: 1}
	value := byte(c.mostLevel())
	element := 0
	for _, count := range s.lists.Counts {
		switch count {
		case -1:
			w.add(0)
		case 0:
			w.add(value - 2)
		}
		for range max(0, count) {
			level := value
			if kind, _ := s.lists.Batch.Value(element, 0); kind == source.Null {
				level--
			}
			w.add(level)
			element++
		}
	}
	dst = w.end()
	binary.LittleEndian.PutUint32(dst[at:], uint32(len(dst)-at-4))
	return dst
}

// levelWriter writes levels in runs, as [appendIDs] does, one after the other.
type levelWriter struct {
	out    []byte
	bits   int // of a level, less one
	last   byte
	run    int     // levels at the end that are equal to the last
	eight  [8]byte // those that are not written yet, unless they are in the run
	filled int
	head   int // place of the head of the run of groups of eight that goes on, or 0
	groups int
}

func (w *levelWriter) add(level byte) {
	if w.run > 0 && level == w.last {
		if w.run++; w.run > len(w.eight) {
			return
		}
	} else {
		w.endRun()
		w.last, w.run = level, 1
	}
	w.eight[w.filled] = level
	if w.filled++; w.filled < len(w.eight) {
		return
	}
	if w.filled = 0; w.run == len(w.eight) {
		return // a run, which may go on
	}
	w.group()
	w.run = 0
}

// endRun writes a run of equal levels, if there are enough.
func (w *levelWriter) endRun() {
	if w.run >= len(w.eight) {
		w.head = 0
		w.out = append(binary.AppendUvarint(w.out, uint64(w.run)<<1), w.last)
		w.filled = 0
	}
	w.run = 0
}

// group writes eight levels, behind those before them if these are not too many.
func (w *levelWriter) group() {
	const most = 63 // whose head is a byte
	if w.head == 0 || w.groups == most {
		w.head, w.groups = len(w.out), 0
		w.out = append(w.out, 0)
	}
	w.groups++
	w.out[w.head] = byte(w.groups<<1 | 1)
	word, size := uint64(0), w.bits+1
	for i, level := range w.eight {
		word |= uint64(level) << (i * size)
	}
	for range size {
		w.out = append(w.out, byte(word))
		word >>= 8
	}
}

// end writes what is left. The last group may have too many levels, which readers do not look at.
func (w *levelWriter) end() []byte {
	if w.endRun(); w.filled > 0 {
		clear(w.eight[w.filled:])
		w.group()
	}
	return w.out
}

// appendList appends the elements of the schema for a list.
func (c *column) appendList(t *compact) {
	t.beginElement()
	t.i32(3, repetitionOf(c.list.NotNull))
	t.string(4, c.Name)
	t.i32(5, 1) // child
	t.i32(schemaConverted, convertedList)
	t.begin(schemaLogical)
	t.empty(logicalList)
	t.end()
	t.end()
	t.beginElement()
	t.i32(3, repeated)
	t.string(4, "list")
	t.i32(5, 1)
	t.end()
}

// path returns the names of a column and of what is in it.
func (c *column) path() []string {
	if c.list != nil {
		return []string{c.Name, "list", "element"}
	}
	return []string{c.Name}
}
