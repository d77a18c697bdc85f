package arrow

import "encoding/binary"

// flat is a flatbuffer that is made from its beginning to its end. A table comes before what it refers to; its
// references are set when that is added. Numbers are in little endian, at multiples of their size.
//
// A table has a vtable, which says where in the table each field is, and precedes it here. A field that is left out has
// its default value.
type flat struct{ buf []byte }

// maxFields is the number of fields of the largest table.
const maxFields = 8

// field is a field of a table: its number and the bytes of its value.
type field struct {
	id, size int
	value    uint64
}

const refSize = 4

// ref is a reference, which is to be set.
func ref(id int) field { return field{id, refSize, 0} }

func (f *flat) align(size, ahead int) {
	for (len(f.buf)+ahead)%size != 0 {
		f.buf = append(f.buf, 0)
	}
}

func (f *flat) u32(v int) { f.buf = binary.LittleEndian.AppendUint32(f.buf, uint32(v)) }

func (f *flat) add(v uint64, size int) {
	var value [8]byte
	binary.LittleEndian.PutUint64(value[:], v)
	f.buf = append(f.buf, value[:size]...)
}

// root begins a flatbuffer, with a reference to the table that follows.
func (f *flat) root() {
	f.buf = f.buf[:0]
	f.u32(0)
}

// table adds a table, and returns where its fields are, by their numbers.
func (f *flat) table(fields ...field) (at [maxFields]int) {
	const word = 8
	count := 0
	for _, v := range fields {
		count = max(count, v.id+1)
	}
	vtable := 4 + 2*count
	f.align(word, vtable)
	begin := len(f.buf) // of the vtable
	f.buf = append(f.buf, make([]byte, vtable)...)
	table := len(f.buf)
	f.u32(vtable) // back to it
	for size := word; size > 0; size /= 2 {
		for _, v := range fields {
			if v.size != size {
				continue
			}
			f.align(size, 0)
			at[v.id] = len(f.buf)
			binary.LittleEndian.PutUint16(f.buf[begin+4+2*v.id:], uint16(len(f.buf)-table))
			f.add(v.value, size)
		}
	}
	binary.LittleEndian.PutUint16(f.buf[begin:], uint16(vtable))
	binary.LittleEndian.PutUint16(f.buf[begin+2:], uint16(len(f.buf)-table))
	return at
}

// child is table for one that a reference refers to.
func (f *flat) child(of int, fields ...field) (at [maxFields]int) {
	count := 0
	for _, v := range fields {
		count = max(count, v.id+1)
	}
	f.align(8, 4+2*count)
	binary.LittleEndian.PutUint32(f.buf[of:], uint32(len(f.buf)+4+2*count-of))
	return f.table(fields...)
}

// vector begins a vector of n elements that a reference refers to. They follow at multiples of align.
func (f *flat) vector(of, n, align int) {
	f.align(max(align, refSize), refSize)
	binary.LittleEndian.PutUint32(f.buf[of:], uint32(len(f.buf)-of))
	f.u32(n)
}

// refs adds a vector of n references to what is to follow, and returns where they are.
func (f *flat) refs(of, n int) (first int) {
	f.vector(of, n, refSize)
	first = len(f.buf)
	f.buf = append(f.buf, make([]byte, refSize*n)...)
	return first
}

// string adds a string, which ends with a zero.
func (f *flat) string(of int, text string) {
	f.vector(of, len(text), 1)
	f.buf = append(append(f.buf, text...), 0)
}
